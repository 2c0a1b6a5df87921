"""Pages that differ from the other pages of their series, in one file or in several."""

import numpy as np
import pytest
import tifffile
from tiffs import file_data, ome_image, ome_xml, pixels, whole

from ozx.errors import FormatError
from ozx.readers.images import ReadingOptions
from ozx.readers.registry import open_images

FIRST = pixels((33, 32))

OTHERS = {
    "wider": (pixels((33, 40)), {}),
    "narrower": (pixels((33, 30)), {}),
    "taller": (pixels((50, 32)), {}),
    "compressed and wider": (pixels((33, 40)), {"compression": "zlib"}),
    "compressed and taller": (pixels((50, 32)), {"compression": "zlib"}),
    "tiled and wider": (pixels((33, 40)), {"tile": (16, 16)}),
    "signed": (pixels((33, 32), "i2"), {}),
    "halves": (pixels((33, 32), "f2"), {}),
    "32 bits": (pixels((33, 32), "u4"), {}),
    "8 bits": (pixels((33, 32), "u1"), {}),
    "compressed 8 bits": (pixels((33, 32), "u1"), {"compression": "zlib"}),
    "picture": (pixels((33, 32, 3)), {"photometric": "rgb"}),
}


def words(array):
    return f"{array.dtype} of {'×'.join(map(str, array.shape))}"


def write_files(folder, *arrays, **last):
    """Write a stack with one file for each plane; the options apply to the last file."""
    names = [f"{number}.ome.tif" for number in range(len(arrays))]
    data = "".join(file_data(name, z=number) for number, name in enumerate(names))
    xml = ome_xml(ome_image(size=(1, 1, len(arrays), 33, 32), planes=data))
    for name, array in zip(names, arrays, strict=True):
        own = xml.replace("<OME ", f'<OME UUID="urn:uuid:{name}" ').encode()
        options = last if name == names[-1] else {}
        tifffile.imwrite(folder / name, array, description=own, metadata=None, **options)
    return folder / names[0]


def write_pages(path, description, *arrays, last=None, **options):
    """Write a stack as pages of one file; `last` has options of the last page."""
    with tifffile.TiffWriter(path, **options) as file:
        for number, array in enumerate(arrays):
            text = description if number == 0 else None
            common = {"photometric": "minisblack", **(last or {} if number == len(arrays) - 1 else {})}
            file.write(array, description=text, metadata=None, contiguous=False, **common)
    return path


DESCRIPTIONS = {
    "ome": ome_xml(ome_image(size=(1, 1, 3, 33, 32))),
    "imagej": "ImageJ=1.5\nimages=3\nslices=3\n",
    "shaped": '{"shape": [3, 33, 32]}',
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_file_whose_pixels_do_not_fit_the_other_files(tmp_path, kind):
    other, options = OTHERS[kind]
    path = write_files(tmp_path, FIRST, other, **options)
    message = rf"1\.ome\.tif: page 0: expected {words(FIRST)}, as on page 0 of 0\.ome\.tif; found {words(other)}"
    with pytest.raises(FormatError, match=message) as raised:
        open_images(str(path))
    assert "on_error='fill'" in raised.value.hint
    with open_images(str(path), ReadingOptions(on_error="fill")) as images:
        source = images.images[0].sources[0]
        read = source.read(whole(source))
        (damage,) = source.damage
    assert damage.endswith("; filled with zeros")
    np.testing.assert_array_equal(read[0], FIRST)
    assert not read[1].any()


@pytest.mark.parametrize("description", DESCRIPTIONS)
@pytest.mark.parametrize("kind", OTHERS)
def test_a_page_that_does_not_fit_the_other_pages(tmp_path, kind, description):
    other, options = OTHERS[kind]
    path = write_pages(tmp_path / "a.tif", DESCRIPTIONS[description], FIRST, FIRST, other, last=options)
    # tifffile notices some of these pages.
    message = "page 2: expected uint16 of 33×32, as on page 0|incompatible keyframe|ImageJ series metadata invalid"
    with pytest.raises(FormatError, match=message):
        open_images(str(path))

"""Pages that differ from the other pages of their series, in one file or in several."""

import numpy as np
import pytest
import tifffile
from tiffs import file_data, ome_image, ome_xml, pixels, write_pyramid

from ozx.errors import FormatError
from ozx.images.tiff.opening import TiffOptions, open_tiff

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


def whole(source):
    return tuple(slice(0, length) for length in source.shape)


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
        open_tiff(str(path))
    assert "--on-error fill" in raised.value.hint
    with open_tiff(str(path), TiffOptions(on_error="fill")) as images:
        source = images.images[0].source
        read = source.read(whole(source))
        (damage,) = source.damage
    assert damage.endswith("; filled with zeros")
    np.testing.assert_array_equal(read[0], FIRST)
    assert not read[1].any()


@pytest.mark.parametrize("kind", OTHERS)
def test_the_result_does_not_depend_on_the_file_that_is_opened(tmp_path, kind):
    other, options = OTHERS[kind]
    write_files(tmp_path, FIRST, other, **options)
    found = rf"1\.ome\.tif: page 0: expected {words(FIRST)}, as on page 0 of 0\.ome\.tif; found {words(other)}"
    with pytest.raises(FormatError, match=found):
        open_tiff(str(tmp_path / "1.ome.tif"))
    with open_tiff(str(tmp_path / "1.ome.tif"), TiffOptions(on_error="fill")) as images:
        source = images.images[0].source
        read = source.read(whole(source))
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
        open_tiff(str(path))


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("byteorder", "<>")
def test_the_bits_of_pictures_are_compared(tmp_path, byteorder, big):
    # In a classic TIFF file, three values of BitsPerSample lie outside of the directory.
    picture = pixels((33, 32, 3), "u1")
    xml = ome_xml(ome_image(size=(1, 3, 3, 33, 32), inside='<Channel SamplesPerPixel="3"/>'))
    with tifffile.TiffWriter(tmp_path / "a.tif", byteorder=byteorder, bigtiff=big) as file:
        for number, array in enumerate([picture, picture, picture.astype("u2")]):
            text = xml if number == 0 else None
            file.write(array, photometric="rgb", description=text, metadata=None, contiguous=False)
    with pytest.raises(FormatError, match=r"page 2: expected uint8 of 33×32×3, .* found uint16 of 33×32×3"):
        open_tiff(str(tmp_path / "a.tif"))


@pytest.mark.parametrize(
    ("description", "common"), [("ome", {}), ("ome", {"compression": "zlib"}), ("imagej", {"compression": "zlib"})]
)
@pytest.mark.parametrize("last", [{"compression": "lzw"}, {"compression": "zlib", "predictor": True}])
def test_pages_that_are_stored_in_other_ways(tmp_path, description, common, last):
    arrays = [pixels((33, 32), seed=number) for number in range(3)]
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as file:
        for number, array in enumerate(arrays):
            text = DESCRIPTIONS[description] if number == 0 else None
            file.write(array, description=text, metadata=None, contiguous=False, **(last if number == 2 else common))
    with open_tiff(str(path)) as images:
        source = images.images[0].source
        np.testing.assert_array_equal(source.read(whole(source)), arrays)


def test_pages_of_files_in_several_folders_with_the_same_name(tmp_path):
    # tifffile knows the files by their names without the folders.
    arrays = [pixels((2, 33, 32), seed=number) for number in range(2)]
    data = ""
    for folder, array, options in zip("ab", arrays, ({}, {"compression": "zlib"}), strict=True):
        (tmp_path / folder).mkdir()
        tifffile.imwrite(tmp_path / folder / "p.tif", array, metadata=None, photometric="minisblack", **options)
        for page in (1, 0):
            data += file_data(f"{folder}/p.tif", z=2 * "ab".index(folder) + page).replace('IFD="0"', f'IFD="{page}"')
    path = tmp_path / "all.companion.ome"
    path.write_text(ome_xml(ome_image(size=(1, 1, 4, 33, 32), planes=data)))
    try:
        with open_tiff(str(path)) as images:
            source = images.images[0].source
            np.testing.assert_array_equal(source.read(whole(source)), np.concatenate(arrays))
    except FormatError as error:
        # Since 2026.11.8, tifffile opens files in other folders only if they contain their UUID.
        assert "2 of the 4 planes in the metadata are missing" in str(error)  # noqa: PT017


def test_a_level_whose_pages_differ_is_left_out(tmp_path):
    path = write_pyramid(tmp_path / "a.ome.tif", pixels((2, 200, 160)), levels=1, metadata={"axes": "CYX"})
    with tifffile.TiffFile(path) as file:
        tag = file.pages[1].pages[0].tags["ImageLength"]
        offset = tag.valueoffset
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write((90).to_bytes(2, "little"))
    with open_tiff(str(path), TiffOptions(with_levels=True)) as images:
        assert images.images[0].levels == ()
        assert "level 1 of the file cannot be used" in images.notes[0]


def test_the_directory_of_each_page_is_read_once_only(tmp_path, monkeypatch):
    from ozx.archive.byte_source import FileSource  # noqa: PLC0415

    path = write_pages(tmp_path / "a.tif", DESCRIPTIONS["ome"].replace('SizeZ="3"', 'SizeZ="50"'), *[FIRST] * 50)
    reads = []
    read_at = FileSource.read_at
    monkeypatch.setattr(FileSource, "read_at", lambda *given: (reads.append(given[1:]), read_at(*given))[1])
    open_tiff(str(path)).close()
    assert len(reads) < 60

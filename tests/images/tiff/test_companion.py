"""OME-XML in companion files: the files that it names, and the images that are in several files."""

import numpy as np
import pytest
from links import make_link
from tiffs import file_data, ome_image, ome_xml, pixels, write, write_ome

from ozx.errors import FormatError
from ozx.images.tiff.opening import open_tiff


@pytest.mark.parametrize("prefix", ["data/", "./", "a & b/", "µ/"])
def test_a_companion_names_files_in_a_folder(tmp_path, prefix):
    (tmp_path / prefix).mkdir(exist_ok=True)
    images = ""
    for number in range(3):
        write(tmp_path / prefix / f"{number}.tif", pixels((30, 40), seed=number), metadata=None)
        name = f"{prefix}{number}.tif".replace("&", "&amp;").replace("µ", "&#181;")
        images += ome_image(number, name=f"Position {number}", planes=file_data(name))
    (tmp_path / "a.companion.ome").write_text(ome_xml(images))
    with open_tiff(str(tmp_path / "a.companion.ome")) as found:
        assert [image.description.name for image in found.images.values()] == [f"Position {n}" for n in range(3)]
        for number, image in found.images.items():
            np.testing.assert_array_equal(
                image.source.read((slice(0, 30), slice(0, 40))), pixels((30, 40), seed=number)
            )


def test_a_companion_names_files_that_are_links_to_other_folders(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    names = [f"{number}.tif" for number in range(2)]
    for number, name in enumerate(names):
        write(tmp_path / "elsewhere" / f"{number}-raw.tif", pixels((30, 40), seed=number), metadata=None)
        make_link(tmp_path / name, tmp_path / "elsewhere" / f"{number}-raw.tif")
    data = "".join(file_data(name, z=number) for number, name in enumerate(names))
    (tmp_path / "a.companion.ome").write_text(ome_xml(ome_image(size=(1, 1, 2, 30, 40), planes=data)))
    with open_tiff(str(tmp_path / "a.companion.ome")) as found:
        read = found.images[0].source.read((slice(0, 2), slice(0, 30), slice(0, 40)))
        np.testing.assert_array_equal(read, [pixels((30, 40), seed=number) for number in range(2)])


@pytest.mark.parametrize("has_companion", [True, False])
def test_images_in_several_files_are_never_read_as_a_plain_tiff_file(tmp_path, has_companion):
    data = "".join(file_data(f"{number}.tif", z=number) for number in range(2))
    # tifffile gives up such a document: its pages are not planes of the image.
    xml = ome_xml(ome_image(size=(1, 1, 2, 33, 44), planes=data))
    for number in range(2):
        write_ome(tmp_path / f"{number}.tif", ome_xml() if has_companion else xml, pixels((1, 30, 40)))
    path = tmp_path / ("a.companion.ome" if has_companion else "0.tif")
    if has_companion:
        path.write_text(xml)
    with pytest.raises(FormatError, match="expected the 1 images of the OME-XML; tifffile finds none"):
        open_tiff(str(path))

"""Notes about imported images, and the commands that they name."""

import shlex

import pytest
from tiffs import ome_image, ome_xml, pixels, write_imagej, write_ome

import ozx


def sizes(path):
    return [image.levels[0].scale[-1] for image in ozx.inspect(path).images]


def run(note):
    """Run the command of a note."""
    program, verb, node, option, value = shlex.split("ozx " + note.partition(": ozx ")[2])
    assert (program, verb) == ("ozx", "edit")
    ozx.edit(node, **{option.removeprefix("--").replace("-", "_"): value}, sync=False)


@pytest.mark.parametrize("kind", ["imagej", "ome"])
def test_a_unit_that_is_unknown(tmp_path, kind):
    if kind == "imagej":
        path = write_imagej(tmp_path / "a.tif", (30, 40), "YX", resolution=(0.5, 0.5), unit="furlong")
    else:
        size = " ".join(f'PhysicalSize{axis}="2" PhysicalSize{axis}Unit="furlong"' for axis in "XY")
        path = write_ome(tmp_path / "a.tif", ome_xml(ome_image(attributes=size)), pixels((1, 30, 40)))
    (note,) = ozx.import_tiff(path, sync=False).notes
    assert note == (
        "the unit 'furlong' of the pixel size along y, x is unknown, so the size has no unit; "
        f"to set one: ozx edit {tmp_path}/a.ozx --unit y=micrometer,x=micrometer"
    )
    run(note)
    assert sizes(tmp_path / "a.ozx") == [2.0]
    assert not ozx.import_tiff(path, unit="um", force=True, sync=False).notes
    assert not ozx.import_tiff(path, pixel_size="1um", force=True, sync=False).notes

"""Notes about imported images, and the commands that they name."""

import shlex

import pytest
import tifffile
from tiffs import ome_image, ome_xml, pixels, write_imagej, write_ome
from uris import ozx_uri

import ozx

TEXT = "Aperio Image Library v1.0\n1x1|AppMag = 20|MPP = 0.5"


def write_slide(path):
    """Write a slide with its pixel size, a thumbnail, a label and a macro without pixel sizes."""
    full = pixels((1024, 768, 3), "u1")
    with tifffile.TiffWriter(path) as file:
        common = {"photometric": "rgb", "metadata": None}
        file.write(full, tile=(128, 128), description=TEXT, **common)
        file.write(full[::8, ::8], rowsperstrip=16, description="Aperio Image Library v1.0\nthumbnail", **common)
        for number, name in ((1, "label"), (9, "macro")):
            text = f"Aperio Image Library v1.0\n{name} 90x80"
            file.write(full[:90, :80], subfiletype=number, rowsperstrip=16, description=text, **common)
    return path


def sizes(path):
    return [image.levels[0].scale[-1] for image in ozx.inspect(path).images]


def run(note):
    """Run the command of a note."""
    program, verb, node, option, value = shlex.split("ozx " + note.partition(": ozx ")[2])
    assert (program, verb) == ("ozx", "edit")
    ozx.edit(node, **{option.removeprefix("--").replace("-", "_"): value}, sync=False)


def test_the_command_for_some_images_leaves_the_others_alone(tmp_path):
    out = tmp_path / "my slide.ozx"
    (note,) = ozx.import_tiff(write_slide(tmp_path / "a.svs"), out, sync=False).notes
    uri = f"{ozx_uri(tmp_path)}/my%20slide.ozx/1"
    assert note == (
        "images 1, 2, 3: the file has no pixel size, so 1 without a unit is used; "
        f"to set one for image 1: ozx edit {uri} --pixel-size 0.65um"
    )
    run(note)
    assert sizes(out) == [0.5, 0.65, 1.0, 1.0]


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

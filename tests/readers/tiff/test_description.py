"""Metadata of ImageJ in TIFF files, values that are not understood, and notes with the commands that they name."""

import shlex

import numpy as np
import pytest
import tifffile
from tiffs import ome_image, ome_xml, pixels, write_imagej, write_ome

import ozx
from ozx.ome.colors import ShownChannel, Window
from ozx.ome.units import PixelSize
from ozx.readers.registry import open_images

RAMP = np.arange(256, dtype="uint8")
BLACK = np.zeros(256, "uint8")


def described(path):
    with open_images(str(path)) as images:
        return images.images[0]


def described_text(tmp_path, *lines, slices=3):
    """Write a stack with lines of ImageJ's description, and return the metadata."""
    path = tmp_path / "text.tif"
    text = "\n".join(["ImageJ=1.54f", f"images={slices}", f"slices={slices}", *lines, ""])
    options = {"metadata": None, "resolution": (2, 4), "resolutionunit": "none", "photometric": "minisblack"}
    tifffile.imwrite(path, pixels((slices, 30, 40)), description=text, **options)
    return described(path)


def test_what_imagej_says(tmp_path):
    luts = [np.stack([np.arange(256) * part for part in color]).astype("uint8") for color in [(1, 0, 0), (0, 1, 1)]]
    said = {"unit": "um", "spacing": 1.5, "finterval": 0.25, "mode": "composite", "Ranges": (10.0, 200.0, 5.0, 50.0)}
    path = write_imagej(tmp_path / "a.tif", (4, 3, 2, 30, 40), "TZCYX", resolution=(2.0, 4.0), LUTs=luts, **said)
    image = described(path)
    assert image.sizes == {
        "t": PixelSize(0.25, "second"),
        "z": PixelSize(1.5, "micrometer"),
        "y": PixelSize(0.25, "micrometer"),
        "x": PixelSize(0.5, "micrometer"),
    }
    assert image.channels == (
        ShownChannel(None, "FF0000", window=Window(10.0, 200.0, None, None)),
        ShownChannel(None, "00FFFF", window=Window(5.0, 50.0, None, None)),
    )


def test_inverted_color_tables_have_the_color_of_their_bright_end(tmp_path):
    grey, green = np.stack([RAMP] * 3), np.stack([BLACK, RAMP, BLACK])
    tables = [grey, grey[:, ::-1], green[:, ::-1], np.zeros((3, 256), "uint8")]
    image = described(write_imagej(tmp_path / "a.tif", (4, 30, 40), "CYX", mode="composite", LUTs=tables))
    assert [channel.color for channel in image.channels] == ["FFFFFF", "FFFFFF", "00FF00", None]
    assert image.notes == ("ImageJ shows the channels 1, 2 inverted; this is left out",)


@pytest.mark.parametrize(
    ("line", "note"),
    [
        (
            "min=abc",
            "the display range of channel 0 in ImageJ's metadata is left out: expected two numbers; got 'abc', 9",
        ),
        ("spacing=2,5", "the spacing in ImageJ's metadata is left out: expected a number; got '2,5'"),
        ("finterval=1,5", "the finterval in ImageJ's metadata is left out: expected a number; got '1,5'"),
        ("fps=x", "the fps in ImageJ's metadata is left out: expected a number; got 'x'"),
    ],
)
def test_a_value_that_is_not_understood_loses_only_itself(tmp_path, line, note):
    image = described_text(tmp_path, "unit=um", "spacing=2", "min=3", "max=9", line)
    assert image.sizes["x"] == PixelSize(0.5, "micrometer")
    assert (image.sizes.get("z") is None) == line.startswith("spacing")
    assert (image.channels == ()) == line.startswith("min")
    assert image.notes == (note,)


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
    (note,) = ozx.import_image(path, sync=False).notes
    assert note == (
        "the unit 'furlong' of the pixel size along y, x is unknown, so the size has no unit; "
        f"to set one: ozx edit {tmp_path}/a.ozx --unit y=micrometer,x=micrometer"
    )
    run(note)
    assert sizes(tmp_path / "a.ozx") == [2.0]
    assert not ozx.import_image(path, unit="um", force=True, sync=False).notes
    assert not ozx.import_image(path, pixel_size="1um", force=True, sync=False).notes

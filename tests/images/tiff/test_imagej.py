"""Metadata that ImageJ writes into TIFF files: sizes, units, channels; and values that are not understood."""

import numpy as np
import pytest
import tifffile
from tiffs import pixels, write_imagej

from ozx.hierarchy.ome.colors import Window
from ozx.images.description import ChannelDescription, PixelSize
from ozx.images.tiff.opening import open_tiff

RAMP = np.arange(256, dtype="uint8")
BLACK = np.zeros(256, "uint8")


def described(path):
    with open_tiff(str(path)) as images:
        return images.images[0].description


def described_text(tmp_path, *lines, slices=3):
    """Write a stack with lines of ImageJ's description, and return the metadata."""
    path = tmp_path / "text.tif"
    text = "\n".join(["ImageJ=1.54f", f"images={slices}", f"slices={slices}", *lines, ""])
    tifffile.imwrite(
        path,
        pixels((slices, 30, 40)),
        description=text,
        metadata=None,
        resolution=(2, 4),
        resolutionunit="none",
        photometric="minisblack",
    )
    return described(path)


def test_what_imagej_says(tmp_path):
    luts = [np.stack([np.arange(256) * part for part in color]).astype("uint8") for color in [(1, 0, 0), (0, 1, 1)]]
    path = write_imagej(
        tmp_path / "a.tif",
        (4, 3, 2, 30, 40),
        "TZCYX",
        resolution=(2.0, 4.0),
        unit="um",
        spacing=1.5,
        finterval=0.25,
        mode="composite",
        LUTs=luts,
        Ranges=(10.0, 200.0, 5.0, 50.0),
    )
    image = described(path)
    assert image.sizes == {
        "t": PixelSize(0.25, "second"),
        "z": PixelSize(1.5, "micrometer"),
        "y": PixelSize(0.25, "micrometer"),
        "x": PixelSize(0.5, "micrometer"),
    }
    assert image.channels == (
        ChannelDescription(None, "FF0000", window=Window(10.0, 200.0, None, None)),
        ChannelDescription(None, "00FFFF", window=Window(5.0, 50.0, None, None)),
    )


@pytest.mark.parametrize("unit", ["micron", "\\u00B5m", "µm", "um", "microns"])
def test_the_ways_to_write_micrometer(tmp_path, unit):
    if unit == "µm":
        unit = "\\u00B5m"
    image = described(write_imagej(tmp_path / "a.tif", (2, 30, 40), "ZYX", resolution=(2.0, 2.0), unit=unit, spacing=3))
    assert image.sizes["z"] == PixelSize(3.0, "micrometer")


def test_imagej_without_a_unit_knows_no_size(tmp_path):
    for metadata in ({}, {"unit": "pixel"}):
        path = write_imagej(tmp_path / "a.tif", (2, 30, 40), "ZYX", resolution=(2.0, 2.0), **metadata)
        assert described(path).sizes == {}


def test_labels_of_imagej_name_channels_where_there_is_one_for_each(tmp_path):
    image = described(write_imagej(tmp_path / "a.tif", (2, 30, 40), "CYX", Labels=["DAPI", "GFP"]))
    assert [channel.name for channel in image.channels] == ["DAPI", "GFP"]
    image = described(write_imagej(tmp_path / "b.tif", (2, 2, 30, 40), "ZCYX", Labels=["a", "b", "c", "d"]))
    assert image.channels == ()


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("micrometer", "micrometer"),
        ("micrometers", "micrometer"),
        ("Micron", "micrometer"),
        ("nanometer", "nanometer"),
        ("millimetre", "millimeter"),
        ("centimeter", "centimeter"),
        ("cm", "centimeter"),
        ("meter", "meter"),
        ("inch", "inch"),
        ("inches", "inch"),
        ("feet", "foot"),
        ("angstrom", "angstrom"),
        ("Å", "angstrom"),
    ],
)
def test_units_in_words(tmp_path, unit, expected):
    unit = unit.replace("Å", "\\u00C5")
    image = described_text(tmp_path, f"unit={unit}", "spacing=2.5")
    sizes = {"z": 2.5, "y": 0.25, "x": 0.5}
    assert image.sizes == {axis: PixelSize(size, expected) for axis, size in sizes.items()}


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [("ms", "millisecond"), ("msec", "millisecond"), ("hr", "hour"), ("hours", "hour"), ("minutes", "minute")],
)
def test_units_of_time_in_words(tmp_path, unit, seconds):
    assert described_text(tmp_path, "finterval=2", f"tunit={unit}").sizes["t"] == PixelSize(2.0, seconds)


def test_units_that_nobody_knows_are_kept_for_a_note(tmp_path):
    image = described_text(tmp_path, "unit=furlong", "spacing=3", "finterval=2", "tunit=fortnight")
    assert image.sizes == {
        "t": PixelSize(2.0, None, "fortnight"),
        "z": PixelSize(3.0, None, "furlong"),
        "y": PixelSize(0.25, None, "furlong"),
        "x": PixelSize(0.5, None, "furlong"),
    }


def test_the_distance_between_planes_can_be_negative(tmp_path):
    # FileOpener of ImageJ takes the absolute value.
    assert described_text(tmp_path, "unit=micron", "spacing=-2.5").sizes["z"] == PixelSize(2.5, "micrometer")


def test_y_and_z_can_have_units_of_their_own(tmp_path):
    image = described_text(tmp_path, "unit=micron", "yunit=nm", "zunit=mm", "spacing=2.5")
    assert image.sizes == {
        "z": PixelSize(2.5, "millimeter"),
        "y": PixelSize(0.25, "nanometer"),
        "x": PixelSize(0.5, "micrometer"),
    }
    image = described_text(tmp_path, "unit=pixel", "zunit=mm", "spacing=2.5")
    assert image.sizes == {"z": PixelSize(2.5, "millimeter")}


@pytest.mark.parametrize(("mode", "color"), [("composite", "00FF00"), ("color", "00FF00"), ("grayscale", None)])
def test_a_single_channel_with_a_color_table(tmp_path, mode, color):
    options = {"unit": "um", "spacing": 2.0, "finterval": 0.5, "mode": mode, "Ranges": (10.0, 20.0)}
    table = np.stack([BLACK, RAMP, BLACK])
    image = described(write_imagej(tmp_path / "a.tif", (4, 5, 30, 40), "TZYX", (4, 4), LUTs=[table], **options))
    assert image.channels == (ChannelDescription(None, color, window=Window(10.0, 20.0, None, None)),)
    assert image.sizes == {
        "t": PixelSize(0.5, "second"),
        "z": PixelSize(2.0, "micrometer"),
        "y": PixelSize(0.25, "micrometer"),
        "x": PixelSize(0.25, "micrometer"),
    }


def test_inverted_color_tables_have_the_color_of_their_bright_end(tmp_path):
    grey, green = np.stack([RAMP] * 3), np.stack([BLACK, RAMP, BLACK])
    tables = [grey, grey[:, ::-1], green[:, ::-1], np.zeros((3, 256), "uint8")]
    image = described(write_imagej(tmp_path / "a.tif", (4, 30, 40), "CYX", mode="composite", LUTs=tables))
    assert [channel.color for channel in image.channels] == ["FFFFFF", "FFFFFF", "00FF00", None]
    assert image.notes == ("ImageJ shows the channels 1, 2 inverted; this is left out",)


def test_one_label_for_several_channels_is_no_list_of_names(tmp_path):
    assert described(write_imagej(tmp_path / "a.tif", (3, 30, 40), "CYX", Labels=["GFP"])).channels == ()


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


@pytest.mark.parametrize("line", ["Ranges=5", "Labels=7", "LUTs=3\nmode=color", "fps=1e-320", "mode=5"])
def test_a_single_value_instead_of_a_list_loses_only_itself(tmp_path, line):
    assert described_text(tmp_path, "unit=um", "spacing=2", line).sizes["x"] == PixelSize(0.5, "micrometer")


def test_a_color_table_that_is_not_understood_loses_only_itself(tmp_path):
    tables = [np.stack([RAMP, BLACK, BLACK]), np.zeros((1, 256), "uint8")]
    options = {"unit": "um", "mode": "composite", "LUTs": tables}
    image = described(write_imagej(tmp_path / "a.tif", (2, 30, 40), "CYX", (2, 2), **options))
    assert [channel.color for channel in image.channels] == ["FF0000", None]
    assert image.sizes["x"] == PixelSize(0.5, "micrometer")
    assert image.notes == ("the color table of channel 1 in ImageJ's metadata is left out: expected 3 rows; found 1",)

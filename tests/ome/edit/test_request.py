"""What may be asked of an edit, and what is refused before a document is looked at."""

import pytest

from ozx.errors import UsageError
from ozx.ome.edit.request import parse_edits
from ozx.ome.model import Axis
from ozx.ome.units import check_unit

TCZYX = [Axis("t", "time", None), Axis("c", "channel", None), *(Axis(name, "space", None) for name in "zyx")]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("um", "micrometer"),
        ("µm", "micrometer"),
        ("μm", "micrometer"),
        ("Microns", "micrometer"),
        ("micrometre", "micrometer"),
        ("micrometers", "micrometer"),
        ("Micrometer", "micrometer"),
        ("nanometres", "nanometer"),
        ("nm", "nanometer"),
        ("mm", "millimeter"),
        ("m", "meter"),
        ("Å", "angstrom"),
        ("in", "inch"),
        ("s", "second"),
        ("ms", "millisecond"),
        ("seconds", "second"),
        ("mins", "minute"),
        ("inches", "inch"),
        ("feet", "foot"),
        ("h", "hour"),
    ],
)
def test_a_unit_that_is_spelled_otherwise_is_understood(given, meant):
    assert check_unit(given) == meant


@pytest.mark.parametrize(
    ("size", "unit", "units"),
    [
        ("400nm", "t=min", {"t": "minute", **dict.fromkeys("zyx", "nanometer")}),
        ({"y": "2um", "x": 3}, {"x": "nm", "t": "s"}, {"y": "micrometer", "x": "nanometer", "t": "second"}),
        ("t=30,y=2um,x=2um", "s", {"t": "second", "y": "micrometer", "x": "micrometer"}),
    ],
)
def test_units_of_different_axes_are_joined(size, unit, units):
    edits = parse_edits(pixel_size=size, unit=unit)
    assert edits.units_for(TCZYX) == units
    assert edits.limited_to(TCZYX).units_for(TCZYX) == units


@pytest.mark.parametrize(
    ("size", "unit"), [("0.4um", "nm"), ("0.4um", "x=nm"), ({"x": "2um"}, {"x": "nm"}), ("0.4um", "min")]
)
def test_one_axis_does_not_get_two_units(size, unit):
    with pytest.raises(UsageError, match="the unit is given twice"):
        parse_edits(pixel_size=size, unit=unit)


def test_a_short_word_is_no_mistyped_unit():
    with pytest.raises(UsageError) as refusal:
        check_unit("foo")
    assert refusal.value.hint.startswith("Usual units are")


@pytest.mark.parametrize("size", [1e308, 1.1e100, 1e-101, 1e-320])
def test_a_pixel_size_can_be_multiplied(size):
    with pytest.raises(UsageError, match=r"axis x: expected a pixel size from 1e-100 to 1e\+100; got"):
        parse_edits(pixel_size={"x": size})


@pytest.mark.parametrize("size", [0, -1, float("nan"), float("inf"), "wide", None, True, 10**400])
def test_a_pixel_size_is_a_positive_number(size):
    with pytest.raises(UsageError, match="axis x: expected a pixel size greater than 0"):
        parse_edits(pixel_size={"x": size})


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"pixel_size": {}},
        {"unit": {}},
        {"pixel_size": {"": 1}},
        {"pixel_size": {1: 1}},
        {"pixel_size": "0.65 0.65"},
        {"pixel_size": "um"},
        {"pixel_size": [0.65]},
        {"unit": 3},
        {"unit": {"x": "furlong"}},
        {"channel_names": "DAPI"},
        {"channel_names": [1]},
        {"channel_names": []},
        {"channel_names": ["", None]},
        {"colors": ["FF00"]},
        {"colors": ["FF00FF00"]},
        {"colors": ["puce"]},
        {"colors": ["GG0000"]},
        {"name": ""},
        {"name": "  "},
        {"name": 3},
        {"name": b"cells"},
        {"unit": {"x": None}},
        {"channel_names": 3},
        {"colors": 3},
        {"name": "a\ud800"},
        {"channel_names": ["a\udc80"]},
        {"time_interval": 0},
        {"time_interval": "20um"},
        {"time_interval": "20s", "pixel_size": {"t": 1}},
        {"time_interval": "20s", "unit": {"t": "ms"}},
        {"time_interval": "20s", "unit": "ms"},
        {"translation": "10um"},
        {"translation": {"x": "near"}},
        {"translation": {"x": float("nan")}},
        {"translation": {"x": True}},
        {"translation": "x=10apples"},
        {"contrast": "100:4000"},
        {"contrast": "DAPI=4000:100"},
        {"contrast": "DAPI=100"},
        {"contrast": "DAPI=0:1,DAPI=0:2"},
        {"contrast": {"DAPI": "09"}},
        {"contrast": {True: (0, 1)}},
        {"contrast": [(0, 1)]},
    ],
)
def test_what_cannot_be_meant_is_refused(arguments):
    with pytest.raises(UsageError):
        parse_edits(**arguments)


@pytest.mark.parametrize(
    ("arguments", "sizes", "units"),
    [
        ({"time_interval": "20s"}, {"t": 20}, {"t": "second"}),
        ({"time_interval": 20}, {"t": 20}, {}),
        ({"time_interval": 20, "unit": "s"}, {"t": 20}, {"t": "second"}),
        ({"time_interval": "20s", "pixel_size": {"x": 1}, "unit": "um"}, {"t": 20, "x": 1}, {"t": "second", "x": "um"}),
        ({"time_interval": "2h", "pixel_size": "x=1um"}, {"t": 2, "x": 1}, {"t": "hour", "x": "um"}),
        (
            {"time_interval": "20s", "pixel_size": "0.5um"},
            {"t": 20, **dict.fromkeys("zyx", 0.5)},
            {"t": "second", **dict.fromkeys("zyx", "um")},
        ),
        ({"time_interval": "20s", "unit": "um"}, {"t": 20}, {"t": "second", **dict.fromkeys("zyx", "um")}),
        ({"time_interval": 20, "unit": "um"}, {"t": 20}, dict.fromkeys("zyx", "um")),
        (
            {"time_interval": 20, "pixel_size": 0.5, "unit": "um"},
            {"t": 20, **dict.fromkeys("zyx", 0.5)},
            dict.fromkeys("zyx", "um"),
        ),
    ],
)
def test_a_time_interval_is_the_pixel_size_along_t(arguments, sizes, units):
    edits = parse_edits(**arguments)
    edits.check_axes([TCZYX])
    limited = edits.limited_to(TCZYX)
    assert limited.pixel_size == sizes
    assert limited.units_for(TCZYX) == {axis: unit.replace("um", "micrometer") for axis, unit in units.items()}


def test_colours_have_one_form():
    assert parse_edits(colors=["#3a7bff", "ffb000", "Magenta", "gray", ""]).colors == (
        "3A7BFF",
        "FFB000",
        "FF00FF",
        "FFFFFF",
        None,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pixel_size": {"w": 1}}, "unknown axis 'w'; the axes are t, c, z, y, x"),
        ({"unit": {"w": "meter"}}, "unknown axis 'w'; the axes are t, c, z, y, x"),
        ({"pixel_size": {"c": 1}}, "axis c is the channel axis"),
        ({"unit": {"c": "meter"}}, "axis c is the channel axis"),
        ({"unit": {"t": "meter"}}, "axis t is of type time; meter is a unit of space"),
        (
            {"unit": "second", "pixel_size": {"x": 1}},
            "expected axes of time for the unit second; found x of type space",
        ),
    ],
)
def test_axes_that_do_not_fit_are_refused_with_those_there_are(arguments, message):
    with pytest.raises(UsageError, match=message):
        parse_edits(**arguments).check_axes([TCZYX])


def test_an_axis_has_to_be_in_one_of_the_images_only():
    yx = TCZYX[3:]
    edits = parse_edits(pixel_size={"z": 2, "x": 1}, unit="micrometer")
    edits.check_axes([yx, TCZYX])
    limited = edits.limited_to(yx)
    assert (limited.pixel_size, limited.unit) == ({"x": 1.0}, {"x": "micrometer"})
    assert parse_edits(pixel_size={"z": 2}, unit="micrometer").limited_to(yx).is_empty
    with pytest.raises(UsageError, match="expected axes of time"):
        parse_edits(unit="second").check_axes([yx])

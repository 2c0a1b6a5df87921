"""What may be asked of an edit, and what is refused before a document is looked at."""

import pytest

from ozx.errors import UsageError
from ozx.ome.edit.request import parse_edits
from ozx.ome.model import Axis
from ozx.ome.units import check_unit

TCZYX = [Axis("t", "time", None), Axis("c", "channel", None), *(Axis(name, "space", None) for name in "zyx")]


@pytest.mark.parametrize(
    ("meant", "spellings"),
    [
        ("micrometer", "um µm μm Microns micrometre micrometers Micrometer"),
        ("nanometer", "nanometres nm"),
        ("millimeter", "mm"),
        ("meter", "m"),
        ("angstrom", "Å"),
        ("inch", "in inches"),
        ("foot", "feet"),
        ("second", "s seconds"),
        ("millisecond", "ms"),
        ("minute", "mins"),
        ("hour", "h"),
    ],
)
def test_a_unit_that_is_spelled_otherwise_is_understood(meant, spellings):
    assert {check_unit(given) for given in spellings.split()} == {meant}


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


WRONG = {
    "pixel_size": [{}, {"": 1}, {1: 1}, "0.65 0.65", "um", [0.65]],
    "unit": [{}, 3, {"x": "furlong"}, {"x": None}],
    "channel_names": ["DAPI", [1], [], ["", None], 3, ["a\udc80"]],
    "colors": [["FF00"], ["FF00FF00"], ["puce"], ["GG0000"], 3],
    "name": ["", "  ", 3, b"cells", "a\ud800"],
    "time_interval": [0, "20um"],
    "translation": ["10um", {"x": "near"}, {"x": float("nan")}, {"x": True}, "x=10apples"],
    "contrast": [
        "100:4000",
        "DAPI=4000:100",
        "DAPI=100",
        "DAPI=0:1,DAPI=0:2",
        {"DAPI": "09"},
        {True: (0, 1)},
        [(0, 1)],
    ],
}
TWICE = [{"pixel_size": {"t": 1}}, {"unit": {"t": "ms"}}, {"unit": "ms"}]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        *({name: value} for name, values in WRONG.items() for value in values),
        *({"time_interval": "20s", **other} for other in TWICE),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments):
    with pytest.raises(UsageError):
        parse_edits(**arguments)


HALF, MICRONS = dict.fromkeys("zyx", 0.5), dict.fromkeys("zyx", "um")


@pytest.mark.parametrize(
    ("arguments", "sizes", "units"),
    [
        ({"time_interval": "20s"}, {"t": 20}, {"t": "second"}),
        ({"time_interval": 20}, {"t": 20}, {}),
        ({"time_interval": 20, "unit": "s"}, {"t": 20}, {"t": "second"}),
        ({"time_interval": "20s", "pixel_size": {"x": 1}, "unit": "um"}, {"t": 20, "x": 1}, {"t": "second", "x": "um"}),
        ({"time_interval": "2h", "pixel_size": "x=1um"}, {"t": 2, "x": 1}, {"t": "hour", "x": "um"}),
        ({"time_interval": "20s", "pixel_size": "0.5um"}, {"t": 20, **HALF}, {"t": "second", **MICRONS}),
        ({"time_interval": "20s", "unit": "um"}, {"t": 20}, {"t": "second", **MICRONS}),
        ({"time_interval": 20, "unit": "um"}, {"t": 20}, MICRONS),
        ({"time_interval": 20, "pixel_size": 0.5, "unit": "um"}, {"t": 20, **HALF}, MICRONS),
    ],
)
def test_a_time_interval_is_the_pixel_size_along_t(arguments, sizes, units):
    edits = parse_edits(**arguments)
    edits.check_axes([TCZYX])
    limited = edits.limited_to(TCZYX)
    assert limited.pixel_size == sizes
    assert limited.units_for(TCZYX) == {axis: unit.replace("um", "micrometer") for axis, unit in units.items()}


def test_colours_have_one_form():
    given, meant = ["#3a7bff", "ffb000", "Magenta", "gray", ""], ("3A7BFF", "FFB000", "FF00FF", "FFFFFF", None)
    assert parse_edits(colors=given).colors == meant


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pixel_size": {"w": 1}}, "unknown axis 'w'; the axes are t, c, z, y, x"),
        ({"unit": {"w": "meter"}}, "unknown axis 'w'; the axes are t, c, z, y, x"),
        ({"pixel_size": {"c": 1}}, "axis c is the channel axis"),
        ({"unit": {"c": "meter"}}, "axis c is the channel axis"),
        ({"unit": {"t": "meter"}}, "axis t is of type time; meter is a unit of space"),
        ({"unit": "second", "pixel_size": {"x": 1}}, "axes of time for the unit second; found x of type space"),
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

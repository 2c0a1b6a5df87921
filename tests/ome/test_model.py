"""OME-Zarr metadata: the versions, the kinds, and what is malformed."""

from itertools import product
from string import ascii_uppercase

import pytest

from ozx.ome.model import Axis, parse_ome, row_name


def in_05(**ome):
    return parse_ome({"ome": {"version": "0.5", **ome}}, 3)


def test_a_plate_stays_one_with_the_layout_of_bioformats2raw():
    assert in_05(plate={"wells": [{"path": "A/1"}]}, **{"bioformats2raw.layout": 3}).kind == "plate"


def test_the_transformations_of_the_multiscale_come_last():
    scale = [{"type": "scale", "scale": [2]}, {"type": "translation", "translation": [1]}]
    multiscale = {
        "axes": [{"name": "x"}],
        "datasets": [{"path": "0", "coordinateTransformations": scale}],
        "coordinateTransformations": [{"type": "scale", "scale": [10]}],
    }
    (level,) = in_05(multiscales=[multiscale]).multiscales[0].datasets
    assert (level.scale, level.translation) == ((20.0,), (10.0,))


def multiscale_of_06(**changes):
    systems = [
        {"name": "world", "axes": [{"name": "a", "type": "space", "unit": "meter"}]},
        {"name": "physical", "axes": [{"name": "x", "type": "space", "unit": "micrometer"}]},
    ]
    step = {"type": "scale", "scale": [0.5], "input": {"path": "0"}, "output": {"name": "physical"}}
    away = {"type": "scale", "scale": [1000], "input": {"name": "physical"}, "output": {"name": "world"}}
    return {
        "coordinateSystems": systems,
        "coordinateTransformations": [away],
        "datasets": [{"path": "0", "coordinateTransformations": [{**step, **changes}]}],
    }


def test_06_has_the_axes_of_the_system_that_levels_lead_to():
    ome = parse_ome({"ome": {"version": "0.6", "multiscales": [multiscale_of_06()]}}, 3)
    assert (ome.version, ome.kind) == ("0.6", "image")
    assert ome.multiscales[0].axes == (Axis("x", "space", "micrometer"),)
    assert ome.multiscales[0].datasets[0].scale == (0.5,)


def test_names_of_03_are_axes():
    attributes = {"multiscales": [{"version": "0.3", "axes": ["y", "x"], "datasets": [{"path": "0"}]}]}
    ome = parse_ome(attributes, 2)
    assert ome.version == "0.3"
    assert [axis.name for axis in ome.multiscales[0].axes] == ["y", "x"]
    assert ome.multiscales[0].datasets[0].scale is None


@pytest.mark.parametrize(
    ("ome", "problem"),
    [
        ({"multiscales": {}}, "multiscales is empty"),
        ({"multiscales": []}, "multiscales is empty"),
        ({"multiscales": [{}, 3]}, "not a list of objects"),
        ({"multiscales": [{"axes": [{"name": "x"}]}]}, "no datasets"),
        ({"multiscales": [{"datasets": [{"path": "0"}]}]}, "no axes"),
        ({"multiscales": [{"axes": [{"name": "x"}], "datasets": [{}]}]}, "no path"),
        ({"plate": 1}, "lists no wells"),
        ({"well": {"images": [{}]}}, "lists no images"),
        ({"labels": "cells"}, "labels is not a list"),
        ({"series": [0]}, "series is not a list"),
    ],
)
def test_what_is_wrong_is_named(ome, problem):
    assert problem in " ".join(in_05(**ome).problems)


def test_ome_that_is_no_object():
    ome = parse_ome({"ome": 5}, 3)
    assert (ome.version, ome.kind, ome.problems) == (None, "other", ("ome is not an object",))


def test_rows_are_named_as_columns_of_a_spreadsheet():
    names = ["".join(letters) for length in (1, 2) for letters in product(ascii_uppercase, repeat=length)]
    assert [row_name(number) for number in range(26 * 27)] == names

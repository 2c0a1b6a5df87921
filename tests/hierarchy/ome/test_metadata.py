"""OME-Zarr metadata: the versions, the kinds, and what is malformed."""

import json

import pytest
from hierarchies import FIXTURES

from ozx.hierarchy.ome.model import Axis, Channel, parse_ome


def v3(path):
    return parse_ome(json.loads((FIXTURES / path / "zarr.json").read_bytes())["attributes"], 3)


def v2(path):
    return parse_ome(json.loads((FIXTURES / path / ".zattrs").read_bytes()), 2)


def in_05(**ome):
    return parse_ome({"ome": {"version": "0.5", **ome}}, 3)


def test_an_image():
    ome = v3("image.ome.zarr")
    (image,) = ome.multiscales
    assert (ome.version, ome.kind, image.name) == ("0.5", "image", "Synthetic cells")
    assert image.axes[0] == Axis("c", "channel", None)
    assert image.axes[1] == Axis("y", "space", "micrometer")
    assert [level.path for level in image.datasets] == ["0", "1", "2"]
    assert image.datasets[1].scale == (1.0, 0.65, 0.65)
    assert image.datasets[1].translation == (0.0, 0.1625, 0.1625)
    assert ome.channels == (Channel("Nuclei", "3A7BFF"), Channel("Cytoplasm", "FFB000"))
    assert ome.problems == ()


def test_an_image_of_04_says_the_same():
    ome = v2("legacy.ome.zarr")
    assert (ome.version, ome.kind, ome.multiscales[0].name) == ("0.4", "image", "Synthetic cells, 0.4")
    assert ome.multiscales[0].datasets[1].scale == (1.0, 0.65, 0.65)
    assert v2("legacy.ome.zarr/labels").labels == ("cells",)
    assert v2("legacy.ome.zarr/labels/cells").is_label


def test_the_other_kinds():
    plate = v3("plate.ome.zarr")
    assert (plate.kind, plate.plate.name, plate.plate.rows, plate.plate.columns) == (
        "plate",
        "Synthetic plate",
        ("A", "B"),
        ("1", "2"),
    )
    assert plate.plate.wells == ("A/1", "A/2", "B/1", "B/2")
    assert v3("plate.ome.zarr/A/1").fields == ("0", "1")
    assert (v3("series.ome.zarr").kind, v3("series.ome.zarr").layout) == ("series", 3)
    assert v3("series.ome.zarr/OME").series == ("0", "1")
    assert v3("image.ome.zarr/labels").kind == "labels"
    assert v3("image.ome.zarr/labels/cells").kind == "labels"
    assert v3("plate.ome.zarr/A/1").kind == "other"


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


@pytest.mark.parametrize("output", [None, "physical", "elsewhere", {"name": 3}, {}, []])
def test_06_with_any_output_has_some_axes(output):
    ome = parse_ome({"ome": {"version": "0.6.dev3", "multiscales": [multiscale_of_06(output=output)]}}, 3)
    assert ome.multiscales[0].axes[0].name == ("x" if output == "physical" else "a")


def test_names_of_03_are_axes():
    attributes = {"multiscales": [{"version": "0.3", "axes": ["y", "x"], "datasets": [{"path": "0"}]}]}
    ome = parse_ome(attributes, 2)
    assert ome.version == "0.3"
    assert [axis.name for axis in ome.multiscales[0].axes] == ["y", "x"]
    assert ome.multiscales[0].datasets[0].scale is None


def test_attributes_without_ome_are_no_metadata():
    assert parse_ome({}, 3) is None
    assert parse_ome({"multiscales": []}, 3) is None  # 0.4 keys in a v3 document say nothing
    assert parse_ome({"sample": 1}, 2) is None


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

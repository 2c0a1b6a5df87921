"""Metadata of OME-Zarr 0.5 as 0.6, and back."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozx.errors import UnsupportedError
from ozx.ome.conversion_05_06 import convert_group
from ozx.ome.model import parse_ome
from ozx.validation.hierarchy import check_documents

YX = [{"name": "y", "type": "space", "unit": "micrometer"}, {"name": "x", "type": "space", "unit": "micrometer"}]


def group(version="0.5", **ome):
    return {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": version, **ome}}}


def level(path, *steps):
    return {"path": path, "coordinateTransformations": [{"type": kind, kind: list(numbers)} for kind, numbers in steps]}


def image(*datasets, **more):
    datasets = datasets or (level("0", ("scale", (0.5, 0.25))),)
    return group(multiscales=[{"name": "cells", "axes": YX, "datasets": list(datasets), **more}])


def there_and_back(document):
    newer = convert_group(document, "0.6", "here").document
    assert not [finding for finding in check_documents({"zarr.json": json.dumps(newer).encode()}) if is_wrong(finding)]
    return newer, convert_group(newer, "0.5", "here").document


def is_wrong(finding):
    return finding.severity == "error" and not finding.id.endswith(("-missing", "-numbers"))


DOCUMENTS = [
    image(),
    image(level("0", ("scale", (0.5, 0.25))), level("1", ("scale", (1, 0.5)), ("translation", (0.25, 0.125)))),
    image(level("0", ("scale", (1, 1)), ("translation", (0, 0)))),
    image(coordinateTransformations=[{"type": "scale", "scale": [0.1, 3]}]),
    image(
        level("0", ("scale", (0.3, 1)), ("translation", (0.7, 0))),
        coordinateTransformations=[
            {"type": "scale", "scale": [0.1, 3]},
            {"type": "translation", "translation": [1, 2]},
        ],
    ),
    image(type="mean", metadata={"method": "x"}),
    group(labels=["cells"]),
    group(),
    group(plate={"rows": [{"name": "A"}], "columns": [{"name": "1"}], "wells": []}),
    {"zarr_format": 3, "node_type": "group", "attributes": {"other": 1}},
]


def test_path_that_is_no_text_is_kept():
    wrong = image(level("0", ("scale", (0.5, 0.25))) | {"path": ["0"]})
    newer = convert_group(wrong, "0.6", "here").document
    assert newer["attributes"]["ome"]["multiscales"][0]["datasets"][0]["path"] == ["0"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_there_and_back(document):
    before = copy.deepcopy(document)
    _, back = there_and_back(document)
    assert back == before == document


@pytest.mark.parametrize("document", DOCUMENTS[:6])
def test_pixels_stay_in_place(document):
    newer, _ = there_and_back(document)
    old, new = (parse_ome(found["attributes"], 3).multiscales[0] for found in (document, newer))
    assert new.axes == old.axes
    for one, other in zip(old.datasets, new.datasets, strict=True):
        assert other.scale == pytest.approx(one.scale)
        assert other.translation == pytest.approx(one.translation)


_NUMBERS = st.decimals("0.001", "100", places=3).map(float)
_PAIRS = st.tuples(_NUMBERS, _NUMBERS)


@given(st.lists(_PAIRS, min_size=1, max_size=3), _PAIRS, st.none() | _PAIRS)
def test_transformations_of_the_whole_image_come_back(scales, common, shift):
    steps = [{"type": "scale", "scale": list(common)}]
    steps += [] if shift is None else [{"type": "translation", "translation": list(shift)}]
    datasets = [level(str(number), ("scale", scale)) for number, scale in enumerate(sorted(scales))]
    document = image(*datasets, coordinateTransformations=steps)
    newer = convert_group(document, "0.6", "here").document
    back = convert_group(newer, "0.5", "here").document["attributes"]["ome"]["multiscales"][0]
    assert back["coordinateTransformations"] == steps
    for was, now in zip(datasets, back["datasets"], strict=True):
        assert now["coordinateTransformations"][0]["scale"] == pytest.approx(
            was["coordinateTransformations"][0]["scale"]
        )


def test_a_candidate_becomes_06():
    document = convert_group(image(), "0.6", "here").document
    candidate = copy.deepcopy(document)
    candidate["attributes"]["ome"]["version"] = "0.6rc0"
    assert convert_group(candidate, "0.6", "here").document == document


@pytest.mark.parametrize("version", ["0.4", "0.6.dev2", "0.7", "0.9.dev1", None, 5])
def test_other_versions_are_refused(version):
    document = image()
    document["attributes"]["ome"]["version"] = version
    if version == "0.4":  # in Zarr v3 it has the form of 0.5
        assert convert_group(document, "0.5", "here").document["attributes"]["ome"]["version"] == "0.5"
        return
    with pytest.raises(
        UnsupportedError, match=r"here: expected OME-Zarr 0\.5 or 0\.6 to convert to 0\.\d; found version"
    ):
        convert_group(document, "0.5", "here")


@pytest.mark.parametrize(
    "datasets",
    [
        [{"path": "0"}],
        [level("0", ("translation", (1, 1)), ("scale", (1, 1)))],
        [level("0", ("scale", (1, 1, 1)))],
        [{"path": "0", "coordinateTransformations": [{"type": "scale", "path": "scales"}]}],
    ],
)
def test_levels_that_06_cannot_express(datasets):
    document = group(multiscales=[{"axes": YX, "datasets": datasets}])
    with pytest.raises(UnsupportedError, match="here, level '0': expected one scale"):
        convert_group(document, "0.6", "here")


def newer_with(**more):
    document = convert_group(image(), "0.6", "here").document
    document["attributes"]["ome"]["multiscales"][0].update(more)
    return document


def test_an_identity_becomes_a_scale():
    step = {"type": "identity", "input": {"path": "0"}, "output": {"name": "physical"}}
    document = newer_with(datasets=[{"path": "0", "coordinateTransformations": [step]}])
    found = convert_group(document, "0.5", "here").document["attributes"]["ome"]["multiscales"][0]["datasets"]
    assert found == [level("0", ("scale", (1, 1)))]


ARRAY_AXES = [{"name": "i", "type": "array"}, {"name": "j", "type": "array"}]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (group("0.6", scene={"coordinateTransformations": []}), "cannot express the scene"),
        (group("0.6", well={"images": [{"path": "field_1"}]}), r"OME-Zarr 0\.5 requires letters and digits"),
        (
            newer_with(coordinateSystems=[{"name": "physical", "axes": ARRAY_AXES}]),
            r"axes of the type 'array', which OME-Zarr 0\.5 does not have",
        ),
    ],
)
def test_what_05_cannot_express_is_refused_by_name(document, message):
    with pytest.raises(UnsupportedError, match=message):
        convert_group(document, "0.5", "here")


def test_a_scene_may_be_dropped():
    scene = {"coordinateTransformations": []}
    assert convert_group(group("0.6", scene=scene), "0.5", "here", drop=True).document == group()

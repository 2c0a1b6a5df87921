"""Verdicts for the runner of ngff-spec, on its own cases if they are there."""

import json
import os
from pathlib import Path

import pytest
from commands import command
from hierarchies import make_image

from ozx.validation.conformance import check_attributes, conformance

call = command("validate")
# Its cases lie beside the samples.
CASES = Path(os.environ.get("OZX_SAMPLES", "/none")).parent / "specs/ome-zarr-0.6rc0/tests/attributes"

# Where ozx disagrees, and why ozx is right by the text.
ROWS_ARE_COLUMNS = "rows and columns are exchanged in the path of the well"
DISAGREEMENTS = {
    "spec/invalid/scene/scene_missing_scene.json": "a group may hold a version and nothing else",
    "spec/valid/image/mismatch_axes_units.json": "a scale of two numbers for three axes",
    "spec/valid/image/multiscales_transform_additional_transforms.json": "byDimension leaves out one of three axes",
    "spec/valid/plate/minimal_acquisitions.json": ROWS_ARE_COLUMNS,
    "spec/valid/plate/minimal_no_acquisitions.json": ROWS_ARE_COLUMNS,
    "spec/valid/plate/non_alphanumeric_row.json": ROWS_ARE_COLUMNS,
    "strict/valid/plate/strict_acquisitions.json": ROWS_ARE_COLUMNS,
    "strict/valid/plate/strict_no_acquisitions.json": ROWS_ARE_COLUMNS,
    "strict/valid/image/image_omero.json": "a transformation from a coordinate system that does not exist",
    "strict/valid/image/multiscales_example.json": "the input of a level is another path than that of the level",
}


def disagreements():
    for path in CASES.rglob("*.json"):
        try:
            about = json.loads(path.read_bytes()).get("_conformance", {})
        except ValueError:  # no JSON: not valid
            about = {"valid": False}
        expected = about.get("valid", "valid" in path.relative_to(CASES).parts)
        if conformance(path, count_recommended=about.get("strict", False))[0] != expected:
            yield path.relative_to(CASES).as_posix()


def test_every_disagreement_with_the_cases_of_ngff_spec_has_a_reason():
    # Without the cases nothing is compared.
    assert set(disagreements()) == {name for name in DISAGREEMENTS if (CASES / name).exists()}


def image_of_06(**changes):
    step = {"type": "scale", "scale": [1, 1], "input": {"path": "0"}, "output": {"name": "physical"}, **changes}
    systems = [{"name": "physical", "axes": [{"name": name, "type": "space"} for name in "yx"]}]
    image = {"coordinateSystems": systems, "datasets": [{"path": "0", "coordinateTransformations": [step]}]}
    return {"ome": {"version": "0.6", "multiscales": [{"name": "cells", **image}]}}


@pytest.mark.parametrize(
    ("attributes", "rule"),
    [
        ({}, "ome/metadata"),
        ({"ome": {}}, "ome/version"),
        ({"ome": {"version": "0.6", "multiscales": []}}, "ome/multiscales"),
        ({"ome": {"version": "0.6", "image-label": {"colors": []}}}, "ome/schema"),
        ({"ome": {"version": "0.6", "image-label": {}}}, None),
        ({"ome": {"version": "0.6"}}, None),
        (image_of_06(scale=[0, 1]), "ome/scale-value"),
        (image_of_06(), None),
    ],
)
def test_attributes(tmp_path, attributes, rule):
    path = tmp_path / "attributes.json"
    path.write_text(json.dumps(attributes))
    valid, message = conformance(path)
    assert (valid, message.partition(":")[0]) == (rule is None, rule or "")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"ome": {"version": "0.6", "image-label": {}}}, "ome/image-label: "),
        (image_of_06(), "ome/downscaling: expected type and metadata; missing"),
    ],
)
def test_warnings_and_descriptions_count_if_recommendations_do(tmp_path, attributes, message):
    path = tmp_path / "attributes.json"
    path.write_text(json.dumps(attributes))
    valid, told = conformance(path, count_recommended=True)
    assert (valid, told.startswith(message)) == (False, True)


def test_what_is_no_json_is_not_valid(capsys, tmp_path):
    path = tmp_path / "attributes.json"
    path.write_text("{,}")
    code, out, err = call(capsys, "--conformance", str(path))
    verdict = json.loads(out)
    assert (code, verdict["valid"], err) == (0, False, "")
    assert verdict["message"].startswith("zarr/json: ")


def test_a_hierarchy(capsys, tmp_path):
    source = make_image(tmp_path / "cells.ome.zarr")
    code, out, _ = call(capsys, "--conformance", str(source))
    assert (code, json.loads(out)) == (0, {"valid": True, "message": ""})


def test_one_path(capsys):
    code, _, err = call(capsys, "--conformance", "a.json", "b.json")
    assert code == 2
    assert "expected one path; got 2" in err


def test_a_path_that_does_not_exist(capsys):
    code, _, err = call(capsys, "--conformance", "missing.json")
    assert code == 4
    assert "missing.json" in err


def test_deep_transformations_end():
    step = {"type": "identity"}
    for _ in range(50):
        step = {"type": "sequence", "transformations": [step]}
    image = {"datasets": [{"path": "0", "coordinateTransformations": [step]}]}
    attributes = {"ome": {"version": "0.6", "multiscales": [image]}}
    messages = [finding.message for finding in check_attributes(json.dumps(attributes).encode())]
    assert "expected at most 16 nested transformations; found more" in messages

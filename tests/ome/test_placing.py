"""Images in other coordinate systems, and transformations as matrices, by the examples of the text of OME-Zarr 0.6."""

import numpy as np
import pytest

from ozx.ome.model import parse_ome
from ozx.ome.placing import compose, invert, place_image, place_scene, to_matrix

YX = [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]


def end(name, path=None):
    return {"name": name} if path is None else {"name": name, "path": path}


def step(kind, start, stop, **parameters):
    return {"type": kind, **parameters, "input": start, "output": stop}


def image(*steps, systems=()):
    level = step("scale", {"path": "0"}, end("physical"), scale=[0.5, 0.5])
    item = {
        "coordinateSystems": [{"name": name, "axes": YX} for name in ("physical", *systems)],
        "datasets": [{"path": "0", "coordinateTransformations": [level]}],
        "coordinateTransformations": list(steps),
    }
    return parse_ome({"ome": {"version": "0.6", "multiscales": [item]}}, 3).multiscales[0]


def scene(*steps, systems=("world",)):
    item = {
        "coordinateSystems": [{"name": name, "axes": YX} for name in systems],
        "coordinateTransformations": list(steps),
    }
    return parse_ome({"ome": {"version": "0.6", "scene": item}}, 3).scene


@pytest.mark.parametrize("is_turned", [False, True])
def test_an_image_in_another_system(is_turned):
    ends = (end("stage"), end("physical")) if is_turned else (end("physical"), end("stage"))
    numbers = [0.5, 0.25] if is_turned else [2, 4]
    place = place_image(image(step("scale", *ends, scale=numbers), systems=["stage"]))
    assert place.system == "stage"
    np.testing.assert_allclose(place.matrix, [[2, 0, 0], [0, 4, 0]])


def test_the_first_system_that_a_matrix_leads_to():
    first = step("displacements", end("physical"), end("warped"), path="field")
    second = step("translation", end("physical"), end("stage"), translation=[1, 2])
    place = place_image(image(first, second, systems=["warped", "stage"]))
    assert place.system == "stage"
    assert place.unapplied == ("the displacements from 'physical' to 'warped'",)


def test_a_transformation_to_labels_moves_no_image():
    assert place_image(image(step("identity", end("physical"), end("physical", "labels/a")))).system is None


def test_images_in_a_scene():
    a = step("translation", end("physical", "a"), end("world"), translation=[1, 2])
    b = step("affine", end("physical", "b"), end("physical", "a"), affine=[[0, -1, 0], [1, 0, 0]])
    places = place_scene(scene(a, b), {"a": image(), "b": image()})
    assert places["a"].system == places["b"].system == "world"
    np.testing.assert_allclose(places["a"].matrix, [[1, 0, 1], [0, 1, 2]])
    np.testing.assert_allclose(places["b"].matrix, [[0, -1, 1], [1, 0, 2]])


def test_a_scene_through_another_system_of_an_image():
    own = step("scale", end("physical"), end("stage"), scale=[10, 10])
    step_in_scene = step("translation", end("stage", "a"), end("world"), translation=[1, 2])
    places = place_scene(scene(step_in_scene), {"a": image(own, systems=["stage"])})
    np.testing.assert_allclose(places["a"].matrix, [[10, 0, 1], [0, 10, 2]])


def test_a_scene_without_systems_has_that_of_its_first_image():
    b = step("translation", end("physical", "b"), end("physical", "a"), translation=[1, 2])
    places = place_scene(scene(b, systems=()), {"a": image(), "b": image()})
    np.testing.assert_allclose(places["a"].matrix, np.eye(2, 3))
    np.testing.assert_allclose(places["b"].matrix, [[1, 0, 1], [0, 1, 2]])


def test_what_has_no_matrix_is_named():
    b = step("coordinates", end("physical", "b"), end("world"), path="field")
    place = place_scene(scene(b), {"b": image()})["b"]
    assert (place.system, place.matrix) == (None, None)
    assert place.unapplied == ("the coordinates from 'physical' of b to 'world'",)


def move(*numbers):
    return {"type": "translation", "translation": list(numbers)}


def grow(*numbers):
    return {"type": "scale", "scale": list(numbers)}


def along(axis, step):
    return {"transformation": step, "inputAxes": [axis], "outputAxes": [axis]}


# Each transformation, a point, and where it leads.
EXAMPLES = [
    ({"type": "identity"}, [3, 4], [3, 4]),
    ({"type": "mapAxis", "mapAxis": [1, 0]}, [3, 4], [4, 3]),
    ({"type": "projectAxis", "createdOutputs": [0, 1]}, [3, 4], [0, 0, 3, 4]),
    ({"type": "projectAxis", "createdOutputs": [0], "droppedInputs": [0]}, [9, 3, 4], [0, 3, 4]),
    (move(9, -1.42), [1, 2], [10, 0.58]),
    (grow(2, 3.12), [1, 2], [2, 6.24]),
    ({"type": "affine", "affine": [[1, 2, 3], [4, 5, 6]]}, [1, 1], [6, 15]),
    ({"type": "affine", "affine": [[1, 0, 0], [2, 3, 4], [5, 6, 7]]}, [1, 1], [1, 9, 18]),
    ({"type": "rotation", "rotation": [[0, -1], [1, 0]]}, [3, 4], [-4, 3]),
    ({"type": "sequence", "transformations": [move(0.1, 0.9), grow(2, 3)]}, [1, 2], [2.2, 8.7]),
    ({"type": "byDimension", "transformations": [along(1, move(-1.0)), along(0, grow(2.0))]}, [3, 4], [6, 3]),
    ({"type": "bijection", "forward": grow(2, 2), "inverse": {"type": "identity"}}, [3, 4], [6, 8]),
]


@pytest.mark.parametrize(("step", "point", "expected"), EXAMPLES, ids=lambda value: str(value)[:30])
def test_examples_of_the_text(step, point, expected):
    matrix = to_matrix(step, len(point))
    assert matrix @ [*point, 1] == pytest.approx(expected)


@pytest.mark.parametrize(
    "step",
    [
        {},
        {"type": "displacements", "path": "f"},
        {"type": "affine", "path": "m"},
        {"type": "affine", "affine": [[1, 0], [0, 1]]},
        {"type": "affine", "affine": [[1, 0, "a"], [0, 1, 0]]},
        {"type": "scale", "scale": [1, float("inf")]},
        {"type": "rotation", "rotation": [[1, 0]]},
        {"type": "mapAxis", "mapAxis": [0, 0]},
        {"type": "projectAxis", "createdOutputs": [9]},
        {"type": "projectAxis", "droppedInputs": [5]},
        {"type": "sequence", "transformations": [{"type": "coordinates", "path": "f"}]},
        {"type": "byDimension", "transformations": [{"inputAxes": [0], "outputAxes": [1]}]},
        {"type": "byDimension", "transformations": []},
        {"type": "bijection"},
    ],
)
def test_no_matrix(step):
    assert to_matrix(step, 2) is None


def test_deep_and_wide_transformations_have_none():
    step = {"type": "identity"}
    for _ in range(100):
        step = {"type": "sequence", "transformations": [step]}
    assert to_matrix(step, 2) is None
    assert to_matrix({"type": "identity"}, 10**9) is None


def test_inverse():
    matrix = to_matrix({"type": "affine", "affine": [[1, 2, 3], [4, 5, 6]]}, 2)
    np.testing.assert_allclose(compose(matrix, invert(matrix)), np.eye(2, 3), atol=1e-12)
    assert invert(to_matrix({"type": "scale", "scale": [0, 1]}, 2)) is None
    assert invert(to_matrix({"type": "projectAxis", "createdOutputs": [0]}, 2)) is None

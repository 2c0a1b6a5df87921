"""Transformations as matrices, against the functions that the text of OME-Zarr 0.6 gives for its examples."""

from __future__ import annotations

import numpy as np
import pytest

from ozx.hierarchy.ome.placing import compose, invert, to_matrix

# Each transformation, a point, and where it leads.
EXAMPLES = [
    ({"type": "identity"}, [3, 4], [3, 4]),
    ({"type": "mapAxis", "mapAxis": [1, 0]}, [3, 4], [4, 3]),
    ({"type": "projectAxis", "createdOutputs": [0, 1]}, [3, 4], [0, 0, 3, 4]),
    ({"type": "projectAxis", "createdOutputs": [0], "droppedInputs": [0]}, [9, 3, 4], [0, 3, 4]),
    ({"type": "translation", "translation": [9, -1.42]}, [1, 2], [10, 0.58]),
    ({"type": "scale", "scale": [2, 3.12]}, [1, 2], [2, 6.24]),
    ({"type": "affine", "affine": [[1, 2, 3], [4, 5, 6]]}, [1, 1], [6, 15]),
    ({"type": "affine", "affine": [[1, 0, 0], [2, 3, 4], [5, 6, 7]]}, [1, 1], [1, 9, 18]),
    ({"type": "rotation", "rotation": [[0, -1], [1, 0]]}, [3, 4], [-4, 3]),
    (
        {
            "type": "sequence",
            "transformations": [
                {"type": "translation", "translation": [0.1, 0.9]},
                {"type": "scale", "scale": [2, 3]},
            ],
        },
        [1, 2],
        [2.2, 8.7],
    ),
    (
        {
            "type": "byDimension",
            "transformations": [
                {"transformation": {"type": "translation", "translation": [-1.0]}, "inputAxes": [1], "outputAxes": [1]},
                {"transformation": {"type": "scale", "scale": [2.0]}, "inputAxes": [0], "outputAxes": [0]},
            ],
        },
        [3, 4],
        [6, 3],
    ),
    (
        {"type": "bijection", "forward": {"type": "scale", "scale": [2, 2]}, "inverse": {"type": "identity"}},
        [3, 4],
        [6, 8],
    ),
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

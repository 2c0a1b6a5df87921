"""Scale and translation out of coordinate transformations."""

import pytest

from ozx.ome.transformations import LevelTransformation, parse_transformations

SCALE = {"type": "scale", "scale": [2, 0.5]}
MOVE = {"type": "translation", "translation": [1, 10]}


def test_they_are_applied_in_order():
    assert parse_transformations([SCALE, MOVE], 2) == LevelTransformation((2.0, 0.5), (1.0, 10.0))
    assert parse_transformations([MOVE, SCALE], 2) == LevelTransformation((2.0, 0.5), (2.0, 5.0))
    assert parse_transformations([SCALE, MOVE, SCALE], 2) == LevelTransformation((4.0, 0.25), (2.0, 5.0))


def test_a_sequence_is_its_steps():
    sequence = {"type": "sequence", "transformations": [SCALE, MOVE], "input": "0", "output": {"name": "world"}}
    assert parse_transformations([sequence], 2) == parse_transformations([SCALE, MOVE], 2)


@pytest.mark.parametrize(
    "step",
    [
        {"type": "affine", "affine": [[1, 0, 0], [0, 1, 0]]},
        {"type": "scale", "scale": [2]},
        {"type": "scale", "scale": ["2", 1]},
        {"type": "scale", "path": "scales/0"},
        {"type": "translation", "translation": [float("nan"), 0]},
        {"type": "sequence", "transformations": [{"type": "rotation"}]},
        {"scale": [1, 1]},
        "scale",
        None,
    ],
)
def test_what_is_no_plain_placement_gives_none(step):
    assert parse_transformations([SCALE, step], 2) is None


def test_sequences_nested_without_end_do_not_exhaust_the_stack():
    step = SCALE
    for _ in range(400):
        step = {"type": "sequence", "transformations": [step]}
    assert parse_transformations([step], 2) is None

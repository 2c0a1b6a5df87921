"""Which rows of stored values are complete, in any order of values."""

import itertools
import random
from types import SimpleNamespace

import pytest

from ozx.images.streaming.streamed_image import CompleteRows


def layout(grid, stored):
    return SimpleNamespace(stored_grid=grid, stored_shape=stored)


def test_the_shortest_level_counts():
    rows = CompleteRows([layout((9, 2), (4, 8)), layout((5, 1), (3, 8))], [1, 2], 0)
    assert rows.length == 0
    rows.count(0, (0, 0))
    rows.count(0, (0, 1))
    assert rows.length == 0
    rows.count(1, (0, 0))
    assert rows.length == 4
    for place in itertools.product([1], range(2)):
        rows.count(0, place)
    assert rows.length == 6


def test_an_image_of_one_frame():
    rows = CompleteRows([layout((2, 2), (4, 4))], [1], None)
    for number, place in enumerate(itertools.product(range(2), range(2))):
        assert rows.length == (number == 4)
        rows.count(0, place)
    assert rows.length == 1


@pytest.mark.parametrize("growing", [0, 1, 2])
def test_any_order(growing):
    grid = (3, 4, 5)
    places = list(itertools.product(*map(range, grid)))
    random.Random(growing).shuffle(places)
    rows = CompleteRows([layout(grid, (2, 2, 2))], [1], growing)
    seen = set()
    for place in places:
        rows.count(0, place)
        seen.add(place)
        whole = 0
        while whole < grid[growing] and all(other in seen for other in places if other[growing] == whole):
            whole += 1
        assert rows.length == 2 * whole

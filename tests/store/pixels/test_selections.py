"""The inner chunks that a selection touches, compared with a mask of the pixels that numpy selects."""

import numpy as np
import pytest

from ozx.store.pixels.selections import bounding_box, covers, is_basic, iter_overlaps

SHAPE, CHUNK = (8, 12), (3, 4)
PIXELS = np.arange(96).reshape(SHAPE)


@pytest.mark.parametrize(
    "selection", [(slice(2, 8), 5), (slice(None), slice(4, 8)), (0, 0), (slice(3, 3), slice(None))]
)
def test_overlaps_tile_the_selection(selection):
    assert is_basic(selection)
    expected = PIXELS[selection]
    lengths = [
        1 if isinstance(part, int) else len(range(*part.indices(n))) for part, n in zip(selection, SHAPE, strict=True)
    ]
    found = np.full(lengths, -1)
    for place, inside, target in iter_overlaps(selection, SHAPE, CHUNK):
        chunk = PIXELS[tuple(slice(n * c, (n + 1) * c) for n, c in zip(place, CHUNK, strict=True))]
        part = chunk if inside is None else chunk[inside]
        assert (found[target] == -1).all()
        found[target] = part
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


@pytest.mark.parametrize(
    "selection",
    [
        (slice(1, 8, 3), slice(None)),
        (np.array([7, 0, 7]), np.array([11, 3, 4])),
        (np.array([[6], [2]]), np.array([[1, 9]])),
        (2, np.array([11, 5])),
        (np.array([False, True] * 4), slice(2, 9, 5)),
        (slice(7, 0, -2), slice(11, None, -4)),
    ],
)
def test_boxes_hold_the_selection_and_no_other_chunks(selection):
    box = bounding_box(selection, SHAPE, CHUNK)
    pad = np.pad(PIXELS, ((0, 1), (0, 0)))
    first = tuple(n * c for n, c in zip(box.first, CHUNK, strict=True))
    region = tuple(slice(f, f + n * c) for f, n, c in zip(first, box.shape, CHUNK, strict=True))
    np.testing.assert_array_equal(pad[region][box.selection], PIXELS[selection])
    touched = np.zeros(SHAPE, bool)
    touched[selection] = True
    expected = {(int(y) // 3, int(x) // 4) for y, x in np.argwhere(touched)}
    assert sorted(box.chunks) == sorted(expected)


@pytest.mark.parametrize("selection", [(slice(0, 0), slice(None, None, 2)), (np.array([-1]), 0), (np.array(["a"]), 0)])
def test_other_selections_have_no_box(selection):
    assert bounding_box(selection, SHAPE, CHUNK) is None


def test_covering_selections():
    assert covers((slice(0, 8, 1), slice(None, 12)), SHAPE)
    assert not covers((slice(0, 8, 2), slice(0, 12)), SHAPE)
    assert not covers((slice(0, 8),), SHAPE)
    assert not covers(slice(0, 8), (8,))

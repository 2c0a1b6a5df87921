"""The price of reading a part of an array, known before it is read."""

import numpy as np
import pytest
import zarr

from ozx.store import lazy_views
from ozx.store.lazy_views import LevelSlice


def array(shape, chunks, **options):
    return zarr.create_array({}, shape=shape, chunks=chunks, dtype="uint16", **options)


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), slice(None)),
        (slice(3, 61, 7), slice(0, 64, 2)),
        (5, slice(None)),
        (slice(1, 64), 9),
        (slice(0, 64, 64), slice(2, 3)),
    ],
)
@pytest.mark.parametrize("most", [1, 3, 17])
def test_what_is_read_in_pieces_is_the_same(monkeypatch, key, most):
    data = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    whole = array((64, 64), (3, 5))
    whole[...] = data
    monkeypatch.setattr(lazy_views, "_MOST_CHUNKS", most)
    assert np.array_equal(LevelSlice(whole, "0")[key], data[key])

"""The price of reading a part of an array, known before it is read."""

import numpy as np
import pytest
import zarr

from ozx.errors import UnsupportedError
from ozx.store import lazy_views
from ozx.store.lazy_views import LevelSlice
from ozx.store.reading_price import Price, check_price, price_of


def array(shape, chunks, **options):
    return zarr.create_array({}, shape=shape, chunks=chunks, dtype="uint16", **options)


@pytest.mark.parametrize(
    ("index", "chunks"),
    [
        ((slice(None), slice(None)), 40),
        ((0, slice(0, 30)), 1),
        ((slice(5, 15), slice(29, 31)), 4),
        ((slice(0, 100, 40), slice(0, 100, 99)), 6),
        ((slice(0, 0), slice(None)), 0),
    ],
)
def test_chunks_are_counted(index, chunks):
    assert price_of(array((100, 100), (10, 30)), index) == Price(chunks, chunks * 600, 600)


def test_inner_chunks_count_in_shards():
    assert price_of(array((64, 64), (8, 8), shards=(32, 32)), (slice(0, 32), slice(0, 32))).chunks == 16


def test_sides_beyond_any_machine_integer_have_a_price():
    huge = array((1 << 62, 1 << 62), (1, 1))
    assert price_of(huge, (slice(None), slice(None))).chunks == 1 << 124
    with pytest.raises(UnsupportedError, match=r"reading it would read 2\.1e\+37 chunks"):
        check_price(price_of(huge, (slice(None),) * 2), Price(10, 10, 10), "reading it", "Do not.")


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

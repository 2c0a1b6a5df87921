"""How large shards become, and the options for it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozx.errors import UsageError
from ozx.ome.relayout.shard_choice import LARGEST_SHARD, MOST_ENTRIES, ShardArray, choose_shards, parse_shard_policy
from ozx.zarr.array import ChunkKeys
from ozx.zarr.layout import ArrayLayout, IndexFormat

AUTO = "auto"


def layout(shape, chunks, names=None, *, shards=None, item_size=2):
    levels = ()
    if shards is not None:
        per_shard = tuple(whole // part for whole, part in zip(shards, chunks, strict=True))
        levels = ((per_shard, IndexFormat()),)
    names = tuple(names) if names else (None,) * len(shape)
    return ArrayLayout(shape, chunks, levels, (), ChunkKeys(), item_size, names)


def choose(shape, chunks, names=None, policy=AUTO, axes=(), **others):
    return choose_shards({"0": ShardArray(layout(shape, chunks, names, **others), axes)}, policy)["0"]


def asked(**lengths):
    return lengths


@pytest.mark.parametrize(
    ("shape", "chunks", "names", "expected"),
    [
        ((4, 3, 60, 2048, 2048), (1, 1, 1, 512, 512), "tczyx", (1, 1, 60, 2048, 2048)),
        ((4, 3, 200, 2048, 2048), (1, 1, 1, 512, 512), "tczyx", (1, 1, 50, 2048, 2048)),
        ((4, 3, 60, 2048, 2048), (1, 3, 1, 512, 512), "tczyx", (1, 3, 20, 2048, 2048)),
        ((100, 100), (32, 64), "yx", (128, 128)),
        ((100, 100), (100, 100), "yx", None),
        ((100, 100), (128, 128), "yx", None),
        ((0, 100), (32, 64), "yx", (32, 128)),
        ((100_000, 100_000), (1024, 1024), "yx", (2048, 100_352)),
        ((8, 8), (1, 1), "tc", None),
        ((), (), "", None),
        ((3, 40_000, 40_000), (3, 20_000, 20_000), "cyx", None),
    ],
)
def test_auto(shape, chunks, names, expected):
    assert choose(shape, chunks, names) == expected


def test_shards_reach_across_times_where_there_would_be_too_many():
    arrays = {
        "long": ShardArray(layout((100_000, 64, 64), (1, 32, 32), "tyx")),
        "short": ShardArray(layout((4, 64, 64), (1, 32, 32), "tyx")),
    }
    chosen = choose_shards(arrays, AUTO)
    counts = [math.prod(-(-n // m) for n, m in zip((100_000, 64, 64), chosen["long"], strict=True))]
    assert sum(counts) < MOST_ENTRIES
    assert choose_shards({"short": arrays["short"]}, AUTO) == {"short": (1, 64, 64)}


def test_what_is_sharded_stays_unless_it_is_too_large():
    assert choose((100, 100), (10, 10), shards=(20, 50)) == (20, 50)
    assert choose((1 << 20, 1 << 20), (1024, 1024), shards=(1 << 15, 1 << 16)) == (1 << 10, 1 << 18)


@given(
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 1 << 10)), min_size=1, max_size=5),
    st.sampled_from([1, 2, 4, 8, 16, None]),
)
def test_auto_keeps_its_promises(dimensions, item_size):
    shape, chunks = zip(*dimensions, strict=True)
    shards = choose(shape, chunks, "tczyx"[-len(shape) :], item_size=item_size)
    if shards is None:
        return
    assert all(shard % chunk == 0 for shard, chunk in zip(shards, chunks, strict=True))
    assert all(s - c < n or s == c for s, c, n in zip(shards, chunks, shape, strict=True))
    assert math.prod(shards) * (item_size or 1) <= 512 << 20
    assert math.prod(shards) // math.prod(chunks) <= 16_384


@pytest.mark.parametrize(
    ("lengths", "message", "hint"),
    [
        ({"y": 50}, "a multiple of the chunk's length along y, 32; got 50", "The nearest are 32 and 64."),
        ({"y": 5}, "got 5", "The nearest is 32."),
        ({"z": 5}, "unknown axis 'z'; the axes are y, x", None),
        ({"0": 32}, "unknown axis '0'; the axes are y, x", None),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(lengths, message, hint):
    with pytest.raises(UsageError) as caught:
        choose((100, 100), (32, 32), "yx", lengths)
    assert message in str(caught.value)
    assert caught.value.hint == hint


def test_shards_that_readers_would_drop_are_refused():
    with pytest.raises(UsageError, match="at most 2,147,483,648 bytes"):
        choose((1 << 16, 1 << 16), (1024, 1024), "yx", asked(y=1 << 16, x=1 << 14))
    assert LARGEST_SHARD == 2 << 30


@pytest.mark.parametrize("text", ["", "x", "x=", "x=0", "x=-1", "x=1.5", "x=1,x=2", "x=1,,y=2", "AUTO", "=5"])
def test_a_policy_that_is_none_is_refused(text):
    with pytest.raises(UsageError, match="expected auto, keep, none"):
        parse_shard_policy(text)

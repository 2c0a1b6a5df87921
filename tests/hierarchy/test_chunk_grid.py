"""Keys of chunks, what is none, and the regions that are missing."""

import itertools
import json
import random

import pytest
from cases.archive_builder import array
from hypothesis import given
from hypothesis import strategies as st

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.chunk_grid import ChunkGrid, ChunkKeys, ChunkTally, parse_chunk_grid, parse_chunk_keys

ENCODINGS = [ChunkKeys(name, separator) for name, separator in itertools.product(("default", "v2"), "/.")]


@pytest.mark.parametrize("keys", ENCODINGS, ids=str)
@given(coordinates=st.lists(st.integers(0, 10**18 - 1), max_size=5))
def test_a_key_gives_its_coordinates_back(keys, coordinates):
    assert keys.decode(keys.encode(coordinates), len(coordinates)) == tuple(coordinates)


@pytest.mark.parametrize(
    "key",
    [
        *["c/0", "c/0/0/0", "c/00/0", "c/+1/0", "c/-1/0", "c/ 1/0", "c/1_0/0", "c/²/0", "c/١/0", "c//0", "c/0/"],
        *["C/0/0", "0/0", "c.0.0", "c/0/0.tmp", "x/c/0/0", "", "c", "c/0/" + "9" * 19],
    ],
)
def test_nothing_else_is_a_chunk_key(key):
    assert ChunkKeys().decode(key, 2) is None


@pytest.mark.parametrize("key", ["1", "00", "", "c/0", "0.0"])
def test_a_0_d_array_has_one_chunk(key):
    assert ChunkKeys("v2", ".").decode(key, 0) is None
    assert ChunkKeys().decode(key, 0) is None


def test_encodings_have_their_own_separator_and_may_be_short():
    assert parse_chunk_keys("v2", "0") == ChunkKeys("v2", ".")
    assert parse_chunk_keys({"name": "default"}, "0") == ChunkKeys("default", "/")


def test_unknown_encodings_are_refused_by_name():
    with pytest.raises(UnsupportedError, match=r"0: expected .*found 'example\.suffix'"):
        parse_chunk_keys("example.suffix", "0")
    with pytest.raises(FormatError, match="found '-'"):
        parse_chunk_keys({"name": "v2", "configuration": {"separator": "-"}}, "0")
    with pytest.raises(FormatError, match="missing"):
        parse_chunk_keys(None, "0")


DOCUMENT = json.loads(array([100, 60], [50, 20]))


def grid(**changes):
    return parse_chunk_grid(DOCUMENT | changes)


def test_a_0d_array_has_one_chunk():
    assert ChunkGrid((), ()).coordinates("c") == ()
    assert ChunkGrid((), (), ChunkKeys("v2", ".")).coordinates("0") == ()
    assert ChunkGrid((), ()).coordinates("c/0") is None
    tally = ChunkTally(ChunkGrid((), ()))
    assert (tally.missing_region(), tally.region()) == ((), None)
    tally.add(())
    assert (tally.missing_region(), tally.region()) == (None, ())


@pytest.mark.parametrize(
    "changes",
    [
        {"chunk_key_encoding": {"name": "fancy"}},
        {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}},
        {"chunk_grid": {"name": "rectilinear"}},
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0, 1]}}},
        {"shape": [4]},
        {"shape": None},
    ],
)
def test_what_is_not_understood(changes):
    assert grid(**changes) is None


def test_regions_are_those_of_a_plain_count():
    choices = random.Random(1)
    for _ in range(200):
        shape, chunks = [choices.randrange(1, 9) for _ in range(2)], [choices.randrange(1, 4) for _ in range(2)]
        tally = ChunkTally(ChunkGrid(tuple(shape), tuple(chunks)))
        places = [(y, x) for y in range(tally.grid.counts[0]) for x in range(tally.grid.counts[1])]
        there = [place for place in places if choices.random() < 0.7]
        for place in there:
            tally.add(place)
        for found, region in ((set(places) - set(there), tally.missing_region()), (set(there), tally.region())):
            box = (
                tuple(
                    (
                        min(p[axis] for p in found) * chunks[axis],
                        min(shape[axis], (max(p[axis] for p in found) + 1) * chunks[axis]),
                    )
                    for axis in range(2)
                )
                if found
                else None
            )
            assert region == box


def test_a_huge_grid_takes_no_memory_or_time():
    tally = ChunkTally(ChunkGrid((10**15, 10**15), (1, 1)))
    tally.add((0, 0))
    assert tally.missing_region() == ((0, 10**15), (0, 10**15))

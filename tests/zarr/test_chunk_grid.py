"""Chunk keys, and the regions that are missing."""

import json
import random

import pytest
from cases.archive_builder import array

from ozx.zarr.array import ChunkKeys
from ozx.zarr.chunk_grid import ChunkGrid, CountedChunks, parse_chunk_grid

DOCUMENT = json.loads(array([100, 60], [50, 20]))


def grid(**changes):
    return parse_chunk_grid(DOCUMENT | changes)


def test_a_0d_array_has_one_chunk():
    assert ChunkGrid((), ()).coordinates("c") == ()
    assert ChunkGrid((), (), ChunkKeys("v2", ".")).coordinates("0") == ()
    assert ChunkGrid((), ()).coordinates("c/0") is None
    tally = CountedChunks(ChunkGrid((), ()))
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
        tally = CountedChunks(ChunkGrid(tuple(shape), tuple(chunks)))
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
    tally = CountedChunks(ChunkGrid((10**15, 10**15), (1, 1)))
    tally.add((0, 0))
    assert tally.missing_region() == ((0, 10**15), (0, 10**15))

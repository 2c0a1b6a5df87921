"""Shards out of chunks that come in any order."""

import itertools
import random

import numpy as np
import pytest

from ozx.hierarchy.zarr.layout import index_size, parse_index, parse_layout, relayout_document
from ozx.images.writing.shard_assembly import ShardAssembler

DOCUMENT = {
    "node_type": "array", "shape": [50, 70], "data_type": "uint8", "codecs": ["bytes"],
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10, 10]}}, "chunk_key_encoding": "default",
}  # fmt: skip


def assemble(places, shards=(30, 40)):
    assembler = ShardAssembler(parse_layout(relayout_document(DOCUMENT, shards), "a"), "a")
    found = {}
    for place in places:
        value = assembler.add(place, None if sum(place) % 3 == 0 else bytes([place[0], place[1]]))
        if value is not None:
            found[value.key] = b"".join(value.iter_blocks())
    return found


PLACES = list(itertools.product(range(5), range(7)))


def test_any_order_makes_the_same_shards():
    expected = assemble(PLACES)
    assert set(expected) == {"a/c/0/0", "a/c/0/1", "a/c/1/0", "a/c/1/1"}
    shuffled = PLACES.copy()
    random.Random(0).shuffle(shuffled)
    assert assemble(shuffled) == expected


def test_the_index_says_where_chunks_are():
    shard = assemble(PLACES)["a/c/1/1"]
    index = parse_index(shard[-index_size(12) :], (3, 4), len(shard), "a/c/1/1")
    for row, column in np.ndindex(3, 4):
        place = (3 + row, 4 + column)
        offset, length = index.offsets[row, column], index.lengths[row, column]
        if place in PLACES and sum(place) % 3:
            assert shard[offset : offset + length] == bytes(place)
        else:
            assert length == 0


@pytest.mark.parametrize("shards", [(30, 40), None])
def test_what_is_empty_is_not_stored(shards):
    empty = [place for place in PLACES if sum(place) % 3 == 0]
    assert assemble(empty, None) == {}
    assembler = ShardAssembler(parse_layout(relayout_document(DOCUMENT, shards), ""), "")
    assert all(assembler.add(place, None) is None for place in PLACES)


def test_chunks_by_themselves_are_given_out_at_once():
    assert assemble([(4, 6)], None) == {"a/c/4/6": b"\x04\x06"}

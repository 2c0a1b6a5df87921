"""Which pixels are worked on, and which are written, at a time."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ozx.hierarchy.relayout.rechunking import plan_rechunking
from ozx.hierarchy.zarr.array import ChunkKeys
from ozx.hierarchy.zarr.layout import ArrayLayout, IndexFormat, ShardLevel

MIB = 1 << 20


def layout(shape, chunks, *, shards=None, separator="/", size=1):
    per_shard = None if shards is None else tuple(a // b for a, b in zip(shards, chunks, strict=True))
    levels = () if shards is None else (ShardLevel(shards, per_shard, IndexFormat()),)
    keys = ChunkKeys("default", separator)
    return ArrayLayout(shape, chunks, levels, (), keys, size, (None,) * len(shape))


def plan(shape, old, new, **options):
    return plan_rechunking(layout(shape, old), layout(shape, new, **options))


@st.composite
def cuts(draw):
    dimensions = draw(st.integers(0, 4))
    lengths = st.tuples(*[st.integers(1, 9)] * dimensions)
    shape = draw(st.tuples(*[st.integers(1, 24)] * dimensions))
    chunks = draw(lengths)
    multiples = draw(st.tuples(*[st.integers(1, 4)] * dimensions))
    shards = tuple(map(math.prod, zip(chunks, multiples, strict=True))) if draw(st.booleans()) and shape else None
    return layout(shape, draw(lengths)), layout(shape, chunks, shards=shards, separator=draw(st.sampled_from("/.")))


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(cuts(), st.data())
def test_groups_that_old_chunks_reach_into(layouts, data):
    old, new = layouts
    cut = plan_rechunking(old, new)
    grid = list(itertools.product(*map(range, old.grid)))
    places = data.draw(st.lists(st.sampled_from(grid), unique=True, max_size=5))
    expected = [
        number
        for number, group in enumerate(itertools.product(*map(range, cut.group_grid)))
        if any(
            all(
                at * part < min((g + 1) * length, whole) and min((at + 1) * part, whole) > g * length
                for at, part, g, length, whole in zip(place, old.chunks, group, cut.groups, old.shape, strict=True)
            )
            for place in places
        )
    ]
    found = cut.touched_groups(*old.bounds(np.array(places, np.int64).reshape(len(places), len(old.grid))))
    assert found.tolist() == expected


def test_blocks_are_never_huge():
    cut = plan((4096, 4096, 4096), (1024, 1024, 1024), (16, 16, 16), shards=(1024, 1024, 1024))
    assert math.prod(cut.blocks) <= 64 * MIB
    assert plan((1 << 14, 1 << 14), (64, 64), (1 << 14, 1 << 14)).blocks == (1 << 14, 1 << 14)


@pytest.mark.parametrize(
    ("old", "new", "separator", "groups"),
    [
        ((1, 512, 512), (1, 256, 256), "/", (1, 1024, 4096)),
        ((1, 512, 512), (1, 256, 256), ".", (1, 4096, 4096)),
        ((16, 512, 512), (1, 512, 512), "/", (16, 4096, 4096)),
        ((16, 512, 512), (1, 512, 512), ".", (64, 4096, 4096)),
        ((1, 512, 512), (1, 512, 512), "/", (1, 1024, 4096)),
        ((1, 512, 512), (1, 512, 512), ".", (1, 512, 4096)),
        ((1, 512, 512), (1, 4096, 4096), "/", (1, 4096, 4096)),
        ((1, 768, 512), (1, 256, 512), "/", (1, 768, 4096)),
        ((1, 48, 512), (1, 32, 512), "/", (1, 960, 4096)),
    ],
)
def test_chunks_that_wait_for_each_other(old, new, separator, groups):
    assert plan((64, 4096, 4096), old, new, separator=separator).groups == groups

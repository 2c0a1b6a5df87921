"""Which pixels are worked on, and which are written, at a time."""

import math

import pytest

from ozx.ome.relayout.rechunking import plan_rechunking
from ozx.zarr.array import ChunkKeys
from ozx.zarr.layout import ArrayLayout, IndexFormat

MIB = 1 << 20


def layout(shape, chunks, *, shards=None, separator="/", size=1):
    per_shard = None if shards is None else tuple(a // b for a, b in zip(shards, chunks, strict=True))
    levels = () if shards is None else ((per_shard, IndexFormat()),)
    keys = ChunkKeys("default", separator)
    return ArrayLayout(shape, chunks, levels, (), keys, size, (None,) * len(shape))


def plan(shape, old, new, **options):
    return plan_rechunking(layout(shape, old), layout(shape, new, **options))


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

"""Chunks and shards of a new array."""

import math

import numpy as np
import pytest

from ozx.errors import UnsupportedError, UsageError
from ozx.hierarchy.ome.model import Axis
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.hierarchy.zarr.layout import parse_layout
from ozx.images.writing.array_layout import NewArray, lay_out

TYPES = {"t": "time", "c": "channel"}


def layout(names, shape, dtype="uint16", read_alignment=None, **asked):
    axes = tuple(Axis(name, TYPES.get(name, "space"), None) for name in names)
    array = NewArray(shape, np.dtype(dtype), axes, read_alignment or (1,) * len(shape))
    return parse_layout(lay_out({"0": array}, LayoutChoice.parse(**asked))["0"], "0")


@pytest.mark.parametrize(("names", "shape", "chunks", "shards"), [
    ("yx", (20_000, 20_000), (512, 512), (4096, 4096)),
    ("yx", (512, 300), (512, 300), None),
    ("yx", (513, 300), (512, 300), (1024, 300)),
    ("cyx", (3, 300, 200), (1, 300, 200), (1, 300, 200)),
    ("tyx", (1000, 100, 100), (1, 100, 100), (1000, 100, 100)),
    ("zyx", (100, 2048, 2048), (1, 512, 512), (4, 2048, 2048)),
    ("tczyx", (4, 2, 32, 1024, 1024), (1, 1, 1, 512, 512), (1, 1, 16, 1024, 1024)),
    ("tczyx", (9, 2, 3, 256, 256), (1, 1, 1, 256, 256), (9, 1, 3, 256, 256)),
])  # fmt: skip
def test_planes_in_shards_of_32_mib(names, shape, chunks, shards):
    found = layout(names, shape)
    assert (found.chunks, found.shards) == (chunks, shards)
    assert shards is None or math.prod(min(a, b) for a, b in zip(shards, shape, strict=True)) * 2 <= 32 << 20


@pytest.mark.parametrize(
    ("read_alignment", "chunk"), [(240, 480), (256, 512), (1024, 512), (768, 768), (300, 300), (7, 512)]
)
def test_chunks_of_whole_tiles(read_alignment, chunk):
    assert layout("yx", (9000, 9000), read_alignment=(read_alignment, read_alignment)).chunks == (chunk, chunk)


def test_shards_of_whole_rows_where_these_are_decoded_together():
    assert layout("yx", (50_000, 50_000), read_alignment=(8, 50_000)).shards == (512, 32_768)
    assert layout("yx", (50_000, 5000), read_alignment=(8, 5000)).shards == (2048, 5120)


def test_what_is_asked_for():
    assert layout("yx", (900, 900), chunks="y=100").chunks == (100, 512)
    assert layout("yx", (900, 900), chunks="y=100", shards="y=200").shards == (200, 512)
    assert layout("yx", (900, 900), shards="none").shards is None
    assert layout("cyx", (3, 900, 900), shards="auto") == layout("cyx", (3, 900, 900), shards="keep")
    assert layout("yx", (900, 900), codec="zstd:7").codecs[1]["configuration"]["level"] == 7
    assert layout("yx", (900, 900)).codecs[1]["configuration"] == {
        "typesize": 2, "cname": "zstd", "clevel": 1, "shuffle": "shuffle", "blocksize": 0
    }  # fmt: skip
    assert layout("yx", (900, 900), "uint8").codecs[0] == {"name": "bytes"}
    with pytest.raises(UsageError, match="unknown axis 'z'"):
        layout("yx", (900, 900), chunks="z=3")


def test_types_that_zarr_does_not_have():
    for dtype in ("longdouble", "clongdouble", "S4", "datetime64[s]", "O"):
        with pytest.raises(UnsupportedError, match="of at most 64 bits"):
            layout("yx", (9, 9), dtype)

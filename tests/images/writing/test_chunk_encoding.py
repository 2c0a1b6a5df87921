"""Encoded chunks, decoded by zarr."""

import numpy as np
import pytest

from ozx.hierarchy.ome.model import Axis
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.images.writing.array_layout import NewArray, lay_out
from ozx.images.writing.chunk_encoding import new_chunk_codec
from ozx.images.writing.pyramid import LevelGeometry, LevelWork, StageWork, run_stage

AXES = (Axis("y", "space", None), Axis("x", "space", None))


def document(dtype, codec, shape=(40, 30)):
    array = NewArray(shape, np.dtype(dtype), AXES, (1, 1))
    return lay_out({"": array}, LayoutChoice.parse(codec=codec))[""]


def test_zeros_are_left_out_and_minus_zero_is_not():
    encode = new_chunk_codec(document("float32", "none", (2, 2))).encode_unless_filled
    assert encode(np.zeros((2, 2), "f4"), 0) is None
    assert encode(np.zeros((1, 2), "f4"), 0) is None
    assert encode(np.array([[0, 0], [0, -0.0]], "f4"), 0) is not None
    assert encode(np.array([[0, 0], [0, 1]], "f4"), 0) is not None


@pytest.mark.parametrize(("codec", "kind"), [("none", memoryview), ("zstd:1", bytes), ("blosc-zstd:1", bytes)])
def test_only_chunks_without_compressor_are_in_allocated_memory(codec, kind):
    # A stream uses the memory of a chunk again that is a view, and would write into a compressed chunk.
    made = new_chunk_codec(document("uint16", codec))
    level = LevelWork(LevelGeometry((40, 30), made.shape, made.shape, ()), made, lambda size: np.empty(size, np.uint8))
    chunks, _ = run_stage(np.ones((40, 30), "uint16"), (0, 0), StageWork(0, (level,), None, "mean"))
    assert [type(chunk.data) for chunk in chunks] == [kind]

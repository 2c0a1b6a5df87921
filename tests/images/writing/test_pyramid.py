"""The levels of a pyramid and their encoded chunks."""

from functools import partial

import numpy as np
import pytest

from ozx.hierarchy.ome.model import Axis
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.hierarchy.zarr.layout import parse_layout
from ozx.images.writing.array_layout import NewArray, lay_out
from ozx.images.writing.new_image import PyramidLevel
from ozx.images.writing.pyramid import Stage, new_level, run_stage

AXES = (Axis("y", "space", None), Axis("x", "space", None))


def level(dtype, codec, shape=(40, 30)):
    array = NewArray(shape, np.dtype(dtype), AXES, (1, 1))
    document = lay_out({"": array}, LayoutChoice.parse(codec=codec))[""]
    memory = partial(np.empty, dtype=np.uint8)
    return new_level(PyramidLevel(shape, (1, 1), (0, 0)), parse_layout(document, ""), document, memory)


def test_zeros_are_left_out_and_minus_zero_is_not():
    encode = level("float32", "none", (2, 2)).codec.encode_unless_filled
    assert encode(np.zeros((2, 2), "f4"), 0) is None
    assert encode(np.zeros((1, 2), "f4"), 0) is None
    assert encode(np.array([[0, 0], [0, -0.0]], "f4"), 0) is not None
    assert encode(np.array([[0, 0], [0, 1]], "f4"), 0) is not None


@pytest.mark.parametrize("length", [30, 300])
@pytest.mark.parametrize(("codec", "kind"), [("none", memoryview), ("zstd:1", bytes), ("blosc-zstd:1", bytes)])
def test_only_large_chunks_without_compressor_are_in_allocated_memory(codec, kind, length):
    # A stream uses the memory of a chunk again that is a view, and would write into a compressed chunk.
    work = Stage(0, (400, length), (level("uint16", codec, (400, length)),), None, "mean")
    chunks, _ = run_stage(np.ones((400, length), "uint16"), (0, 0), work)
    assert [type(data) for _, _, data in chunks] == [kind if length == 300 else bytes]

"""Encoded chunks, decoded by zarr."""

import numpy as np

from ozx.hierarchy.ome.model import Axis
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.images.writing.array_layout import NewArray, lay_out
from ozx.images.writing.chunk_encoding import ChunkEncoder

AXES = (Axis("y", "space", None), Axis("x", "space", None))


def document(dtype, codec, shape=(40, 30)):
    array = NewArray(shape, np.dtype(dtype), AXES, (1, 1))
    return lay_out({"": array}, LayoutChoice.parse(codec=codec))[""]


def test_zeros_are_left_out_and_minus_zero_is_not():
    encoder = ChunkEncoder(document("float32", "none", (2, 2)))
    assert encoder.encode(np.zeros((2, 2), "f4")) is None
    assert encoder.encode(np.zeros((1, 2), "f4")) is None
    assert encoder.encode(np.array([[0, 0], [0, -0.0]], "f4")) is not None
    assert encoder.encode(np.array([[0, 0], [0, 1]], "f4")) is not None

"""Encoded chunks, decoded by zarr."""

import numpy as np

from ozx.hierarchy.ome.model import Axis
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.images.writing.array_layout import NewArray, lay_out
from ozx.images.writing.chunk_encoding import new_chunk_codec

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

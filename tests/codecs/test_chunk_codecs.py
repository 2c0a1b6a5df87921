"""The codecs of an array as functions: zarr-python decodes what they encode, and they decode what it encodes."""

import numpy as np
import pytest

from ozx.codecs.chunk_codecs import ChunkCodec


def test_more_data_than_a_chunk_can_have() -> None:
    codec = ChunkCodec((2,), np.dtype("u1"), (0,))
    with pytest.raises(ValueError, match="expected at most"):
        codec.decode_bounded(memoryview(bytes(4 << 20)))

"""Chunks are decoded into memory of exactly one length, whatever the data claim."""

import bz2
import gzip

import numcodecs
import numpy as np
import pytest

from ozx.codecs.bounded import OversizeError
from ozx.codecs.chunk_codecs import ChunkCodec, decompress_into

VALUE = bytes(range(200)) * 50
ENCODED = {
    "zstd": numcodecs.Zstd().encode(VALUE),
    "blosc": bytes(numcodecs.Blosc().encode(VALUE)),
    "gzip": gzip.compress(VALUE),
    "bz2": bz2.compress(VALUE),
}


@pytest.mark.parametrize("name", ENCODED)
def test_more_than_the_memory_is_an_error(name):
    out = np.zeros(len(VALUE), np.uint8)
    with pytest.raises(OversizeError):
        decompress_into({"id": name}, memoryview(ENCODED[name]), out[:100])
    assert not out[100:].any()


@pytest.mark.parametrize("name", ENCODED)
def test_less_than_the_memory_is_an_error(name):
    with pytest.raises(ValueError, match="expected 10,001 bytes; the data decode to 10,000"):
        decompress_into({"id": name}, memoryview(ENCODED[name]), np.zeros(len(VALUE) + 1, np.uint8))


def test_more_data_than_a_chunk_can_have():
    codec = ChunkCodec((2,), np.dtype("u1"), (0,))
    with pytest.raises(ValueError, match="expected at most"):
        codec.decode_bounded(memoryview(bytes(4 << 20)))

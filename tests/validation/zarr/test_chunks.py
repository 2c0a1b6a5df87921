"""Limits of decoding, and inner chunks of the same bytes."""

import pytest

from ozx.codecs.pixel_codec import PixelCodec
from ozx.errors import FormatError, UnsupportedError
from ozx.flow.chunks.block_transcoding import UndecodableError
from ozx.validation.zarr.chunks import iter_inner_chunks, open_decoder
from ozx.zarr.layout import build_index, parse_layout

INDEX = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]


def document(*, shape=(8,), chunks=(4,), inner=None, data_type="uint8"):
    codecs = [{"name": "bytes"}]
    if inner is not None:
        configuration = {"chunk_shape": list(inner), "codecs": codecs, "index_codecs": INDEX}
        codecs = [{"name": "sharding_indexed", "configuration": configuration}]
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": codecs,
    }


def decoder(**options):
    described = document(**options)
    return open_decoder(described, parse_layout(described, "0"), "0")


def test_memory_that_ran_out_is_an_error_of_the_chunk(monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(PixelCodec, "decode", fail)
    with pytest.raises(UndecodableError) as caught:
        decoder()({(0,): b"abcd"})
    assert caught.value.args == ((0,), "memory ran out while decoding it to 4 bytes")


def test_chunks_beyond_reason_are_not_decoded():
    with pytest.raises(UnsupportedError, match="chunks of at most 2 GiB"):
        decoder(shape=(1 << 40,), chunks=(1 << 40,))


def inner_of(data):
    return list(iter_inner_chunks(data, (1,), parse_layout(document(inner=(2,)), "0"), "0/c/1"))


def test_inner_chunks_may_be_the_same_bytes_but_not_share_some():
    data = b"abcd"
    assert inner_of(data + build_index([0, 0], [2, 2])) == [((2,), b"ab"), ((3,), b"ab")]
    with pytest.raises(FormatError, match="one begins at byte 1, before the previous one ends at 2") as caught:
        inner_of(data + build_index([0, 1], [2, 2]))
    assert caught.value.rule == "zarr/shard-index"

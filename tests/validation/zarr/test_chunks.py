"""Limits of decoding, and inner chunks of the same bytes."""

import pytest
from cases.archive_builder import array_document, sharding

from ozx.codecs.pixel_codec import PixelCodec
from ozx.errors import FormatError, UnsupportedError
from ozx.flow.chunks.block_transcoding import UndecodableError
from ozx.validation.zarr.chunks import iter_inner_chunks, open_decoder
from ozx.zarr.layout import build_index, parse_layout


def decoder(length):
    described = array_document([length], [length])
    return open_decoder(described, parse_layout(described, "0"), "0")


def test_memory_that_ran_out_is_an_error_of_the_chunk(monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(PixelCodec, "decode", fail)
    with pytest.raises(UndecodableError) as caught:
        decoder(4)({(0,): b"abcd"})
    assert caught.value.args == ((0,), "memory ran out while decoding it to 4 bytes")


def test_chunks_beyond_reason_are_not_decoded():
    with pytest.raises(UnsupportedError, match="chunks of at most 2 GiB"):
        decoder(1 << 40)


def inner_of(data):
    layout = parse_layout(array_document([8], [4], [sharding([2])]), "0")
    return list(iter_inner_chunks(data, (1,), layout, "0/c/1"))


def test_inner_chunks_may_be_the_same_bytes_but_not_share_some():
    data = b"abcd"
    assert inner_of(data + build_index([0, 0], [2, 2])) == [((2,), b"ab"), ((3,), b"ab")]
    with pytest.raises(FormatError, match="one begins at byte 1, before the previous one ends at 2") as caught:
        inner_of(data + build_index([0, 1], [2, 2]))
    assert caught.value.rule == "zarr/shard-index"

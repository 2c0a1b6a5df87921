"""Decompression within a limit: equal to the compressors' own within it, an error beyond it, no memory for claims."""

import bz2
import gzip
import lzma
import zlib

import numcodecs
import pytest
from posix_only import resource

from ozx.codecs.bounded import OversizeError, decompress

CELLS = bytes(range(256)) * 64
CODECS = {
    "blosc": numcodecs.Blosc(cname="lz4"),
    "bz2": numcodecs.BZ2(),
    "gzip": numcodecs.GZip(),
    "lz4": numcodecs.LZ4(),
    "lzma": numcodecs.LZMA(),
    "zlib": numcodecs.Zlib(),
    "zstd": numcodecs.Zstd(),
}


def zstd_without_size(length: int, *, claim: int | None = None, blocks: int = 1) -> bytes:
    """A frame of RLE blocks (RFC 8878, 3.1.1.2.2), `length` zeros each; with `claim` as its content size."""
    head = bytes([0x00, 0x58]) if claim is None else bytes([0xC0, 0x58]) + claim.to_bytes(8, "little")
    block = (length << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    last = (length << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return b"\x28\xb5\x2f\xfd" + head + block * (blocks - 1) + last


@pytest.mark.parametrize("name", sorted(CODECS))
@pytest.mark.parametrize("keep", [0, 3, 10, 20, -5])
def test_what_is_cut_off_is_a_value_error(name, keep):
    with pytest.raises(ValueError, match="damaged"):
        decompress({"id": name}, CODECS[name].encode(CELLS)[:keep], len(CELLS))


@pytest.mark.parametrize("name", ["gzip", "zlib", "zstd", "bz2", "lzma"])
def test_a_wrong_checksum_is_a_value_error(name):
    codec = numcodecs.Zstd(checksum=True) if name == "zstd" else CODECS[name]
    data = bytearray(codec.encode(CELLS))
    data[{"bz2": -30, "lzma": -30, "gzip": -6}.get(name, -1)] ^= 0x55
    with pytest.raises(ValueError, match=f"damaged {name} data"):
        decompress({"id": name}, bytes(data), len(CELLS))


def test_two_zstd_frames_count_together():
    data = CODECS["zstd"].encode(CELLS[:99]) + CODECS["zstd"].encode(CELLS[99:])
    assert decompress({"id": "zstd"}, data, len(CELLS)) == CELLS
    with pytest.raises(OversizeError):
        decompress({"id": "zstd"}, data, len(CELLS) - 1)


def test_what_follows_is_treated_as_the_compressors_own_readers_do():
    assert decompress({"id": "gzip"}, gzip.compress(CELLS) + bytes(99), len(CELLS)) == CELLS
    with pytest.raises(ValueError, match="damaged gzip"):
        decompress({"id": "gzip"}, gzip.compress(CELLS) + b"rest", len(CELLS))
    for name, encode in (("bz2", bz2.compress), ("lzma", lzma.compress), ("zlib", zlib.compress)):
        assert decompress({"id": name}, encode(CELLS) + b"rest" * 4, len(CELLS)) == CELLS


def test_raw_lzma_takes_its_filters_from_the_configuration():
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 16}]
    config = {"id": "lzma", "format": lzma.FORMAT_RAW, "filters": filters}
    data = lzma.compress(CELLS, lzma.FORMAT_RAW, filters=filters)
    assert decompress(config, data, len(CELLS)) == CELLS
    filters[0]["dict_size"] = 1 << 30
    with pytest.raises(ValueError, match="a dictionary of at most"):
        decompress(config, data, len(CELLS))


@pytest.mark.posix("memory is measured by getrusage")
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("zstd", zstd_without_size(1 << 17, claim=40 << 30)),
        ("zstd", zstd_without_size(1 << 17, blocks=40_000)),
        ("zstd", zstd_without_size(1 << 17, blocks=20_000) * 2),
        (
            "blosc",
            b"\x02\x01\x13\x01"
            + b"\xff" * 4
            + (1 << 18).to_bytes(4, "little")
            + (99).to_bytes(4, "little")
            + bytes(83),
        ),
        ("lz4", b"\xff\xff\xff\x7f" + bytes(99)),
        ("gzip", gzip.compress(bytes(64 << 20), 1)),
        ("zlib", zlib.compress(bytes(64 << 20), 1)),
        ("bz2", bz2.compress(bytes(64 << 20))),
        ("lzma", lzma.compress(bytes(64 << 20), preset=0)),
    ],
    ids=["zstd claim", "zstd", "zstd frames", "blosc", "lz4", "gzip", "zlib", "bz2", "lzma"],
)
def test_a_bomb_takes_no_memory(name, data):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(OversizeError):
        decompress({"id": name}, data, 1 << 20)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10


def test_a_blosc_buffer_that_claims_more_bytes_than_it_has_is_not_read_past_its_end():
    data = CODECS["blosc"].encode(CELLS)
    with pytest.raises(ValueError, match="declares"):
        decompress({"id": "blosc"}, data[:-1], len(CELLS))


def test_empty_streams_in_their_thousands_end_soon():
    with pytest.raises(ValueError, match="streams"):
        decompress({"id": "gzip"}, gzip.compress(b"") * 100_000, 1 << 10)

"""zlib's streams in gzip's frame, judged by Python's gzip, which shares no code with the module."""

import gzip
import zlib

import pytest

from ozx.errors import FormatError, UnsupportedError
from ozx.flow.chunks import stored_chunks
from ozx.flow.chunks.stored_chunks import fast_zlib, zlib_to_gzip

DATA = bytes(range(256)) * 1000


@pytest.fixture(params=[zlib, fast_zlib], ids=["zlib", "fastest"], autouse=True)
def decoder(request, monkeypatch):
    monkeypatch.setattr(stored_chunks, "fast_zlib", request.param)


def test_cut_off_anywhere():
    stream = zlib.compress(DATA[:500])
    for length in range(len(stream)):
        with pytest.raises(FormatError, match="zlib"):
            zlib_to_gzip(stream[:length])


@pytest.mark.parametrize("offset", [0, 1, 100, -1, -4])
def test_damage(offset):
    stream = bytearray(zlib.compress(DATA))
    stream[offset] ^= 0x55
    with pytest.raises(FormatError, match="zlib"):
        zlib_to_gzip(bytes(stream))


def test_other_streams():
    for data in (gzip.compress(DATA), b"\x78\x9d" + bytes(9), b"\x88\x1c" + bytes(9)):
        with pytest.raises(FormatError, match="begins with"):
            zlib_to_gzip(data)


def test_a_preset_dictionary_is_refused():
    packer = zlib.compressobj(zdict=b"nucleus")
    with pytest.raises(UnsupportedError, match="dictionary"):
        zlib_to_gzip(packer.compress(b"nucleus") + packer.flush())

"""zlib's streams in gzip's frame, judged by Python's gzip, which shares no code with the module."""

import gzip
import zlib

import numcodecs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.zarr_v2 import zlib_to_gzip as reframing
from ozx.hierarchy.zarr_v2.zlib_to_gzip import fast_zlib, zlib_to_gzip

DATA = bytes(range(256)) * 1000


@pytest.fixture(params=[zlib, fast_zlib], ids=["zlib", "fastest"], autouse=True)
def decoder(request, monkeypatch):
    monkeypatch.setattr(reframing, "fast_zlib", request.param)


@pytest.mark.parametrize("level", [0, 1, 6, 9])
@pytest.mark.parametrize("window", [9, 15])
def test_the_deflate_stream_is_kept(level, window):
    for data in (b"", b"a", DATA):
        packer = zlib.compressobj(level, wbits=window)
        stream = packer.compress(data) + packer.flush()
        member = zlib_to_gzip(stream)
        assert gzip.decompress(member) == data
        assert numcodecs.GZip().decode(member) == data
        assert member[10:-8] == stream[2:-4]
        assert member[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
        assert zlib_to_gzip(memoryview(stream)) == member


@given(data=st.binary(max_size=300), rest=st.binary(max_size=10), size=st.integers(1, 20))
def test_in_slices_of_any_size_and_with_anything_behind(data, rest, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reframing, "_SLICE", size)
        member = zlib_to_gzip(zlib.compress(data) + rest)
    assert gzip.decompress(member) == data


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

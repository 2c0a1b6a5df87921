"""CRC-32 and its combination, against the standard library's and published values."""

import importlib.util
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozx.archive import crc32 as module
from ozx.archive.crc32 import crc32, crc32_combine


@pytest.mark.parametrize(("data", "checksum"), [(b"", 0), (b"123456789", 0xCBF43926), (bytes(32), 0x190A55AD)])
def test_known_values(data, checksum):
    assert crc32(data) == checksum


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_pieces_and_whole_agree(first, second):
    whole = zlib.crc32(first + second)
    assert crc32(second, crc32(first)) == whole
    assert crc32_combine(crc32(first), crc32(second), len(second)) == whole


@pytest.mark.parametrize("length", [0, 1, 63, 4096, (1 << 20) + 1])
def test_long_pieces_are_combined(length):
    second = b"z" * length
    assert crc32_combine(crc32(b"first"), crc32(second), length) == zlib.crc32(b"first" + second)


def test_pieces_longer_than_4_gib_are_combined():
    # The CRC-32 of 2**33 + 2**20 zero bytes, once from halves and once byte block by byte block of the same number.
    length, checksum = 1 << 20, crc32(bytes(1 << 20))
    tail = checksum
    for _ in range(13):
        checksum, length = crc32_combine(checksum, checksum, length), 2 * length
    assert length == 1 << 33
    assert crc32_combine(checksum, tail, 1 << 20) == crc32_combine(tail, checksum, length)


def test_zlib_serves_where_isal_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    spec = importlib.util.spec_from_file_location("crc32_without_isal", module.__file__)
    without = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(without)
    assert without.crc32 is zlib.crc32
    assert without.crc32(b"microscope") == crc32(b"microscope")

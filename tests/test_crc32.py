"""CRC-32 and its combination, against the standard library's and published values."""

import importlib.util
import sys
import zlib

from ozx import crc32 as module
from ozx.crc32 import crc32, crc32_combine


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

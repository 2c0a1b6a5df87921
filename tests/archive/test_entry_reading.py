"""One entry's value by its central directory header: what is checked on the way."""

import struct

import pytest
from packed import zip_values

from ozx.archive.byte_source import MemorySource
from ozx.archive.directory import iter_headers, read_end
from ozx.archive.entry_reading import iter_value
from ozx.errors import FormatError, UnsupportedError


def first(data):
    source = MemorySource(data)
    end = read_end(source)
    return source, next(iter_headers(source, end)), end


def test_encrypted_and_unknown_entries_are_not_handled(tmp_path):
    data = zip_values(tmp_path / "a.zip", {"key": b"value"}).read_bytes()
    central = data.index(b"PK\1\2")
    for at, value, rule in ((8, 1, "zip/encrypted"), (10, 93, "zip/method")):
        changed = bytearray(data)
        struct.pack_into("<H", changed, central + at, value)
        struct.pack_into("<H", changed, at - 2, value)
        source, header, end = first(bytes(changed))
        with pytest.raises(UnsupportedError) as caught:
            list(iter_value(source, header, end.directory_offset))
        assert caught.value.rule == rule


def test_an_entry_larger_than_the_file_is_refused_before_reading(tmp_path):
    data = bytearray(zip_values(tmp_path / "a.zip", {"key": b"value"}).read_bytes())
    struct.pack_into("<2I", data, data.index(b"PK\1\2") + 20, 1 << 30, 1 << 30)
    source, header, end = first(bytes(data))
    with pytest.raises(FormatError, match="declares 1,073,741,824 bytes") as caught:
        list(iter_value(source, header, end.directory_offset))
    assert caught.value.rule == "zip/bounds"

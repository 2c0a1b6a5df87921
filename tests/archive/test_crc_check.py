"""A damaged value is refused once all of it is read."""

import pytest
from packed import zip_values

from ozx.archive.byte_source import MemorySource
from ozx.archive.directory import iter_headers, read_end
from ozx.archive.entry_reading import iter_value
from ozx.errors import FormatError


def test_a_wrong_checksum_is_refused_after_the_last_block(tmp_path):
    data = bytearray(zip_values(tmp_path / "a.zip", {"key": b"x" * 50}).read_bytes())
    data[40] ^= 1
    source = MemorySource(bytes(data))
    end = read_end(source)
    blocks = iter_value(source, next(iter_headers(source, end)), end.directory_offset)
    assert len(next(blocks)) == 50
    with pytest.raises(FormatError, match="expected CRC-32") as caught:
        next(blocks)
    assert caught.value.rule == "zip/crc"

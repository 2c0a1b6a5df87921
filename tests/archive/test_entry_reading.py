"""One entry's value by its central directory header: what is checked on the way."""

import struct
import zipfile

import pytest
from hierarchies import FIXTURES, tree
from packed import pack_tree, write_archive, zip_values

from ozx.archive.byte_source import FileSource, MemorySource
from ozx.archive.directory import iter_headers, read_end
from ozx.archive.entry_reading import ReadAhead, find_data, iter_value
from ozx.archive.names.decoding import entry_name
from ozx.errors import FormatError, UnsupportedError

VALUES = {"zarr.json": b'{"a": 1}' * 40, "0/c/0": bytes(range(256)) * 8, "empty": b"", "µ/é": b"name"}


def read_all(source):
    end = read_end(source)
    return {
        entry_name(header): b"".join(iter_value(source, header, end.directory_offset))
        for header in iter_headers(source, end)
    }


def first(data):
    source = MemorySource(data)
    end = read_end(source)
    return source, next(iter_headers(source, end)), end


def test_values_are_those_packed(tmp_path):
    path = pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "a.ozx")
    assert read_all(FileSource(str(path))) == tree(FIXTURES / "image.ome.zarr")


@pytest.mark.parametrize("deflated", [False, True])
@pytest.mark.parametrize("prefix", [b"", b"#!/bin/sh\n"])
def test_values_of_other_writers(tmp_path, deflated, prefix):
    data = prefix + zip_values(tmp_path / "a.zip", VALUES, deflated=deflated).read_bytes()
    assert read_all(MemorySource(data)) == VALUES


def test_values_behind_data_descriptors(tmp_path):
    class Pipe:
        def __init__(self, file):
            self.write, self.flush = file.write, file.flush

    with (tmp_path / "a.zip").open("wb") as file, zipfile.ZipFile(Pipe(file), "w") as archive:
        for key, value in VALUES.items():
            archive.writestr(key, value)
    assert read_all(FileSource(str(tmp_path / "a.zip"))) == VALUES


def test_offsets_are_where_the_bytes_are(tmp_path):
    data = write_archive(tmp_path / "a.ozx", VALUES).read_bytes()
    source = MemorySource(data)
    end = read_end(source)
    for header in iter_headers(source, end):
        offset, value = find_data(source, header, end.directory_offset), VALUES[entry_name(header)]
        assert data[offset : offset + len(value)] == value


# Offsets in a local file header (APPNOTE 4.3.7), and a value each that contradicts the central directory.
@pytest.mark.parametrize(
    ("offset", "value", "rule", "word"),
    [
        (0, b"XX", "zip/local-header", "signature"),
        (6, b"\x01", "zip/local-header", "encrypted"),
        (8, b"\x08", "zip/local-header", "deflated"),
        (14, b"\1\2\3\4", "zip/local-header", "CRC-32"),
        (18, b"\1\0\0\0", "zip/local-header", "stored size"),
        (22, b"\1\0\0\0", "zip/local-header", "original size"),
        (30, b"Z", "zip/local-header", "names it"),
        (28, b"\xff\xff", "zip/overlap", "extends beyond"),
    ],
)
def test_a_local_header_that_disagrees_is_refused(tmp_path, offset, value, rule, word):
    data = bytearray(
        zip_values(tmp_path / "a.zip", {"zarr.json": bytes(100_000 if word == "extends beyond" else 9)}).read_bytes()
    )
    data[offset : offset + len(value)] = value
    source, header, end = first(bytes(data))
    with pytest.raises(FormatError, match=word) as caught:
        list(iter_value(source, header, end.directory_offset))
    assert caught.value.rule == rule


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


def test_reading_ahead_gives_the_same_bytes_in_fewer_reads():
    data = bytes(range(256)) * 40
    reads = []

    class Counting(MemorySource):
        def read_at(self, offset, length):
            reads.append((offset, length))
            return super().read_at(offset, length)

    ahead = ReadAhead(Counting(data), block=1000)
    for offset in range(0, len(data), 100):
        assert ahead.read_at(offset, 100) == data[offset : offset + 100]
    assert len(reads) == 12
    assert ahead.read_at(5, 7000) == data[5:7005]
    assert ahead.read_at(len(data) - 3, 100) == data[-3:]
    assert ahead.read_at(len(data) + 3, 100) == b""
    assert ahead.size() == len(data)


@pytest.mark.parametrize(
    ("key", "hint"),
    [("0/c/0", "saves the undamaged parts."), ("zarr.json", "shows how to extract the other values.")],
)
def test_a_wrong_checksum_is_refused_after_the_last_block(tmp_path, key, hint):
    """Without the root's metadata, `ozx recover` refuses the file."""
    data = bytearray(zip_values(tmp_path / "a.zip", {key: b"x" * 50}).read_bytes())
    data[50] ^= 1
    source = MemorySource(bytes(data))
    end = read_end(source)
    blocks = iter_value(source, next(iter_headers(source, end)), end.directory_offset)
    assert len(next(blocks)) == 50
    with pytest.raises(FormatError, match="expected CRC-32") as caught:
        next(blocks)
    assert caught.value.rule == "zip/crc"
    assert caught.value.hint == f"Copy or download the file again; `ozx recover FILE OUT.ozx` {hint}"

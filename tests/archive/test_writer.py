"""What is written, byte by byte after APPNOTE's tables, and read back by readers of other hands."""

import os
import struct
import zipfile
from io import BytesIO

import pytest

from ozx.archive.directory import read_end
from ozx.archive.reader import ArchiveReader
from ozx.archive.writer import LOCAL_OVERHEAD, ArchiveWriter, CentralDirectory
from ozx.errors import FormatError, UsageError
from ozx.places.byte_source import MemorySource

EDGE = 0xFFFFFFFF


@pytest.fixture
def descriptor(tmp_path):
    descriptor = os.open(tmp_path / "new.ozx", os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0))
    yield descriptor
    os.close(descriptor)


def content(descriptor):
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read()


def write(descriptor, values, comment=b""):
    writer = ArchiveWriter(descriptor)
    for name, value in values.items():
        writer.add(name, value)
    size = writer.finish(comment)
    data = content(descriptor)
    assert len(data) == size
    return data


def by_ours(data):
    reader = ArchiveReader(MemorySource(data))
    reader.check()
    return {name: reader.read(index) for index, name in enumerate(reader.columns.names())}


def by_zipfile(data):
    with zipfile.ZipFile(BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def expected_local(name, flags, checksum, size):
    """4.3.7: the ZIP64 field (4.5.3) first, both sizes in it, whatever their size."""
    extra = struct.pack("<HHQQ", 1, 16, size, size)
    fixed = (0x04034B50, 45, flags, 0, 0, 33, checksum, EDGE, EDGE, len(name), len(extra))
    return struct.pack("<IHHHHHIIIHH", *fixed) + name + extra


def expected_central(name, flags, checksum, size, offset, extra=b""):
    """4.3.12: Unix, version 4.5, 1980-01-01 00:00, a regular file that everybody may read."""
    fixed = (0x02014B50, 3 * 256 + 45, 45, flags, 0, 0, 33, checksum, size, size, len(name), len(extra), 0, 0, 0)
    return struct.pack("<IHHHHHHIIIHHHHHII", *fixed, 0o100644 << 16, offset) + name + extra


def expected_end(entries, size, offset, comment=b"", *, short=None):
    """4.3.14 to 4.3.16; `short` are the three values of the classic record where they differ."""
    wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 813, 45, 0, 0, entries, entries, size, offset)
    locator = struct.pack("<IIQI", 0x07064B50, 0, offset + size, 1)
    short_entries, short_size, short_offset = short or (entries, size, offset)
    classic = (0x06054B50, 0, 0, short_entries, short_entries, short_size, short_offset, len(comment))
    return wide + locator + struct.pack("<IHHHHIIH", *classic) + comment


@pytest.mark.parametrize(
    ("size", "offset", "wide", "short"),
    [
        (EDGE - 1, EDGE - 1, [], (EDGE - 1, EDGE - 1)),
        (EDGE, EDGE - 1, [EDGE, EDGE], (EDGE, EDGE - 1)),
        (EDGE + 1, 0, [EDGE + 1, EDGE + 1], (EDGE, 0)),
        (EDGE - 1, EDGE, [EDGE], (EDGE - 1, EDGE)),
        (0, EDGE + 1, [EDGE + 1], (0, EDGE)),
        (EDGE, EDGE, [EDGE, EDGE, EDGE], (EDGE, EDGE)),
        (1 << 63, 1 << 62, [1 << 63, 1 << 63, 1 << 62], (EDGE, EDGE)),
    ],
)
def test_sentinels_stand_in_the_directory_only_where_they_must(size, offset, wide, short):
    builder = CentralDirectory()
    builder.add(b"a", 0, 7, size, offset)
    extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    directory = expected_central(b"a", 0, 7, *short, extra)
    assert builder.finish(offset, b"")[: len(directory)] == directory


@pytest.mark.ci
@pytest.mark.parametrize("entries", [65_534, 65_535, 65_536])
def test_the_number_of_entries_where_16_bits_end(entries):
    builder = CentralDirectory()
    for number in range(entries):
        builder.add(b"%05d" % number, 0, 0, 0, 55 * number)
    assert builder.entries == entries
    data = bytes(builder.finish(55 * entries, b""))
    short = (min(entries, 0xFFFF), 51 * entries, 55 * entries)
    assert data[51 * entries :] == expected_end(entries, 51 * entries, 55 * entries, short=short)
    # As a file: the directory where it says it is, after nothing.
    body = b"".join(expected_local(b"%05d" % number, 0, 0, 0) for number in range(entries))
    reader = ArchiveReader(MemorySource(body + data))
    reader.check()
    assert len(reader) == entries
    assert reader.read(entries - 1) == b""
    with zipfile.ZipFile(BytesIO(body + data)) as archive:
        assert len(archive.namelist()) == entries


@pytest.mark.parametrize("header_offset", [EDGE - 1, EDGE, EDGE + 1])
def test_entries_on_both_sides_of_4_gib_are_read_from_a_sparse_file(descriptor, tmp_path, header_offset):
    writer = ArchiveWriter(descriptor)
    writer.add("before", b"first")
    writer.flush()
    writer.skip_to(header_offset)
    writer.add("behind", b"second")
    assert writer.offset == header_offset + LOCAL_OVERHEAD + 6 + 6
    size = writer.finish(b"note")
    assert os.fstat(descriptor).st_size == size
    path = str(tmp_path / "new.ozx")
    reader = ArchiveReader(path)
    reader.check()
    assert reader.end.directory_offset == header_offset + LOCAL_OVERHEAD + 12
    assert [reader.read(index) for index in range(2)] == [b"first", b"second"]
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("behind").header_offset == header_offset
        assert archive.read("behind") == b"second"
        assert archive.comment == b"note"


def test_the_longest_comment_fits_and_a_longer_one_is_refused(descriptor):
    comment = b"c" * 65_535
    data = write(descriptor, {"a": b"b"}, comment)
    assert read_end(MemorySource(data)).comment == comment
    with pytest.raises(UsageError, match="at most 65,535 bytes; got 65,536"):
        CentralDirectory().finish(0, comment + b"c")


@pytest.mark.parametrize("way", ["whole", "blocks"])
def test_a_name_that_is_too_long_leaves_the_archive_as_it_was(descriptor, way):
    writer = ArchiveWriter(descriptor)
    writer.add("x" * 65_535, b"longest")
    with pytest.raises(FormatError, match="longer than 65,535 bytes") as caught:
        if way == "whole":
            writer.add("x" * 65_536, b"value")
        else:
            writer.add_blocks("x" * 65_536, 5, [b"value"])
    assert caught.value.rule == "zip/name"
    writer.finish()
    assert by_ours(content(descriptor)) == by_zipfile(content(descriptor)) == {"x" * 65_535: b"longest"}

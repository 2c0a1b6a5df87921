"""Entries from one archive into another: values undecoded, headers of our form kept, others made anew."""

import io
import os
import zipfile
import zlib

import inflate64
import pytest
from cases.archive_builder import ArchiveBuilder
from stores import pattern

from ozx import FormatError, UnsupportedError
from ozx.archive.reader import ArchiveReader
from ozx.archive.writer import ArchiveWriter, local_header
from ozx.places import positional_writing
from ozx.store.finishing import move_entries

VALUES = {f"0/c/{n}": pattern(n, n * 1_000) for n in range(8)}


def move(path, indices=None, *, before=()):
    """Move entries of `path` into an archive in memory, behind those of `before`."""
    target = path.with_name("moved.zip")
    reader = ArchiveReader(str(path))
    with target.open("wb") as file:
        writer = ArchiveWriter(file.fileno())
        for name, value in before:
            writer.add(name, value)
        move_entries(reader, range(len(reader)) if indices is None else indices, writer)
        size = writer.finish()
    data = target.read_bytes()
    assert len(data) == size
    return data


def assert_holds(data, values):
    """For Python's zipfile, and with headers in our form throughout."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert {entry.filename: archive.read(entry) for entry in archive.infolist()} == values
        for entry in archive.infolist():
            raw, flags = entry.filename.encode(), 0 if entry.filename.isascii() else 0x800
            header = local_header(raw, flags, entry.CRC, entry.file_size)
            assert data[entry.header_offset :].startswith(header)
            assert (entry.flag_bits, entry.compress_type, entry.compress_size) == (flags, 0, entry.file_size)


FOREIGN = {
    "a classic header": lambda builder: builder.classic(),
    "an extra field": lambda builder: builder.set("0/c/3", local={"extra": b"\x55\x54\5\0\1\0\0\0\0"}),
    "padding": lambda builder: builder.set("0/c/3", local={"extra": b"\x35\xd9\2\0\1\0"}),
    "deflate": lambda builder: builder.deflate("0/c/3"),
    "deflate first": lambda builder: builder.deflate("0/c/0"),
    "deflate last": lambda builder: builder.deflate("0/c/7"),
    "a data descriptor": lambda builder: builder.stream("0/c/3"),
    "a data descriptor without signature": lambda builder: builder.stream("0/c/3", signature=False),
    "a deflated entry with a data descriptor": lambda builder: builder.deflate("0/c/3").stream("0/c/3"),
    "bytes before an entry": lambda builder: builder.set("0/c/3", before=b"x" * 11),
    "bytes before the first entry": lambda builder: builder.set("0/c/0", before=b"x" * 11),
    "another order": lambda builder: builder.with_(file_order=[*reversed(builder.names())]),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_entries_of_another_form_get_our_header(tmp_path, what):
    builder = FOREIGN[what](ArchiveBuilder.of(VALUES))
    path = builder.write(tmp_path / "a.zip")
    assert_holds(move(path, before=[("zarr.json", b"{}")]), {"zarr.json": b"{}"} | VALUES)
    assert_holds(move(path, [2, 3, 4]), {name: VALUES[name] for name in ("0/c/2", "0/c/3", "0/c/4")})


def test_deflate64_entries_are_inflated(tmp_path):
    packer = inflate64.Deflater()
    value = VALUES["0/c/5"]
    data = packer.deflate(value) + packer.flush()
    path = ArchiveBuilder.of(VALUES).set("0/c/5", data=data, method=9).write(tmp_path / "a.zip")
    assert_holds(move(path), VALUES)


def test_names_in_other_encodings_become_utf_8(tmp_path):
    path = ArchiveBuilder.of(VALUES).add(b"caf\x82", b"value", flags=0).write(tmp_path / "a.zip")
    assert_holds(move(path), VALUES | {"café": b"value"})


def test_a_compressed_entry_with_a_wrong_checksum_is_refused(tmp_path):
    builder = ArchiveBuilder.of(VALUES).deflate("0/c/3")
    wrong = zlib.crc32(b"something else")
    builder.set("0/c/3", local={"crc32": wrong}, central={"crc32": wrong})
    with pytest.raises(FormatError, match="CRC"):
        move(builder.write(tmp_path / "a.zip"))


def test_an_encrypted_entry_is_refused(tmp_path):
    path = ArchiveBuilder.of(VALUES).set("0/c/3", flags=1).write(tmp_path / "a.zip")
    with pytest.raises(UnsupportedError):
        move(path)


@pytest.mark.posix("an open file is not replaced there")
def test_a_file_that_shrinks_or_is_replaced_meanwhile_is_an_error(tmp_path, monkeypatch):
    original = ArchiveWriter.copy
    path = ArchiveBuilder.of(VALUES).write(tmp_path / "a.zip")
    content = path.read_bytes()

    def replace():
        other = tmp_path / "other"
        other.write_bytes(content)
        other.replace(path)

    for meddle in (lambda: os.truncate(path, 20_000), lambda: path.write_bytes(content[::-1]), replace):
        path.write_bytes(content)

        def copy(*arguments, meddle=meddle):
            meddle()
            return original(*arguments)

        with monkeypatch.context() as patched:
            patched.setattr(ArchiveWriter, "copy", copy)
            with pytest.raises(FormatError) as caught:
                move(path)
        assert caught.value.rule == "zip/changed"


def test_without_copy_file_range_the_bytes_are_the_same(tmp_path, monkeypatch):
    path = ArchiveBuilder.of(VALUES).write(tmp_path / "a.zip")
    by_system = move(path)
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    monkeypatch.setattr(positional_writing, "READ", 999)
    assert move(path) == by_system
    for name in ("pread", "pwrite", "pwritev", "preadv"):
        monkeypatch.delattr(os, name, raising=False)
    assert move(path) == by_system


@pytest.mark.parametrize("fails_after", [0, 1, 3])
def test_where_the_system_cannot_copy_between_these_files_the_bytes_are_the_same(tmp_path, monkeypatch, fails_after):
    path = ArchiveBuilder.of(VALUES).write(tmp_path / "a.zip")
    expected, calls = move(path), []

    def copy(source, target, length, source_offset, offset):
        calls.append(length)
        if len(calls) > fails_after:
            raise OSError(18, "Invalid cross-device link")
        data = positional_writing.pread(source, min(length, 1_000), source_offset)
        positional_writing.write_all_at(target, data, offset)
        return len(data)

    monkeypatch.setattr(os, "copy_file_range", copy, raising=False)
    assert move(path) == expected
    assert len(calls) == fails_after + 1

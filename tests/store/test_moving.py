"""Entries of an archive that is added to: values undecoded, headers of our form kept, others made anew."""

import os
import zipfile
import zlib

import inflate64
import pytest
from cases.archive_builder import ArchiveBuilder
from stores import SEED, assert_finished, pattern, put, run

from ozx import FormatError, OzxStore
from ozx.archive.writer import ArchiveWriter, local_header
from ozx.places import positional_writing

VALUES = SEED | {f"0/c/{n}": pattern(n, n * 1_000) for n in range(8)}


def valid():
    return ArchiveBuilder.of(VALUES)


def add_to(builder, path, *, without=()):
    """Add a value to an archive, and remove others; return its bytes."""
    builder.write(path)
    with OzxStore(path, "a", sync=False) as store:
        put(store, "0/c/8", b"new")
        for key in without:
            run(store.delete(key))
    return path.read_bytes()


def deflate64(builder):
    packer = inflate64.Deflater()
    return builder.set("0/c/3", data=packer.deflate(VALUES["0/c/3"]) + packer.flush(), method=9)


FOREIGN = {
    "a classic header": lambda builder: builder.classic(),
    "an extra field": lambda builder: builder.set("0/c/3", local={"extra": b"\x55\x54\5\0\1\0\0\0\0"}),
    "padding": lambda builder: builder.set("0/c/3", local={"extra": b"\x35\xd9\2\0\1\0"}),
    "deflate": lambda builder: builder.deflate("0/c/3"),
    "deflate first": lambda builder: builder.deflate("0/c/0"),
    "deflate last": lambda builder: builder.deflate("0/c/7"),
    "deflate64": deflate64,
    "a data descriptor": lambda builder: builder.stream("0/c/3"),
    "a data descriptor without signature": lambda builder: builder.stream("0/c/3", signature=False),
    "a deflated entry with a data descriptor": lambda builder: builder.deflate("0/c/3").stream("0/c/3"),
    "bytes before an entry": lambda builder: builder.set("0/c/3", before=b"x" * 11),
    "another order": lambda builder: builder.with_(file_order=[*reversed(builder.names())]),
    "a name in another encoding": lambda builder: builder.set("0/c/3", name=b"caf\x82", flags=0),
}


@pytest.mark.parametrize("what", FOREIGN)
@pytest.mark.parametrize("without", [[], ["0/c/2", "0/c/5", "0/c/6"]])
def test_entries_of_another_form_get_our_header(tmp_path, what, without):
    path = tmp_path / "a.ozx"
    data = add_to(FOREIGN[what](valid()), path, without=without)
    expected = {key: value for key, value in VALUES.items() if key not in without} | {"0/c/8": b"new"}
    if "encoding" in what:
        expected["café"] = expected.pop("0/c/3")
    assert_finished(path, expected)
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            flags = 0 if entry.filename.isascii() else 0x800
            header = local_header(entry.filename.encode(), flags, entry.CRC, entry.file_size)
            assert data[entry.header_offset :].startswith(header)
            assert (entry.flag_bits, entry.compress_type, entry.compress_size) == (flags, 0, entry.file_size)


def test_a_compressed_entry_with_a_wrong_checksum_is_refused(tmp_path):
    wrong = {"crc32": zlib.crc32(b"something else")}
    with pytest.raises(FormatError, match="CRC"):
        add_to(valid().deflate("0/c/3").set("0/c/3", local=wrong, central=wrong), tmp_path / "a.ozx")


@pytest.mark.posix("an open file is not replaced there")
@pytest.mark.parametrize("change", ["cut", "written over", "replaced"])
def test_an_archive_that_changes_meanwhile_is_an_error(tmp_path, monkeypatch, change):
    path, other = tmp_path / "a.ozx", valid().write(tmp_path / "other")
    changes = {
        "cut": lambda: os.truncate(path, 20_000),
        "written over": lambda: path.write_bytes(other.read_bytes()[::-1]),
        "replaced": lambda: other.replace(path),
    }
    original = ArchiveWriter.copy

    def copy(writer, source, offset, length):
        if length > 1_000:  # not the new value
            changes[change]()
        original(writer, source, offset, length)

    monkeypatch.setattr(ArchiveWriter, "copy", copy)
    with pytest.raises(FormatError) as caught:
        add_to(valid(), path)
    assert caught.value.rule == "zip/changed"


def test_without_copy_file_range_the_bytes_are_the_same(tmp_path, monkeypatch):
    by_system = add_to(valid(), tmp_path / "a.ozx")
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    monkeypatch.setattr(positional_writing, "READ", 999)
    assert add_to(valid(), tmp_path / "b.ozx") == by_system
    for name in ("pread", "pwrite", "pwritev", "preadv"):
        monkeypatch.delattr(os, name, raising=False)
    assert add_to(valid(), tmp_path / "c.ozx") == by_system


@pytest.mark.parametrize("fails_after", [0, 1, 3])
def test_where_the_system_cannot_copy_between_these_files_the_bytes_are_the_same(tmp_path, monkeypatch, fails_after):
    expected, calls = add_to(valid(), tmp_path / "a.ozx"), []

    def copy(source, target, length, source_offset, offset):
        if length > 1_000:  # not the new value
            calls.append(length)
        if len(calls) > fails_after:
            raise OSError(18, "Invalid cross-device link")
        data = positional_writing.pread(source, min(length, 1_000), source_offset)
        positional_writing.write_all_at(target, data, offset)
        return len(data)

    monkeypatch.setattr(os, "copy_file_range", copy, raising=False)
    assert add_to(valid(), tmp_path / "b.ozx") == expected
    assert len(calls) == fails_after + 1

"""The plain and the fast way of writing files into an archive: the same bytes, the same refusals."""

import os

import pytest

from ozx.archive.writer import ArchiveWriter
from ozx.errors import FormatError
from ozx.flow.sinks import fast_packing
from ozx.flow.sinks.archive import write_entries
from ozx.flow.sources.directory import DirectorySource, iter_files, read_file
from ozx.flow.sources.listing import list_directory
from ozx.operations.pack_one import plan_copy
from ozx.progress import NO_PROGRESS
from ozx.zarr.json_reading import LongDocuments


def write_plain(writer, listing):
    write_entries(writer, iter_files(listing), NO_PROGRESS)


def write_fast(writer, listing):
    fast_packing.write_files(writer, listing.root, listing.folders, NO_PROGRESS)


WAYS = [pytest.param(write_plain, id="plain"), pytest.param(write_fast, id="fast")]


def archive_of(root, path, write):
    listing = list_directory(str(root))
    with open(path, "w+b") as file:
        writer = ArchiveWriter(file.fileno())
        write_entries(writer, plan_copy(DirectorySource(listing)).iter_head(), NO_PROGRESS)
        write(writer, listing)
        writer.finish(b"comment")
    return path.read_bytes()


def make_sizes(root, *sizes):
    root.mkdir()
    for number, size in enumerate(sizes):
        (root / str(number)).write_bytes(os.urandom(size))
    (root / "zarr.json").write_bytes(b"{}")
    return root


def touch_while_reading(monkeypatch, path, change):
    """Call `change` between the two looks at the file."""
    original, looks = os.fstat, []

    def fstat(descriptor):
        status = original(descriptor)
        if os.path.exists(path) and os.path.samestat(status, os.stat(path)):
            looks.append(status)
            if len(looks) == fstat.after:
                change()
        return status

    fstat.after = 1
    monkeypatch.setattr(os, "fstat", fstat)
    return fstat


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize("size", [100, 3 << 20])
@pytest.mark.parametrize("grow", [b"more", b""])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, write, size, grow):
    root = make_sizes(tmp_path / "h", size)
    victim = root / "0"

    def change():
        with open(victim, "r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(grow)
            if not grow:
                file.truncate(size // 2)
        os.utime(victim, ns=(1, 1))

    touch_while_reading(monkeypatch, victim, change)
    with pytest.raises(FormatError, match="changed while it was read") as caught:
        archive_of(root, tmp_path / "a.zip", write)
    assert caught.value.rule == "zip/changed"


@pytest.mark.posix("needs mkfifo")
@pytest.mark.parametrize("write", WAYS)
def test_a_pipe_that_takes_a_files_place_does_not_hang(tmp_path, write):
    root = make_sizes(tmp_path / "h", 10)
    listing = list_directory(str(root))
    (root / "0").unlink()
    os.mkfifo(root / "0")
    with open(tmp_path / "a.zip", "w+b") as file, pytest.raises((FormatError, OSError)):
        write(ArchiveWriter(file.fileno()), listing)


def test_reading_a_whole_file_notices_changes(tmp_path, monkeypatch):
    path = tmp_path / "zarr.json"
    path.write_bytes(b"{}")
    touch_while_reading(monkeypatch, path, lambda: path.write_bytes(b"[1]"))
    with pytest.raises(FormatError, match="changed while it was read"):
        read_file(str(path), "zarr.json", LongDocuments())


def test_a_failing_write_is_raised_where_the_caller_waits(tmp_path, monkeypatch):
    root = make_sizes(tmp_path / "h", *[80_000] * 100)

    def full(*_):
        raise OSError(28, "No space left on device")

    listing = list_directory(str(root))
    with open(tmp_path / "a.zip", "w+b") as file:
        monkeypatch.setattr(os, "pwrite" if hasattr(os, "pwrite") else "write", full)
        with pytest.raises(OSError, match="No space left"):
            write_fast(ArchiveWriter(file.fileno()), listing)

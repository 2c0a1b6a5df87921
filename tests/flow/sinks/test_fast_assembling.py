"""The plain and the fast way of writing entries of many parts: the same bytes, the same refusals."""

import errno
import os
import threading
from functools import partial

import pytest
from cases.archive_builder import ArchiveBuilder
from counting_progress import CountingProgress
from resharding import archive_source

from ozx.archive.writer import ArchiveWriter
from ozx.errors import FormatError
from ozx.flow.entry import Entry, FileSpan
from ozx.flow.sinks import archive as archive_sink
from ozx.flow.sinks import fast_assembling
from ozx.flow.sources import archive as source_of_archive
from ozx.progress import NO_PROGRESS

BUFFER, PIECE = 1 << 20, 8 << 20


FAST = [pytest.param(partial(fast_assembling.write_entries, jobs=jobs), id=f"{jobs} jobs") for jobs in (1, 3)]
if not fast_assembling.is_available():  # several threads then have one position to write at: it is never used
    FAST = [pytest.param(archive_sink.write_entries, id="plain instead")]
WAYS = [pytest.param(archive_sink.write_entries, id="plain"), *FAST]


def archive_of(entries, path, write, progress=NO_PROGRESS):
    with open(path, "w+b") as file:
        writer = ArchiveWriter(file.fileno())
        writer.add("zarr.json", b"{}")
        write(writer, entries, progress)
        writer.add("last", b"an entry behind the others")
        writer.finish(b"comment")
    return path.read_bytes()


def make_files(root, sizes):
    root.mkdir(exist_ok=True)
    parts = []
    for number, size in enumerate(sizes):
        path = root / str(number)
        path.write_bytes(os.urandom(size))
        parts.append(FileSpan.of_file(str(path)))
    return parts


class Unspanned:
    """A part of one block without spans, which may have another length than it says."""

    def __init__(self, length, data):
        self.length = length
        self.data = data

    def iter_blocks(self):
        yield self.data


def built(*, count=40):
    """Return an archive of chunks of all small lengths, the last of them empty."""
    return ArchiveBuilder.valid(**{f"0/c/{number}": os.urandom(7 * (count - number)) for number in range(count + 1)})


@pytest.mark.skipif(not fast_assembling.is_available(), reason="needs os.preadv")
def test_neighbours_of_an_archive_are_read_together(tmp_path, monkeypatch):
    built(count=2000).write(tmp_path / "source.zip")
    source, reads = archive_source(tmp_path / "source.zip"), []
    keys = list(source.iter_keys())
    for name in ("pread", "preadv"):
        call = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, call=call: reads.append(args) or call(*args))
    archive_of(map(source.entry, keys), tmp_path / "fast.zip", FAST[0].values[0])
    size = (tmp_path / "source.zip").stat().st_size
    assert len(reads) <= size / BUFFER + len(keys) / 512 + 5


@pytest.mark.skipif(not fast_assembling.is_available(), reason="needs os.preadv")
def test_neighbours_too_long_for_one_read_are_read_one_by_one(tmp_path, monkeypatch):
    def refuse(descriptor, buffers, offset):
        raise OSError(errno.EINVAL, "Invalid argument")

    built(count=3).write(tmp_path / "source.zip")
    source = archive_source(tmp_path / "source.zip")
    entries = [source.entry(key) for key in source.iter_keys()]
    expected = archive_of(entries, tmp_path / "a.zip", archive_sink.write_entries)
    preadv = os.preadv
    monkeypatch.setattr(source_of_archive, "MOST_AT_ONCE", 1)
    monkeypatch.setattr(os, "preadv", lambda *args: (refuse if len(args[1]) > 1 else preadv)(*args))
    assert archive_of(entries, tmp_path / "b.zip", FAST[0].values[0]) == expected


@pytest.mark.posix("needs mkfifo")
@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize("size", [100, 9 << 20])
@pytest.mark.parametrize("change", ["touched", "grown", "cut", "gone", "replaced"])
def test_a_file_that_changed_since_it_was_looked_at_is_refused(tmp_path, write, size, change):
    parts = make_files(tmp_path / "f", [7, size, 7])
    victim = tmp_path / "f" / "1"
    if change == "gone":
        victim.unlink()
    elif change == "replaced":
        victim.unlink()
        os.mkfifo(victim)
    else:
        os.truncate(victim, size + {"touched": 0, "grown": 1, "cut": -1}[change])
        os.utime(victim, ns=(1, 1))
    entries = [Entry("0", tuple(parts))]
    if change == "gone":
        with pytest.raises(FileNotFoundError):
            archive_of(entries, tmp_path / "a.zip", write)
        return
    with pytest.raises(FormatError, match="changed while it was read") as caught:
        archive_of(entries, tmp_path / "a.zip", write)
    assert caught.value.rule == "zip/changed"


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize("length", [100, 2 * BUFFER, 2 * PIECE])
@pytest.mark.parametrize("more", [-1, 1])
def test_a_part_that_has_not_the_length_it_says_is_refused(tmp_path, write, length, more):
    with pytest.raises(FormatError, match="bytes, got") as caught:
        archive_of([Entry("0", (Unspanned(length, bytes(length + more)),))], tmp_path / "a.zip", write)
    assert caught.value.rule == "zip/changed"


@pytest.mark.parametrize("write", FAST)
def test_an_interruption_ends_the_threads(tmp_path, write):
    entries = [Entry(str(n), (part,)) for n, part in enumerate(make_files(tmp_path / "f", [PIECE] * 3))]

    def interrupted():
        yield from entries
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        archive_of(interrupted(), tmp_path / "a.zip", write)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ozx-work")]


@pytest.mark.parametrize("write", WAYS)
def test_progress_counts_about_the_bytes_of_the_values(tmp_path, write):
    sizes = [80_000] * 30 + [3 << 20, 9 << 20]
    entries = [Entry(str(n), (part,)) for n, part in enumerate(make_files(tmp_path / "f", sizes))]
    count = CountingProgress()
    archive_of(entries, tmp_path / "a.zip", write, count)
    assert count.done == pytest.approx(sum(sizes), rel=0.01)

"""Chunks of unfinished shards, in memory and in a file."""

import os

import pytest

from ozx.archive.recovery.scan import iter_found_value, scan_archive
from ozx.flow.entry import read_part
from ozx.places.byte_source import FileSource
from ozx.streaming import open_chunks
from ozx.streaming.open_chunks import OpenChunks


def found_in(path):
    """Return what a recovery finds."""
    source = FileSource(str(path))
    try:
        table = scan_archive(source).found
        return {table[number].name: b"".join(iter_found_value(source, table[number])) for number in range(len(table))}
    finally:
        source.close()


def take(store, chunk):
    """Return a chunk, and release it."""
    data = read_part(store.part(chunk))
    store.release([chunk])
    return data


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "a.ozx.partial.chunks")


def test_drafts_stay_until_later_ones_are_on_disk(path, monkeypatch):
    monkeypatch.setattr(open_chunks, "_MOST_UNUSED", 0)
    store = OpenChunks(path, 0)
    take(store, store.keep("0/0", b"unneeded" * 100))
    store.save([], [("0/1", b"draft"), ("0/2", b"early"), ("0/3", b"done")])
    store.sync()
    store.drop_unneeded()
    assert found_in(path) == {"0/1": b"draft", "0/2": b"early", "0/3": b"done"}
    take(store, store.keep("0/0", b"unneeded" * 100))
    store.keep("0/1", b"complete")
    store.save([], [("0/2", b"late")])
    assert found_in(path) == {"0/0": b"unneeded" * 100, "0/1": b"complete", "0/2": b"late", "0/3": b"done"}
    store.sync()
    store.drop_unneeded()
    assert found_in(path) == {"0/1": b"complete", "0/2": b"late"}
    store.close(keep=False)


def test_a_chunk_stays_until_its_shard_is_on_disk_too(path, monkeypatch):
    """A shard that is written after the call of `sync` may not survive a power cut."""
    monkeypatch.setattr(open_chunks, "_MOST_UNUSED", 0)
    store = OpenChunks(path, 0)
    durable, other = store.keep("0/1", b"durable" * 10), store.keep("0/2", b"other" * 100)
    store.release([other])
    store.save([durable], [])
    store.sync()
    store.release([durable])
    store.drop_unneeded()
    assert found_in(path) == {"0/1": b"durable" * 10}
    store.save([], [])
    store.sync()
    store.drop_unneeded()
    assert os.path.getsize(path) == 0
    store.close(keep=False)


# Each step of a rewrite of two chunks: the function, its module, and the number of calls before the call that fails.
REWRITE_STEPS = [
    pytest.param(os, "open", 0, id="create the new file"),
    pytest.param(open_chunks, "read_into_at", 1, id="read a chunk"),
    pytest.param(open_chunks, "write_parts_at", 1, id="write a chunk"),
    pytest.param(os, "fsync", 0, id="sync the new file"),
    pytest.param(os, "close", 0, id="close the new file"),
    pytest.param(os, "close", 1, id="close the old file"),
    pytest.param(os, "replace", 0, id="replace the old file"),
]


@pytest.mark.parametrize(("module", "name", "before"), REWRITE_STEPS)
def test_no_chunk_is_lost_if_a_step_of_the_rewrite_fails(path, monkeypatch, module, name, before):
    """Until the stream ends, encoding threads go on to keep chunks."""
    monkeypatch.setattr(open_chunks, "_MOST_UNUSED", 0)
    store = OpenChunks(path, 0)
    durable = [store.keep(f"0/{number}", bytes([number]) * 100) for number in range(2)]
    take(store, store.keep("0/8", b"unneeded" * 100))
    store.sync()
    call, count = getattr(module, name), 0

    def fail(*given):
        nonlocal count
        count += 1
        result = call(*given) if name == "close" or count != before + 1 else None  # an error of `close` closes, too
        if count == before + 1:
            raise OSError(5, "Input/output error")
        return result

    monkeypatch.setattr(module, name, fail)
    with pytest.raises(OSError, match="Input/output error"):
        store.drop_unneeded()
    monkeypatch.undo()
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
    late = store.keep("0/9", b"late" * 10)
    store.sync()
    assert [store.read(chunk) for chunk in (*durable, late)] == [b"\0" * 100, b"\1" * 100, b"late" * 10]
    store.close(keep=True)
    assert found_in(path) == {"0/0": b"\0" * 100, "0/1": b"\1" * 100, "0/8": b"unneeded" * 100, "0/9": b"late" * 10}


def test_no_chunk_is_lost_if_the_new_file_cannot_be_opened_again(path, monkeypatch):
    monkeypatch.setattr(open_chunks, "_MOST_UNUSED", 0)
    store = OpenChunks(path, 0)
    durable = store.keep("0/1", b"durable" * 10)
    take(store, store.keep("0/8", b"unneeded" * 100))
    store.sync()
    open_file = os.open

    def refuse(name, *given):
        if name == path:
            raise OSError(24, "Too many open files")
        return open_file(name, *given)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        store.drop_unneeded()
        with pytest.raises(OSError, match="Too many open files"):
            store.read(durable)
        with pytest.raises(OSError, match="Too many open files"):
            store.keep("0/9", b"late" * 10)
    late = store.keep("0/9", b"late" * 10)
    assert [take(store, durable), take(store, late)] == [b"durable" * 10, b"late" * 10]
    store.close(keep=True)
    assert found_in(path) == {"0/1": b"durable" * 10, "0/9": b"late" * 10}

"""Chunks of unfinished shards, in memory and in a file."""

import os

import numpy as np
import pytest

from ozx.archive.byte_source import FileSource
from ozx.archive.recovery.scan import iter_found_value, scan_archive
from ozx.errors import FormatError
from ozx.flow.entry import BytesPart, read_part
from ozx.images.streaming import chunk_store
from ozx.images.streaming.chunk_store import ChunkStore, parse_chunk_name, put_aside


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


def test_chunks_beyond_the_memory_go_to_the_file(path):
    store = ChunkStore(path, 10)
    kept = [store.keep(f"0/{number}", bytes([number]) * 4) for number in range(4)]
    assert store.in_memory == 8
    assert [take(store, chunk) for chunk in kept] == [bytes([number]) * 4 for number in range(4)]
    assert store.in_memory == 0
    assert found_in(path) == {"0/2": b"\2\2\2\2", "0/3": b"\3\3\3\3"}
    store.close(keep=False)
    assert not os.path.exists(path)


def test_no_file_without_need(path):
    store = ChunkStore(path, 10)
    take(store, store.keep("0/1", b"abc"))
    store.sync()
    store.close(keep=True)
    assert not os.path.exists(path)


def test_saved_chunks_stay_in_memory_and_are_written_once(path):
    store = ChunkStore(path, 100)
    kept = [store.keep("0/1", b"abc"), store.keep("0/2", b"def")]
    store.save(kept[:1], [("0/7", b"draft")])
    size = os.path.getsize(path)
    store.save(kept[:1], [])
    assert os.path.getsize(path) == size
    store.save(kept, [("0/7", b"later")])
    assert [take(store, chunk) for chunk in kept] == [b"abc", b"def"]
    store.close(keep=True)
    assert found_in(path) == {"0/1": b"abc", "0/2": b"def", "0/7": b"later"}


def test_the_file_is_written_again_when_most_of_it_is_not_needed(path, monkeypatch):
    monkeypatch.setattr(chunk_store, "_MOST_UNUSED", 1000)
    store = ChunkStore(path, 300)
    old = [store.keep(f"0/{number}", bytes([number]) * 100) for number in range(20)]
    store.save(old, [])
    assert os.path.getsize(path) > 2000
    for chunk in old[:-2]:
        take(store, chunk)
    store.save(old[-2:], [])
    assert os.path.getsize(path) > 2000  # the shards of released chunks may not be on disk yet
    store.sync()
    store.drop_unneeded()
    assert os.path.getsize(path) < 500
    assert [take(store, chunk) for chunk in old[-2:]] == [b"\x12" * 100, b"\x13" * 100]
    new = store.keep("0/20", b"new" * 300)
    store.save([new], [])
    assert found_in(path)["0/20"] == b"new" * 300
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
    store.close(keep=False)


def test_a_chunk_that_came_after_the_call_of_flush_stays_in_the_file(path, monkeypatch):
    monkeypatch.setattr(chunk_store, "_MOST_UNUSED", 0)
    store = ChunkStore(path, 0)
    waiting = store.keep("0/2", b"def" * 100)
    late = store.keep("0/3", b"ghi" * 100)
    take(store, store.keep("0/4", b"jkl" * 300))
    store.save([waiting], [])
    store.sync()
    store.drop_unneeded()
    assert take(store, late) == b"ghi" * 100
    assert take(store, waiting) == b"def" * 100
    store.close(keep=True)
    assert set(found_in(path)) == {"0/2", "0/3"}


def test_a_draft_never_follows_the_complete_chunk(path):
    store = ChunkStore(path, 0)
    store.keep("0/1", b"complete")
    store.save([], [("0/1", b"draft"), ("0/2", b"draft")])
    store.close(keep=True)
    assert found_in(path) == {"0/1": b"complete", "0/2": b"draft"}


def test_drafts_stay_until_later_ones_are_on_disk(path, monkeypatch):
    monkeypatch.setattr(chunk_store, "_MOST_UNUSED", 0)
    store = ChunkStore(path, 0)
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
    monkeypatch.setattr(chunk_store, "_MOST_UNUSED", 0)
    store = ChunkStore(path, 0)
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


def test_a_saved_chunk_is_read_when_its_shard_is_written(path):
    store = ChunkStore(path, 3)
    parts = [store.part(store.keep(f"0/{number}", b"abc")) for number in range(2)]
    assert [(part.length, read_part(part)) for part in parts] == [(3, b"abc")] * 2
    assert not isinstance(parts[1], BytesPart)
    store.close(keep=False)


def test_nothing_is_needed_any_more(path, monkeypatch):
    monkeypatch.setattr(chunk_store, "_MOST_UNUSED", 100)
    store = ChunkStore(path, 0)
    take(store, store.keep("0/1", b"abc" * 100))
    store.sync()
    store.drop_unneeded()
    assert os.path.getsize(path) == 0
    store.close(keep=False)


def test_a_file_that_was_cut_off(path):
    store = ChunkStore(path, 0)
    kept = store.keep("0/1", b"abc" * 100)
    os.truncate(path, 50)
    with pytest.raises(FormatError, match="expected 300 bytes of the chunk 0/1; the file was cut off"):
        take(store, kept)
    store.close(keep=False)


# Each step of a rewrite of two chunks: the function, its module, and the number of calls before the call that fails.
REWRITE_STEPS = [
    pytest.param(os, "open", 0, id="create the new file"),
    pytest.param(chunk_store, "read_into_at", 1, id="read a chunk"),
    pytest.param(chunk_store, "write_parts_at", 1, id="write a chunk"),
    pytest.param(os, "fsync", 0, id="sync the new file"),
    pytest.param(os, "close", 0, id="close the new file"),
    pytest.param(os, "close", 1, id="close the old file"),
    pytest.param(os, "replace", 0, id="replace the old file"),
]


@pytest.mark.parametrize(("module", "name", "before"), REWRITE_STEPS)
def test_no_chunk_is_lost_if_a_step_of_the_rewrite_fails(path, monkeypatch, module, name, before):
    """Until the stream ends, encoding threads go on to keep chunks."""
    monkeypatch.setattr(chunk_store, "_MOST_UNUSED", 0)
    store = ChunkStore(path, 0)
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
    monkeypatch.setattr(chunk_store, "_MOST_UNUSED", 0)
    store = ChunkStore(path, 0)
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


def test_a_removed_file_is_not_made_again(path, monkeypatch):
    """An empty file would hide that the chunks are lost."""
    monkeypatch.setattr(chunk_store, "_MOST_UNUSED", 0)
    store = ChunkStore(path, 0)
    take(store, store.keep("0/8", b"unneeded" * 100))
    store.sync()
    store.drop_unneeded()
    os.unlink(path)
    with pytest.raises(FileNotFoundError):
        store.keep("0/9", b"late")
    store.close(keep=False)


@pytest.mark.parametrize("name", ["zarr.json", "0/zarr.json", "0/1.x", "7", "0/1..2", "0/-1", "0/٣"])
def test_other_names(name):
    assert parse_chunk_name(name) is None


def test_the_chunks_of_an_earlier_writer_go_with_its_file(path, tmp_path):
    target = str(tmp_path / "a.ozx")
    for left, names in [("x", ["x.chunks"]), (None, [])]:
        with open(path, "wb"):
            pass
        put_aside(target, left and str(tmp_path / left))
        assert os.listdir(tmp_path) == names
        for name in names:
            os.unlink(tmp_path / name)
    put_aside(target, None)


@pytest.mark.parametrize("left", ["x", None])
def test_a_rewrite_of_an_earlier_writer_is_removed(path, tmp_path, left):
    """A kill during a rewrite leaves the incomplete new file; the old file has the same chunks."""
    with open(f"{path}.new", "wb"):
        pass
    put_aside(str(tmp_path / "a.ozx"), left and str(tmp_path / left))
    assert os.listdir(tmp_path) == []


def test_memory_of_chunks_of_a_fixed_length_is_used_again(path):
    store = ChunkStore(path, 10)

    def keep(name, data):
        memory = store.allocate(len(data))
        memory[:] = np.frombuffer(data, np.uint8)
        return store.keep(name, memory.data)

    first, second = keep("0/1", b"abcd"), keep("0/2", b"efgh")
    memory = np.asarray(first.data)
    assert take(store, first) == b"abcd"
    assert not np.shares_memory(store.allocate(3), memory)
    third = keep("0/3", b"ijkl")
    assert np.shares_memory(np.asarray(third.data), memory)
    store.save([first, second, third], [])
    assert [take(store, second), take(store, third)] == [b"efgh", b"ijkl"]
    store.close(keep=True)
    assert found_in(path) == {"0/2": b"efgh", "0/3": b"ijkl"}


def test_a_closed_store_keeps_its_file(tmp_path):
    store = ChunkStore(str(tmp_path / "chunks"), 0)
    store.keep("0/1", b"pixels")
    store.close(keep=True)
    kept = (tmp_path / "chunks").read_bytes()
    with pytest.raises(RuntimeError, match="closed"):
        store.keep("0/2", b"late")
    assert (tmp_path / "chunks").read_bytes() == kept

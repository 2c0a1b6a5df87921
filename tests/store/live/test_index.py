"""The index of a file that grows: whole lines only, in any pieces, after any damage."""

import json
import os
import random
import threading
from pathlib import Path

import pytest

from ozx.store.growing_file import Slot
from ozx.store.live.index import Index, IndexReader, IndexWriter, ListedValue, index_of

ARRAY = json.dumps({"node_type": "array", "shape": [1, 8, 8]}).encode()


@pytest.fixture
def partial(tmp_path):
    path = tmp_path / "a.ozx.partial"
    path.write_bytes(b"")
    return str(path)


def begin(partial):
    descriptor = os.open(partial, os.O_RDWR)
    try:
        return IndexWriter(partial, partial.removesuffix(".partial"), descriptor)
    finally:
        os.close(descriptor)


def slot(number):
    return Slot(b"0/c", 0, number, 10, 100 * number, 40)


def fill(writer, count=20):
    writer.show({"zarr.json": b"{}", "0/zarr.json": ARRAY})
    for number in range(count):
        writer.add_value(f"0/c/{number}/ä\udc80\n", slot(number))
        writer.resize({"0": (number + 1, 8, 8)})


@pytest.mark.posix("needs file locks")
def test_what_is_written_is_read(partial):
    writer = begin(partial)
    reader, index = IndexReader(index_of(partial)), Index()
    assert index.take(reader.iter_new())
    assert (index.inode, index.name, index.end) == (os.stat(partial).st_ino, "a.ozx", None)
    assert not index.take(reader.iter_new())
    fill(writer, 2)
    assert index.take(reader.iter_new())
    assert index.values == {f"0/c/{n}/ä\udc80\n": ListedValue(100 * n, 40, 10, n) for n in range(2)}
    assert json.loads(index.documents["0/zarr.json"]) == {"node_type": "array", "shape": [2, 8, 8]}
    earlier = index.documents
    writer.resize({"0": (5, 8, 8), "unknown": (1,)})
    writer.close("finished")
    assert index.take(reader.iter_new())
    assert index.end == "finished"
    assert json.loads(earlier["0/zarr.json"])["shape"] == [2, 8, 8]  # a state that was taken stays
    assert not os.path.exists(index_of(partial))


@pytest.mark.posix("needs file locks")
def test_later_documents_count(partial):
    writer = begin(partial)
    writer.show({"0/zarr.json": ARRAY})
    writer.resize({"0": (2, 8, 8)})
    writer.show({"0/zarr.json": ARRAY.replace(b"[1, 8, 8]", b"[3, 8, 8]")})
    index = Index()
    index.take(IndexReader(index_of(partial)).iter_new())
    assert json.loads(index.documents["0/zarr.json"])["shape"] == [3, 8, 8]


@pytest.mark.posix("needs file locks")
def test_torn_tails(partial):
    """A file that ends anywhere, with any bytes behind it, gives the whole lines before; the rest comes later."""
    fill(begin(partial))
    whole = Path(index_of(partial)).read_bytes()
    records = list(IndexReader(index_of(partial)).iter_new())
    moments = random.Random(5)
    for _ in range(300):
        cut = moments.randrange(len(whole) + 1)
        junk = moments.randbytes(moments.randrange(30)) if moments.random() < 0.7 else bytes(moments.randrange(30))
        lines = whole[:cut].count(b"\n")
        with open(index_of(partial), "wb") as file:
            file.write(whole[:cut] + junk)
        reader = IndexReader(index_of(partial))
        found = list(reader.iter_new())
        assert found == records[: len(found)]
        assert lines <= len(found) <= lines + 1  # one more if the junk happens to end the line
        with open(index_of(partial), "r+b") as file:
            file.write(whole)
            file.truncate()
        found += reader.iter_new()
        assert found == records
        reader.close()


@pytest.mark.posix("needs file locks")
def test_lines_in_any_pieces(partial):
    fill(begin(partial))
    whole = Path(index_of(partial)).read_bytes()
    records = list(IndexReader(index_of(partial)).iter_new())
    moments = random.Random(6)
    with open(index_of(partial), "wb", buffering=0) as file:
        reader, found, done = IndexReader(index_of(partial)), [], 0
        while done < len(whole):
            piece = moments.randrange(1, 200)
            file.write(whole[done : done + piece])
            done += piece
            found += reader.iter_new()
            assert len(found) == whole[:done].count(b"\n")
    assert found == records


@pytest.mark.posix("needs file locks")
def test_an_earlier_index_is_replaced_and_readers_keep_it(partial):
    fill(begin(partial))
    reader = IndexReader(index_of(partial))
    begin(partial)
    assert len(list(reader.iter_new())) == 42
    assert len(list(IndexReader(index_of(partial)).iter_new())) == 1


def test_without_an_index_nothing_is_written(partial):
    os.mkdir(index_of(partial))
    writer = begin(partial)
    fill(writer)
    writer.close("finished")
    assert os.path.isdir(index_of(partial))


@pytest.mark.posix("needs file locks")
def test_after_an_error_no_line_follows(partial, monkeypatch):
    """A missing line would let readers take a value for an empty one."""
    writer = begin(partial)
    real, calls = os.write, []

    def fails_once(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(os, "write", fails_once)
    fill(writer)
    monkeypatch.undo()
    assert len(calls) == 3
    assert len(list(IndexReader(index_of(partial)).iter_new())) == 3
    writer.close("finished")
    assert not os.path.exists(index_of(partial))


def test_systems_without_locks_have_no_index(partial, monkeypatch):
    monkeypatch.setattr("ozx.store.live.index.has_locks", lambda: False)
    writer = begin(partial)
    fill(writer)
    assert not os.path.exists(index_of(partial))
    writer.close("finished")


@pytest.mark.posix("needs file locks")
def test_threads(partial):
    writer = begin(partial)
    threads = [
        threading.Thread(target=lambda at=at: [writer.add_value(f"{at}/{n}", slot(n)) for n in range(200)])
        for at in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index = Index()
    index.take(IndexReader(index_of(partial)).iter_new())
    assert len(index.values) == 800


def test_there_is_none(partial):
    with pytest.raises(FileNotFoundError):
        IndexReader(index_of(partial))

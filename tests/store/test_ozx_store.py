"""`OzxStore` as an object: modes, rights, equality, pickles."""

import gc
import os
import pickle
import subprocess
import sys

import pytest
from packed import sort_values, write_archive
from stores import SEED, assert_finished, buffer, contents, put, run, take

from ozx import OzxStore, ResourceError, UsageError

VALUES = SEED | {"0/c/0/0": b"first", "0/c/0/1": b"second"}
MODES = ("r", "w", "x", "a")


@pytest.fixture
def path(tmp_path):
    return write_archive(tmp_path / "a.ozx", sort_values(VALUES))


@pytest.fixture
def new(tmp_path):
    return tmp_path / "new.ozx"


@pytest.mark.parametrize("mode", ["r+", "w-", "", "rb", "A"])
def test_other_modes_are_refused(path, mode):
    with pytest.raises(UsageError, match="r, w, x, a"):
        OzxStore(path, mode)


def test_mode_r_cannot_write():
    with pytest.raises(UsageError, match="only reads"):
        OzxStore("a.ozx", read_only=False)


@pytest.mark.parametrize("mode", MODES)
def test_what_a_mode_allows_is_told(new, mode):
    store = OzxStore(new, mode)
    assert store.read_only == (mode == "r")
    assert not store.supports_partial_writes
    assert eval(repr(store)) == store


def changes(store):
    return (
        lambda: put(store, "a", b"1"),
        lambda: store.set_sync("a", buffer(b"1")),
        lambda: run(store.set_if_not_exists("a", buffer(b"1"))),
        lambda: run(store.delete("zarr.json")),
        lambda: store.delete_sync("zarr.json"),
        lambda: run(store.delete_dir("0")),
        lambda: run(store.delete_prefix("0")),
        lambda: run(store.delete_values(["zarr.json"])),
        lambda: run(store.clear()),
        lambda: run(store.set_partial_values([("a", 0, b"1")])),
    )


def test_what_may_only_be_read_is_not_changed(path):
    before = path.read_bytes()
    for store in (
        OzxStore(path),
        OzxStore(path, "a", read_only=True),
        OzxStore(path, "a").with_read_only(read_only=True),
    ):
        for change in changes(store):
            with pytest.raises(ValueError, match=r"read-only|opened for reading"):
                change()
        assert contents(store) == VALUES
        store.close()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["a.ozx"]


def test_a_read_only_view_sees_what_is_written_and_does_not_end_it(new):
    with OzxStore(new, "w", sync=False) as store:
        put(store, "zarr.json", SEED["zarr.json"])
        view = store.with_read_only(read_only=True)
        with pytest.raises(KeyError), view:
            assert take(view, "zarr.json") == SEED["zarr.json"]
            raise KeyError
        view.close()
        put(store, "k", b"k")
        assert take(view, "k") == b"k"
        again = view.with_read_only(read_only=False)
        put(again, "l", b"l")
    assert_finished(new, {"zarr.json": SEED["zarr.json"], "k": b"k", "l": b"l"})


def test_only_buffers_are_values(new):
    store = OzxStore(new, "w")
    for value in (b"bytes", "text", None):
        with pytest.raises(TypeError, match="Buffer"):
            run(store.set("a", value))
    assert os.listdir(new.parent) == []


@pytest.mark.parametrize("used", [True, False])
def test_a_writing_store_pickled_within_its_process_writes_to_the_same_file(new, used):
    with OzxStore(new, "w", sync=False) as store:
        if used:
            put(store, "zarr.json", SEED["zarr.json"])
        other = pickle.loads(pickle.dumps(store))
        assert other == store
        put(other, "k", b"k")
        put(other, "zarr.json", SEED["zarr.json"])
        assert take(store, "k") == b"k"
    assert_finished(new, {"zarr.json": SEED["zarr.json"], "k": b"k"})
    with pytest.raises(UsageError, match="was closed"):
        put(other, "l", b"l")


@pytest.mark.parametrize("used", [True, False])
def test_a_writing_store_pickled_into_another_process_says_so(new, used):
    code = """
import pickle, sys
from zarr.core.buffer import cpu, default_buffer_prototype
store = pickle.loads(sys.stdin.buffer.read())
for use in (
    lambda: store.set_sync("k", cpu.Buffer.from_bytes(b"wrong")),
    lambda: store.get_sync("k", prototype=default_buffer_prototype()),
    lambda: pickle.loads(pickle.dumps(store)).delete_sync("k"),
):
    try:
        use()
    except OSError as error:
        print(type(error).__name__, error)
store.close()
"""
    store = OzxStore(new, "w", sync=False)
    if used:
        put(store, "k", b"k")
    asked = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(store), capture_output=True, check=True)
    lines = asked.stdout.decode().splitlines()
    assert len(lines) == 3
    assert all(line.startswith("ResourceError") and f"written by process {os.getpid()}" in line for line in lines)
    put(store, "k", b"k")
    put(store, "zarr.json", SEED["zarr.json"])
    store.close()
    assert_finished(new, {"zarr.json": SEED["zarr.json"], "k": b"k"})


def test_the_pickle_of_a_store_that_is_gone_never_finds_another_one(tmp_path):
    left = []
    for number in range(20):
        store = OzxStore(tmp_path / f"{number}.ozx", "w")
        left.append(pickle.dumps(store))
        del store
    gc.collect()
    store = OzxStore(tmp_path / "last.ozx", "w")
    pickle.dumps(store)
    for data in left:
        with pytest.raises(ResourceError):
            put(pickle.loads(data), "k", b"k")
    assert os.listdir(tmp_path) == []

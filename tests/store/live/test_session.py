"""The session of a growing file: keys, sizes, parts, copies in other processes, threads."""

import asyncio
import pickle
import threading

import numpy as np
import pytest
import zarr
from growing import PIXELS, growing
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype

import ozx
from ozx.store.live.session import LiveSession
from ozx.store.pixels.pipeline import with_archive_pipeline


@pytest.fixture
def append(tmp_path):
    with growing(tmp_path / "a.ozx") as append:
        append.path = str(tmp_path / "a.ozx")
        append(2)
        yield append


@pytest.mark.posix("needs file locks")
def test_values_and_documents_by_key(append):
    session = LiveSession(append.path)
    with session.keys() as keys:
        names = keys.below("")
    assert names == [
        "0/c/0/0/0/0",
        "0/c/0/1/0/0",
        "0/zarr.json",
        "1/c/0/0/0/0",
        "1/c/0/1/0/0",
        "1/zarr.json",
        "zarr.json",
    ]
    for name in names:
        whole = session.read(name)
        assert len(whole) == session.size(name)
        assert session.read(name, RangeByteRequest(3, 9)) == whole[3:9]
        assert session.read(name, OffsetByteRequest(7)) == whole[7:]
        assert session.read(name, SuffixByteRequest(5)) == whole[-5:]
    assert session.read("0/c/9/0/0/0") is session.size("0/c/9/0/0/0") is None
    append.stream.close()
    assert session.refresh()
    assert session.has_reader
    with session.keys() as keys:
        assert set(names) <= set(keys.below(""))
    assert session.size("0/c/0/0/0/0") == len(session.read("0/c/0/0/0/0"))


@pytest.mark.posix("needs file locks")
def test_a_closed_session_looks_again(append):
    session = LiveSession(append.path)
    assert session.refresh()  # it was not open
    session.close()
    append(2)
    assert session.size("0/c/1/0/0/0")
    session.close()
    append.stream.close()
    assert (session.state, session.has_reader) == ("finished", True)
    session.close()


def finished_stream(path, values):
    """Write a stream of two chunks per shard; while it is written, a chunk is complete with the last frame only."""
    options = {"axes": "tyx", "shape": (None, 8, 8), "dtype": "uint8", "force": True}
    with ozx.stream(path, **options, chunks="t=1,y=8,x=8", shards="t=2,y=8,x=8") as stream:
        for value in values:
            stream.append(np.full((8, 8), value, np.uint8))


def test_a_closed_session_forgets_the_file_before(tmp_path):
    """Two runs write files of one name, whose shards have equal offsets and lengths and different indexes."""
    path = str(tmp_path / "a.ozx")
    store = ozx.OzxStore(path, live=True)
    for values in ([7, 0], [0, 7]):
        finished_stream(path, values)
        whole = store.archive_session.read("0/c/0/0/0")
        assert store.archive_session.read("0/c/0/0/0", SuffixByteRequest(36)) == whole[-36:]
        array = zarr.open_array(store, path="0", mode="r")
        assert array[:, 0, 0].tolist() == values
        assert with_archive_pipeline(array)[:, 0, 0].tolist() == values
        store.close()


@pytest.mark.posix("needs file locks")
def test_copies_look_for_themselves(append):
    array = ozx.open(append.path, live=True)["0"]
    copy = pickle.loads(pickle.dumps(array))
    np.testing.assert_array_equal(copy[...], PIXELS[:2])
    append.stream.close()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array))[...], PIXELS[:2])
    np.testing.assert_array_equal(array[...], PIXELS[:2])


@pytest.mark.posix("needs file locks")
def test_store_methods(append):
    store = ozx.OzxStore(append.path, live=True)

    async def ask():
        found = [key async for key in store.list_dir("")]
        assert found == ["0", "1", "zarr.json"]
        assert await store.exists("0/zarr.json")
        assert not await store.exists("2/zarr.json")
        data = await store.get("zarr.json", default_buffer_prototype())
        assert await store.getsize("zarr.json") == len(data)

    asyncio.run(ask())
    assert store.archive_session is None
    with pytest.raises(ValueError, match="read-only"):
        store.set_sync("a", default_buffer_prototype().buffer.from_bytes(b""))


@pytest.mark.ci
def test_threads_read_while_it_grows_and_ends(append):
    store = ozx.OzxStore(append.path, live=True)
    errors, is_over = [], threading.Event()

    def read():
        try:
            while not is_over.is_set():
                pixels = zarr.open_array(store, path="0", mode="r")[...]
                np.testing.assert_array_equal(pixels, PIXELS[: len(pixels)])
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        append(1)
        store.refresh()
    append.stream.close()
    assert store.refresh()
    assert len(zarr.open_array(store, path="0", mode="r")[...]) == 7
    is_over.set()
    for thread in threads:
        thread.join()
    assert not errors

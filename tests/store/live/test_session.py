"""The session of a growing file: keys, sizes, parts, copies in other processes, threads."""

import pickle
import threading

import numpy as np
import pytest
import zarr
from growing import PIXELS, growing
from stores import join_all, start_all
from zarr.abc.store import SuffixByteRequest

import ozx
from ozx.store.array import opened_array


@pytest.fixture
def append(tmp_path):
    with growing(tmp_path / "a.ozx") as append:
        append.path = str(tmp_path / "a.ozx")
        append(2)
        yield append


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
        assert opened_array(array)[:, 0, 0].tolist() == values
        store.close()


@pytest.mark.posix("needs file locks")
def test_arrays_keep_no_places_of_a_growing_file(append):
    """Windows of arrays of every moment, read at every later moment; a shard grows, and moves when the file ends."""
    group, arrays = ozx.open(append.path, live=True), []
    for step in (1, 1, 3, None):
        append.stream.close() if step is None else append(step)
        group.refresh()
        arrays.append(group["0"])
        for array in arrays:
            windows = [(number, 1, slice(30, 36), slice(250, 260)) for number in range(array.shape[0])]
            for window, found in zip(windows, array.read_many(windows), strict=True):
                np.testing.assert_array_equal(found, PIXELS[window])
                np.testing.assert_array_equal(array[window], PIXELS[window])
    assert arrays[0].shape[0] < arrays[-1].shape[0] == 7


@pytest.mark.posix("needs file locks")
def test_copies_look_for_themselves(append):
    array = ozx.open(append.path, live=True)["0"]
    copy = pickle.loads(pickle.dumps(array))
    np.testing.assert_array_equal(copy[...], PIXELS[:2])
    append.stream.close()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array))[...], PIXELS[:2])
    np.testing.assert_array_equal(array[...], PIXELS[:2])


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

    threads = start_all(lambda _: read(), range(3))
    for _ in range(5):
        append(1)
        store.refresh()
    append.stream.close()
    assert store.refresh()
    assert len(zarr.open_array(store, path="0", mode="r")[...]) == 7
    is_over.set()
    join_all(threads)
    assert not errors

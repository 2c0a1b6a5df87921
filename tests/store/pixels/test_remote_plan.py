"""Pixels of remote archives: those of zarr-python's own pipeline, by few requests."""

import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest
from children import run_in_child
from memory import assert_freed
from servers import serving
from stores import writing
from zarr.codecs import ZstdCodec

import ozx
from ozx.errors import OzxError

pytest.importorskip("obstore", reason="the extra remote is not installed")

SIDE, PIECE = 512, 64
LARGE = {
    "chunks": {"chunks": (PIECE, PIECE), "compressors": [ZstdCodec()]},
    "uncompressed": {"chunks": (PIECE, PIECE), "compressors": None},
    "shard": {"chunks": (PIECE, PIECE), "shards": (SIDE, SIDE), "compressors": None},
    "shards": {"chunks": (PIECE, PIECE), "shards": (SIDE // 4, SIDE // 4), "compressors": None},
}


@contextmanager
def served(folder: Path, layout: str, *, is_packed: bool = True) -> Iterator[tuple[Any, Any, np.ndarray]]:
    """Serve an array, and behind it what fills the last MiB of the file, which comes with the directory."""
    pixels = np.random.default_rng(1).integers(0, 60000, (SIDE, SIDE)).astype("u8")
    path = folder / "a.ozx"
    first = path.with_suffix(".first.ozx") if is_packed else path
    with writing(first) as root, warnings.catch_warnings(action="ignore"):
        root.create_array("0", shape=pixels.shape, dtype="u8", fill_value=7, **LARGE[layout])[:] = pixels
        rest = root.create_array("9", shape=(1 << 20,), chunks=(1 << 20,), dtype="u2", compressors=None)
        rest[:] = np.random.default_rng(2).integers(1, 60000, 1 << 20, "u2")
    if is_packed:  # without the room for metadata that the store leaves before the first value
        ozx.repack(first, path)
    with serving(path.read_bytes()) as server:
        array = ozx.open(server.url)["0"]
        server.take_requests()
        yield server, array, pixels


@pytest.mark.usefixtures("read_alone")
@pytest.mark.parametrize(
    ("layout", "selection", "requests"),
    [
        ("uncompressed", (slice(None), slice(None)), 3),  # 2 MiB and the headers: blocks of about 1 MiB
        ("uncompressed", (slice(0, PIECE), slice(0, PIECE)), 1),
        ("uncompressed", (slice(0, PIECE), slice(None)), 1),  # neighbours
        ("uncompressed", (slice(None, None, SIDE - 1), slice(0, 1)), 2),  # far from each other
        ("shard", (slice(None), slice(None)), 1),
        ("shard", (3, 3), 2),  # the index, and an inner chunk
        ("shard", (slice(0, 2 * PIECE), slice(0, 2 * PIECE)), 2),  # the index, and neighbours in Morton order
        ("shards", (3, 3), 1),  # small shards come whole
        ("shards", (slice(None), slice(None)), 3),  # and with their neighbours
    ],
)
def test_requests_are_few(tmp_path: Path, layout: str, selection: tuple[object, ...], requests: int) -> None:
    with served(tmp_path, layout) as (server, array, pixels):
        np.testing.assert_array_equal(array[selection], pixels[selection])
        assert len(server.take_requests()) == requests


@pytest.mark.usefixtures("read_alone")
def test_an_index_is_requested_once(tmp_path: Path) -> None:
    with served(tmp_path, "shard") as (server, array, pixels):
        assert array[0, 0] == pixels[0, 0]
        server.take_requests()
        assert array[SIDE - 1, 0] == pixels[SIDE - 1, 0]
        assert len(server.take_requests()) == 1


@pytest.mark.usefixtures("read_alone")
@pytest.mark.parametrize(("layout", "requests"), [("uncompressed", 2), ("shard", 2), ("shards", 1)])
def test_many_windows_share_requests(tmp_path: Path, layout: str, requests: int) -> None:
    windows = [(slice(y, y + 9), slice(y, y + 9)) for y in (0, 3, 60)]
    with served(tmp_path, layout) as (server, array, pixels):
        for window, found in zip(windows, array.read_many(windows), strict=True):
            np.testing.assert_array_equal(found, pixels[window])
        assert len(server.take_requests()) == requests


@pytest.mark.usefixtures("read_alone")
@pytest.mark.parametrize("layout", LARGE)
def test_the_first_value_behind_the_room_for_metadata(tmp_path: Path, layout: str) -> None:
    with served(tmp_path, layout, is_packed=False) as (server, array, pixels):
        assert array[3, 3] == pixels[3, 3]
        server.take_requests()
        np.testing.assert_array_equal(array[:9, :9], pixels[:9, :9])
        assert len(server.take_requests()) == 1
        np.testing.assert_array_equal(array[:], pixels)


@pytest.mark.ci
def test_one_of_many_requests_fails(tmp_path: Path) -> None:
    """The others are cancelled or ignored, and the array can be read again."""
    with served(tmp_path, "uncompressed") as (server, array, pixels):
        rows = list(range(0, SIDE, PIECE))
        for _ in range(3):
            server.failures = [404]
            with pytest.raises(OzxError, match="no such file"):
                array.vindex[rows, [0] * 8]
            assert server.failures == []
            np.testing.assert_array_equal(array.vindex[rows, [0] * 8], pixels[::PIECE, 0])


@pytest.mark.posix("a system that lets no program signal itself")
def test_ctrl_c_does_not_wait_for_the_server(tmp_path: Path) -> None:
    released, answered = threading.Event(), Queue[bool]()

    def interrupt(call: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        answered.put(released.wait(20))

    with served(tmp_path, "uncompressed") as (server, array, pixels):
        server.before = interrupt
        with pytest.raises(KeyboardInterrupt):
            array[3, 3]
        released.set()
        assert answered.get(timeout=30), "the server was waited for"
        server.before = lambda call: None
        assert array[3, 3] == pixels[3, 3]


@pytest.mark.posix("a system without fork")
def test_a_forked_child_reads(tmp_path: Path) -> None:
    with served(tmp_path, "shards") as (_, array, pixels):
        assert array[0, 0] == pixels[0, 0]
        assert run_in_child(lambda: np.testing.assert_array_equal(array[:], pixels)) == 0


@pytest.mark.parametrize("layout", LARGE)
def test_pixels_are_freed_without_the_collector(tmp_path: Path, layout: str) -> None:
    with served(tmp_path, layout) as (_, array, _):
        for selection in (..., (slice(0, 9), slice(0, 9)), (slice(0, PIECE), slice(None))):
            assert_freed(lambda selection=selection: array[selection], 20)  # a thread forgets its task a bit later

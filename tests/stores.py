"""Stores for tests: access to values without an event loop, and the checks of every finished file."""

import asyncio
import threading
import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path

import zarr
from cases.archive_builder import array, group
from zarr.abc.store import OffsetByteRequest, SuffixByteRequest
from zarr.core.buffer import cpu, default_buffer_prototype

import ozx
from ozx import OzxStore
from ozx.errors import OzxWarning
from ozx.flow.sources.browsing import is_any_metadata_key

#: The metadata of a minimal OME-Zarr hierarchy: a root, and an array of 8 × 8 chunks.
SEED = {"zarr.json": group(), "0/zarr.json": array([64, 64], [8, 8])}


def run(awaitable):
    """Return the result of a coroutine of a local store, which never waits."""
    try:
        awaitable.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits for something")


def collect(generator) -> list:
    result = []
    while True:
        try:
            result.append(run(generator.__anext__()))
        except StopAsyncIteration:
            return result


def start_all(work, arguments) -> list[threading.Thread]:
    """Start a thread that calls `work` for each of the arguments."""
    threads = [threading.Thread(target=work, args=[each]) for each in arguments]
    for thread in threads:
        thread.start()
    return threads


def join_all(threads) -> None:
    for thread in threads:
        thread.join()


def buffer(data):
    return cpu.Buffer.from_bytes(bytes(data))


def put(store, key, data):
    run(store.set(key, buffer(data)))


def take(store, key, wanted=None):
    """Get one value, or a part of it, as bytes or None."""
    try:
        found = run(store.get(key, default_buffer_prototype(), wanted))
    except RuntimeError:  # a thread reads a long value, and waiting for it needs an event loop
        found = asyncio.run(store.get(key, default_buffer_prototype(), wanted))
    return None if found is None else found.to_bytes()


def part_of(value, wanted):
    """Slice as zarr's stores do; MemoryStore itself does not clamp a suffix that is longer than the value."""
    if value is None or wanted is None:
        return value
    if isinstance(wanted, SuffixByteRequest):
        return value[max(0, len(value) - wanted.suffix) :]
    return value[wanted.offset :] if isinstance(wanted, OffsetByteRequest) else value[wanted.start : wanted.end]


def contents(store) -> dict[str, bytes]:
    return {key: take(store, key) for key in collect(store.list())}


def write_store(path, values, mode="w", **options) -> Path:
    """Write `values` through a store; do not warn if they are not OME-Zarr."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OzxWarning)
        with OzxStore(path, mode=mode, sync=False, **options) as store:
            for key, data in values.items():
                put(store, key, data)
    return Path(path)


@contextmanager
def writing(path):
    """Yield the root of a new file, of OME-Zarr 0.5."""
    with OzxStore(path, "w", sync=False) as store:
        yield zarr.create_group(store, attributes={"ome": {"version": "0.5"}})


def pattern(seed: int, size: int) -> bytes:
    """Return bytes that differ for every seed and at every place."""
    word = seed.to_bytes(3, "little")
    return b"".join(word + n.to_bytes(3, "little") for n in range(size // 6 + 1))[:size]


def without_room(values):
    """Return values without the white space that fills the reserved space of metadata."""
    return {key: value.rstrip(b" ") if is_any_metadata_key(key) else value for key, value in values.items()}


def assert_finished(path, values, *, rules=("rfc9/sharding", "zip/unreferenced-bytes")):
    """Assert that our reader and Python's find `values` in a file, and that validation finds at most `rules`."""
    store, values = OzxStore(path), without_room(values)
    assert without_room(contents(store)) == values
    store.close()
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == sorted(values)
        assert archive.testzip() is None
        assert without_room({name: archive.read(name) for name in archive.namelist()}) == values
        assert all(len(entry.extra) in (0, 20) for entry in archive.infolist())  # only ZIP64 fields
    assert {finding.id for finding in ozx.validate(path).findings} <= set(rules)

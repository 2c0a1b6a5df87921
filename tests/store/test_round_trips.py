"""Opening and reading of remote archives: how many requests follow each other, because one needs the other's answer."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import reference_s3
import zarr
from buckets import use_endpoint
from cases.archive_builder import ArchiveBuilder
from round_trips import RoundTrips
from servers import serving

import ozx
from ozx.places.remote import source

for package in ("obstore", "boto3"):
    pytest.importorskip(package, reason=f"{package} is not installed")

# 10,000 chunks of 512 bytes, whose directory is not longer than the first request; and shards of 1 MiB.
SIDE, CHUNK = 1600, 16
SHARD, INNER = 1024, 128


@pytest.fixture(scope="module")
def pixels() -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    return {
        "chunks": random.integers(0, 60_000, (SIDE, SIDE), "u2"),
        "shards": random.integers(0, 250, (2 * SHARD, 2 * SHARD), "u1"),
    }


@pytest.fixture(scope="module")
def archive(pixels: dict[str, np.ndarray]) -> bytes:
    """An archive of 10,006 entries; the shards are far from its beginning and its end."""
    store = zarr.storage.MemoryStore()
    root = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
    root.create_array("chunks", shape=(SIDE, SIDE), chunks=(CHUNK, CHUNK), dtype="u2", compressors=None)
    shards = root.create_array(
        "shards", shape=(2 * SHARD,) * 2, chunks=(INNER,) * 2, shards=(SHARD,) * 2, dtype="u1", compressors=None
    )
    shards[:] = pixels["shards"]
    values = {key: value.to_bytes() for key, value in store._store_dict.items()}
    documents = sorted((key for key in values if key.endswith("zarr.json")), key=lambda key: (key.count("/"), key))
    ordered = {key: json.dumps(json.loads(values.pop(key))).encode() for key in documents}
    rows = pixels["chunks"].reshape(SIDE // CHUNK, CHUNK, SIDE // CHUNK, CHUNK).swapaxes(1, 2)
    chunks = {f"chunks/c/{y}/{x}": rows[y, x].tobytes() for y in range(len(rows)) for x in range(len(rows))}
    ordered |= {key: chunks.pop(key) for key in list(chunks)[:5000]}
    return ArchiveBuilder.of(ordered | values | chunks).build()


@contextmanager
def by_http(archive: bytes) -> Iterator[tuple[object, str]]:
    with serving(archive) as server:
        yield server, server.url


@contextmanager
def on_s3(archive: bytes) -> Iterator[tuple[object, str]]:
    with reference_s3.serving() as server, pytest.MonkeyPatch.context() as patch:
        use_endpoint(server.url, patch)
        server.put("a.ozx", archive)
        yield server, "s3://b/a.ozx"


TASKS = {
    "a chunk": ("chunks", (slice(800, 816), slice(800, 816)), (2, 1)),
    "a plane": ("chunks", (slice(None), slice(None)), (2, 6)),
    "an inner chunk": ("shards", (slice(300, 301), slice(0, 5)), (2, 1, 1)),
    "a plane from a shard": ("shards", (slice(0, SHARD), slice(0, SHARD)), (2, 1)),
    "parts of two shards": ("shards", (slice(0, 2 * SHARD, SHARD), slice(0, 1)), (2, 2, 2)),
}


@pytest.mark.parametrize("place", [by_http, on_s3])
@pytest.mark.parametrize("task", TASKS)
def test_round_trips(place, archive, pixels, task, monkeypatch):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(source, "_PATIENCE", 0)  # as a server that is far
    name, selection, numbers = TASKS[task]
    with place(archive) as (server, url):
        server.before = trips = RoundTrips(*numbers)
        found = ozx.open_array(url, name)[selection]
        trips.check()
    np.testing.assert_array_equal(found, pixels[name][selection])

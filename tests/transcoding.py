"""Transcoding of arrays for tests, by keys and values; zarr-python and tensorstore check the result."""

import json

import numpy as np
import zarr
from stores import contents
from upgrades import quiet, read_tensorstore, read_zarr
from zarr.storage import MemoryStore

from ozx.flow.chunks.stored_chunks import StoredChunks, places_of
from ozx.flow.chunks.transcode import iter_transcoded
from ozx.flow.entry import BytesPart
from ozx.ome.relayout.shard_choice import transcoded_document
from ozx.threads import working
from ozx.zarr.array import ChunkKeys
from ozx.zarr.layout import parse_layout, relayout_document
from ozx.zarr.v2_arrays import upgrade_array


def stored_chunks(values, layout, keys):
    """Return the stored values of an array in a dictionary."""

    def name(number):
        return keys.encode(places_of([number], layout.stored_grid)[0])

    total = int(np.prod(layout.stored_grid, dtype=np.int64))
    numbers = np.array([number for number in range(total) if name(number) in values], np.int64)
    return StoredChunks(numbers, name, lambda numbers: [BytesPart(values[name(number)]) for number in numbers])


def write_v3(data, chunks, **options) -> dict[str, bytes]:
    data = np.asarray(data)
    store = MemoryStore()
    with quiet():
        options = {"compressors": None, "fill_value": 0, "config": {"write_empty_chunks": True}} | options
        dtype = options.pop("dtype", data.dtype)
        array = zarr.create_array(store, shape=data.shape, chunks=chunks, dtype=dtype, zarr_format=3, **options)
        array[...] = data
    return contents(store)


def prepare(values, *, chunks=None, codec=None, shards=None):
    if ".zarray" in values:
        old = json.loads(values[".zarray"])
        document = upgrade_array(old).document
        keys = ChunkKeys("v2", old.get("dimension_separator", "."))
    else:
        old = document = json.loads(values["zarr.json"])
        keys = parse_layout(document, "", understand_all).keys
    stored = stored_chunks(values, parse_layout(document, "", understand_all), keys)
    return stored, old, relayout_document(transcoded_document(document, chunks=chunks, codec=codec), shards)


def understand_all(point, value):
    return True


def transcode(values, **options) -> dict[str, bytes]:
    stored, old, new = prepare(values, **options)
    found = {"zarr.json": json.dumps(new).encode()}
    with working(2) as workers:
        for entry in iter_transcoded(stored, old, new, "", workers):
            assert entry.key not in found
            found[entry.key] = b"".join(entry.iter_blocks())
    return found


def check(values, *, by_tensorstore=True, **options) -> dict[str, bytes]:
    """Transcode an array, compare every bit that zarr-python and tensorstore read, and return the values."""
    before = read_zarr(values, zarr_format=2 if ".zarray" in values else 3)
    transcoded = transcode(values, **options)
    check_same(read_zarr(transcoded), before)
    if by_tensorstore:
        check_same(np.asarray(read_tensorstore(transcoded)), before)
    return transcoded


def check_same(seen, expected):
    """Compare shapes, types (but not their byte order), and bits."""
    assert seen.shape == expected.shape
    if expected.dtype.kind in "OT":
        assert (seen == expected).all()
        return
    expected, seen = (np.ascontiguousarray(each).astype(each.dtype.newbyteorder("<")) for each in (expected, seen))
    if seen.dtype.kind == "V" or str(seen.dtype) == "bool":
        assert seen.tobytes() == expected.tobytes()
        return
    assert seen.dtype == expected.dtype
    assert seen.tobytes() == expected.tobytes()

"""Checksums behind moved chunks: chunks that lie side by side are read together, and checked one by one."""

import json
import os
import tracemalloc

import google_crc32c
import numpy as np
import pytest
import zarr
from resharding import archive_source, chunk_digests, directory_source, stored_chunks
from zarr.codecs import Crc32cCodec

import ozx
from ozx.archive.writer import ArchiveWriter
from ozx.errors import FormatError
from ozx.flow.chunks.reshard import iter_resharded
from ozx.flow.sinks import archive as archive_sink
from ozx.flow.sinks import fast_assembling
from ozx.progress import NO_PROGRESS
from ozx.zarr.layout import build_index, parse_layout, relayout_document

LENGTH, COUNT = 16, 1100  # more chunks than one call reads
WAYS = [archive_sink.write_entries] + [fast_assembling.write_entries] * fast_assembling.is_available()
VALUES = pytest.param("values", marks=pytest.mark.ci)
CHUNKS = [os.urandom(LENGTH) for _ in range(COUNT)]


def summed(chunk):
    return chunk + google_crc32c.value(chunk).to_bytes(4, "little")


def laid_out(chunks, layout):
    """Return a shard whose chunks lie in this way."""
    offsets, lengths = np.zeros(len(chunks), np.int64), np.array([len(chunk) for chunk in chunks])
    numbers = [*reversed(range(len(chunks)))] if layout == "backwards" else [*range(len(chunks))]
    data = b""
    for number in numbers:
        if layout == "missing" and number % 7 == 0:
            lengths[number] = 0
            continue
        if layout == "gaps" and number % 100 == 0:
            data += b"gap"
        offsets[number] = len(data)
        data += chunks[number]
    return data + build_index(offsets, lengths)


def make_array(root, chunks, *, checksums, layout="adjacent"):
    """Write an array of one shard of these chunks, or, with the layout "values", of one value per chunk."""
    options = {"shards": None if layout == "values" else (len(chunks) * LENGTH,), "fill_value": 0}
    filters = {"compressors": [Crc32cCodec()] if checksums else None}
    zarr.create_group(root, attributes={"ome": {"version": "0.5"}}).create_array(
        "0", shape=(len(chunks) * LENGTH,), chunks=(LENGTH,), dtype="u1", **options, **filters
    )
    stored = [*map(summed, chunks)] if checksums else chunks
    (root / "0/c").mkdir()
    for number, chunk in enumerate(stored if layout == "values" else [laid_out(stored, layout)]):
        (root / f"0/c/{number}").write_bytes(chunk)
    return root


def moved(source, shards, checksums):
    """Return the new document of the array, and its entries, which are not read yet."""
    document, layout, stored = stored_chunks(source)
    new = relayout_document(document, shards, checksums)
    return new, iter_resharded(stored, layout, parse_layout(new, "0"), "0")


def write(path, way, document, entries):
    with open(path, "w+b") as file:
        writer = ArchiveWriter(file.fileno())
        writer.add("zarr.json", b'{"zarr_format":3,"node_type":"group","attributes":{}}')
        writer.add("0/zarr.json", json.dumps(document).encode())
        way(writer, entries, NO_PROGRESS)
        writer.finish()
    return path


def as_source(root, kind):
    if kind == "directory":
        return directory_source(root)
    packed = root.with_suffix(".zip")
    ozx.pack(root, packed, sync=False, force=True)
    return archive_source(packed)


@pytest.mark.parametrize("kind", ["directory", "archive"])
@pytest.mark.parametrize("layout", ["adjacent", "gaps", "backwards", "missing", VALUES])
@pytest.mark.parametrize("option", ["add", "drop"])
def test_chunks_get_and_lose_checksums_however_they_lie(tmp_path, kind, layout, option):
    make_array(tmp_path / "a", CHUNKS, checksums=option == "drop", layout=layout)
    expected = make_array(tmp_path / "b", CHUNKS, checksums=option == "add", layout=layout)
    for shards in (None, (LENGTH * 700,)):
        found = []
        for number, way in enumerate(WAYS):
            made = moved(as_source(tmp_path / "a", kind), shards, option)
            found.append(write(tmp_path / f"{shards}-{number}.zip", way, *made))
        assert found[0].read_bytes() == found[-1].read_bytes()
        assert chunk_digests(archive_source(found[0])) == chunk_digests(directory_source(expected))


@pytest.mark.parametrize("layout", ["adjacent", "gaps", "backwards", VALUES])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shards", [None, (LENGTH * COUNT,)])
def test_the_damaged_chunk_of_many_is_named(tmp_path, layout, way, shards):
    root = make_array(tmp_path / "a", CHUNKS, checksums=True, layout=layout)
    path = root / f"0/c/{777 if layout == 'values' else 0}"
    data = path.read_bytes()
    path.write_bytes(data.replace(CHUNKS[777], bytes(LENGTH)))
    with pytest.raises(FormatError, match=r"0: expected chunk \(777,\) to end in its CRC-32C; the checksum differs"):
        write(tmp_path / "b.zip", way, *moved(directory_source(root), shards, "drop"))


@pytest.mark.posix("needs os.preadv")
@pytest.mark.parametrize("kind", ["directory", "archive"])
@pytest.mark.parametrize("option", ["add", "drop"])
@pytest.mark.parametrize("shards", [None, (LENGTH * COUNT,)])
def test_adjacent_chunks_are_read_together(tmp_path, monkeypatch, kind, option, shards):
    make_array(tmp_path / "a", CHUNKS, checksums=option == "drop", layout="adjacent")
    source, reads, preadv = as_source(tmp_path / "a", kind), [], os.preadv
    monkeypatch.setattr(os, "preadv", lambda *given: reads.append(len(given[1])) or preadv(*given))
    write(tmp_path / "b.zip", fast_assembling.write_entries, *moved(source, shards, option))
    one_by_one = shards is None and option == "drop"
    assert len(reads) >= COUNT if one_by_one else len(reads) < 12
    assert max(reads) <= 1024


@pytest.mark.posix("needs os.preadv")
def test_entries_that_become_chunks_are_read_together(tmp_path, monkeypatch):
    make_array(tmp_path / "a", CHUNKS, checksums=False, layout="values")
    source, reads, preadv = as_source(tmp_path / "a", "archive"), [], os.preadv
    monkeypatch.setattr(os, "preadv", lambda *given: reads.append(len(given[1])) or preadv(*given))
    write(tmp_path / "b.zip", fast_assembling.write_entries, *moved(source, (LENGTH * COUNT,), "add"))
    assert len(reads) < 12


@pytest.mark.parametrize("option", ["add", "drop"])
@pytest.mark.parametrize(("layout", "most"), [("adjacent", 120), ("backwards", 370)])
def test_memory_for_each_chunk_of_a_large_shard(tmp_path, layout, most, option):
    """A shard may have four million chunks; those that lie apart need an object each."""
    count = 20_000
    root = make_array(
        tmp_path / "a", [b"%016d" % number for number in range(count)], checksums=option == "drop", layout=layout
    )
    _, entries = moved(directory_source(root), (LENGTH * count,), option)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        entry = next(entries)
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert held < most * count
    assert sum(part.length for part in entry.parts) > LENGTH * count

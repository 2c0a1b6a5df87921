"""Checksums behind moved chunks: chunks that lie side by side are read together, and checked one by one."""

import itertools
import os

import google_crc32c
import numpy as np
import pytest
import zarr
from memory import traced_memory
from packed import values_of
from resharding import directory_source, stored_chunks
from zarr.codecs import Crc32cCodec

import ozx
from ozx.errors import FormatError
from ozx.flow.chunks.reshard import iter_resharded
from ozx.zarr.layout import build_index, parse_layout, relayout_document

LENGTH, COUNT = 16, 1100  # more chunks than one call reads
ALL = f"x={LENGTH * COUNT}"  # in one shard
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
        "0", shape=(len(chunks) * LENGTH,), chunks=(LENGTH,), dtype="u1", dimension_names=["x"], **options, **filters
    )
    stored = [*map(summed, chunks)] if checksums else chunks
    (root / "0/c").mkdir()
    for number, chunk in enumerate(stored if layout == "values" else [laid_out(stored, layout)]):
        (root / f"0/c/{number}").write_bytes(chunk)
    return root


def as_source(root, kind):
    return root if kind == "directory" else ozx.pack(root, root.with_suffix(".ozx"), sync=False).path


@pytest.mark.parametrize("kind", ["directory", "archive"])
@pytest.mark.parametrize("layout", ["adjacent", "gaps", "backwards", "missing", VALUES])
@pytest.mark.parametrize("option", ["add", "drop"])
def test_chunks_get_and_lose_checksums_however_they_lie(tmp_path, kind, layout, option):
    source = as_source(make_array(tmp_path / "a", CHUNKS, checksums=option == "drop", layout=layout), kind)
    expected = {f"0/c/{n}": chunk for n, chunk in enumerate(map(summed, CHUNKS) if option == "add" else CHUNKS)}
    for number in range(0, COUNT if layout == "missing" else 0, 7):
        del expected[f"0/c/{number}"]
    for shards in ("none", f"x={LENGTH * 700}"):
        out = ozx.repack(source, tmp_path / f"{shards}.ozx", shards=shards, chunk_checksums=option, sync=False).path
        plain = ozx.repack(out, tmp_path / "plain.ozx", shards="none", chunk_checksums="keep", sync=False, force=True)
        assert {key: value for key, value in values_of(plain.path).items() if "/c/" in key} == expected


@pytest.mark.parametrize("layout", ["adjacent", "gaps", "backwards", VALUES])
@pytest.mark.parametrize("shards", ["none", ALL])
def test_the_damaged_chunk_of_many_is_named(tmp_path, layout, shards):
    root = make_array(tmp_path / "a", CHUNKS, checksums=True, layout=layout)
    path = root / f"0/c/{777 if layout == 'values' else 0}"
    path.write_bytes(path.read_bytes().replace(CHUNKS[777], bytes(LENGTH)))
    with pytest.raises(FormatError, match=r"0: expected chunk \(777,\) to end in its CRC-32C; the checksum differs"):
        ozx.repack(root, tmp_path / "b.ozx", shards=shards, chunk_checksums="drop", sync=False)


@pytest.mark.posix("needs os.preadv")
@pytest.mark.parametrize(
    ("kind", "layout", "option", "shards"),
    [
        *itertools.product(["directory", "archive"], ["adjacent"], ["add", "drop"], ["none", ALL]),
        ("archive", "values", "add", ALL),
    ],
)
def test_adjacent_chunks_are_read_together(tmp_path, monkeypatch, kind, layout, option, shards):
    source = as_source(make_array(tmp_path / "a", CHUNKS, checksums=option == "drop", layout=layout), kind)
    reads, preadv = [], os.preadv
    monkeypatch.setattr(os, "preadv", lambda *given: reads.append(len(given[1])) or preadv(*given))
    ozx.repack(source, tmp_path / "b.ozx", shards=shards, chunk_checksums=option, sync=False)
    one_by_one = shards == "none" and option == "drop"
    assert len(reads) >= COUNT if one_by_one else len(reads) < 12
    assert max(reads) <= 1024


@pytest.mark.parametrize("option", ["add", "drop"])
@pytest.mark.parametrize(("layout", "most"), [("adjacent", 120), ("backwards", 370)])
def test_memory_for_each_chunk_of_a_large_shard(tmp_path, layout, most, option):
    """A shard may have four million chunks; those that lie apart need an object each."""
    count = 20_000
    root = make_array(
        tmp_path / "a", [b"%016d" % number for number in range(count)], checksums=option == "drop", layout=layout
    )
    document, layout, stored = stored_chunks(directory_source(root))
    new = parse_layout(relayout_document(document, (LENGTH * count,), option), "0")
    entries = iter_resharded(stored, layout, new, "0")
    with traced_memory() as memory:
        entry = next(entries)
    assert memory.held < most * count
    assert sum(part.length for part in entry.parts) > LENGTH * count

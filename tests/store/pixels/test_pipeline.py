"""Pixels read through ozx's codec pipeline are those that zarr-python's own reads."""

import warnings
from pathlib import Path

import numcodecs
import numpy as np
import pytest
import zarr
from children import run_in_child
from memory import traced_memory
from stores import writing
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

import ozx
from ozx.archive.reader import ArchiveReader
from ozx.codecs.bounded import UndecodableChunkError
from ozx.errors import FormatError

SHAPE = (5, 70, 90)
CHUNK = (2, 16, 32)
SHARD = (4, 64, 64)

LAYOUTS = {
    "uncompressed": {"chunks": CHUNK, "compressors": None},
    "zstd": {"chunks": CHUNK, "compressors": [ZstdCodec()]},
    "gzip": {"chunks": CHUNK, "compressors": [GzipCodec()]},
    "blosc": {"chunks": CHUNK, "compressors": [BloscCodec(cname="lz4")]},
    "checksum": {"chunks": CHUNK, "compressors": [Crc32cCodec()]},
    "transposed-uncompressed": {"chunks": CHUNK, "filters": [TransposeCodec(order=(1, 2, 0))], "compressors": None},
    "one-chunk": {"chunks": SHAPE, "compressors": None},
    "shards": {"chunks": CHUNK, "shards": SHARD, "compressors": [ZstdCodec()]},
    "uncompressed-shards": {"chunks": CHUNK, "shards": SHARD, "compressors": None},
    "shards-of-checked-chunks": {"chunks": CHUNK, "shards": SHARD, "compressors": [ZstdCodec(), Crc32cCodec()]},
    "nested-shards": {
        "chunks": SHARD,
        "compressors": None,
        "serializer": ShardingCodec(chunk_shape=(2, 32, 64), codecs=[ShardingCodec(chunk_shape=CHUNK)]),
    },
}


def written(path: Path, dtype: str = "u2", *, fill: object = 7, **layout: object) -> Path:
    """Write an array with gaps to an archive; some of its chunks and inner chunks do not exist."""
    with writing(path) as root, warnings.catch_warnings(action="ignore"):
        array = root.create_array("0", shape=SHAPE, dtype=dtype, fill_value=fill, **layout)
        values = np.random.default_rng(1).integers(0, 60000, SHAPE)
        array[:3, :50] = values[:3, :50].astype(dtype)
        array[4, 66:] = values[4, 66:].astype(dtype)
    return path


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("layouts")
    return {name: written(folder / f"{name}.ozx", **layout) for name, layout in LAYOUTS.items()}


def position_of(path: Path, key: str) -> tuple[int, int]:
    reader = ArchiveReader(str(path))
    index = reader.find(key)
    assert index is not None
    return reader.data_offset(index), int(reader.columns.compressed_sizes[index])


def damage(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x55
    path.write_bytes(data)


def test_damaged_shard_indexes_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "cells.ozx", **LAYOUTS["shards"])
    offset, size = position_of(path, "0/c/0/0/0")
    damage(path, offset + size - 9)
    with pytest.raises(FormatError, match=r"0/c/0/0/0.*index"):
        ozx.open(path)["0"][0, 0, 0]


def test_chunks_that_decode_to_more_are_errors(tmp_path: Path) -> None:
    for layout, codec in (("zstd", numcodecs.Zstd()), ("gzip", numcodecs.GZip()), ("blosc", numcodecs.Blosc())):
        path = written(tmp_path / f"{layout}.ozx", **LAYOUTS[layout])
        bomb = zarr.core.buffer.cpu.Buffer.from_bytes(codec.encode(bytes(50 << 20)))
        with ozx.OzxStore(path, "a") as store:
            store.set_sync("0/c/0/0/0", bomb)
        with pytest.raises(UndecodableChunkError, match=r"0/c/0/0/0: .*(at most|to more)"):
            ozx.open(path)["0"][:]


@pytest.mark.posix("Windows has no fork")
def test_a_forked_child_reads(archives: dict[str, Path]) -> None:
    array = ozx.open(archives["zstd"])["0"]
    pixels = array[:]
    assert run_in_child(lambda: np.testing.assert_array_equal(array[:], pixels)) == 0


@pytest.mark.ci
@pytest.mark.parametrize("layout", ["uncompressed", "zstd", "shards"])
def test_memory_besides_the_result_is_bounded(tmp_path: Path, layout: str) -> None:
    chosen = {**LAYOUTS[layout], "chunks": (1, 1024, 2048)}
    if layout == "shards":
        chosen["shards"] = (8, 2048, 2048)
    with writing(tmp_path / "a.ozx") as root:
        array = root.create_array("0", shape=(16, 2048, 2048), dtype="u2", **chosen)
        for number in range(0, 16, 8):
            array[number : number + 8] = np.random.default_rng(number).integers(0, 4096, (8, 2048, 2048), "u2")
    ours = ozx.open(tmp_path / "a.ozx")["0"]
    ours[0, 0, 0]
    with traced_memory() as memory:
        found = ours[:]
    assert memory.peak - found.nbytes < 64 << 20


if zarr.config.get("array.read_missing_chunks", None) is not None:  # zarr-python 3.2 and later can refuse them

    def test_missing_chunks_can_be_refused(archives: dict[str, Path]) -> None:
        with zarr.config.set({"array.read_missing_chunks": False}), pytest.raises(Exception, match="not found"):
            ozx.open(archives["zstd"])["0"][:]

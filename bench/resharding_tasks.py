"""Resharding tasks: ozx, zarr-python and tensorstore make the same shards; and a crop, in two ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worker import Repeated

SHARD = (1, 4096, 4096)


def ozx_repack(source: str, out: str, checksums: str = "add") -> Callable[[], object]:
    """Move the chunks into shards by `ozx.repack`; `checksums` is the option `chunk_checksums`."""
    import ozx

    repack = ozx.repack
    return lambda: repack(source, out, shards="y=4096,x=4096", chunk_checksums=checksums, sync=False)


def ozx_crop(source: str, out: str, region: str) -> Callable[[], object]:
    """Cut out a region by `ozx.extract`."""
    import ozx

    extract = ozx.extract
    return lambda: extract(source, out, region=region, sync=False)


def read_and_write(source: str, out: str, region: str, chunk: str) -> Callable[[], object]:
    """Read a region by `ozx.read`, then write the array by `ozx.write_image` in the same chunks."""
    import ozx

    read, write = ozx.read, ozx.write_image
    return lambda: write(out, read(source, region=region), axes="zyx", chunks=chunk, sync=False)


def compare_crops(made: str, other: str) -> Repeated:
    """Compare all levels of two images."""
    import numpy as np

    import ozx

    def run() -> None:
        one, two = ozx.open_image(made), ozx.open_image(other)
        assert len(one.levels) == len(two.levels)
        for level in range(len(one.levels)):
            assert np.array_equal(one.read(level=level), two.read(level=level)), level

    return Repeated(run, lambda _: None)


def zarr_reshard(source: str, out: str) -> Callable[[], object]:
    """Decode and encode by zarr-python, shard by shard, into a directory."""
    import zarr

    old = zarr.open_array(f"{source}/0", mode="r")
    options = {"dtype": old.dtype, "chunks": old.chunks, "compressors": old.compressors, "fill_value": old.fill_value}

    def run() -> None:
        new = zarr.create_array(f"{out}/0", shape=old.shape, shards=SHARD, **options)
        for plane in range(old.shape[0]):
            new[plane] = old[plane]

    return run


def tensorstore_reshard(source: str, out: str) -> Callable[[], object]:
    """Decode and encode by tensorstore, shard by shard, into a directory."""
    import tensorstore

    document = json.loads(Path(source, "0", "zarr.json").read_text())
    inside = {
        "chunk_shape": document["chunk_grid"]["configuration"]["chunk_shape"],
        "codecs": document["codecs"],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
    }
    metadata = {name: document[name] for name in ("shape", "data_type", "fill_value", "chunk_key_encoding")}
    metadata["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": list(SHARD)}}
    metadata["codecs"] = [{"name": "sharding_indexed", "configuration": inside}]

    def kvstore(path: str) -> dict[str, Any]:
        return {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/0/"}}

    old = tensorstore.open(kvstore(source), open=True, read=True).result()

    def run() -> None:
        new = tensorstore.open({**kvstore(out), "metadata": metadata}, create=True).result()
        for plane in range(old.shape[0]):
            new[plane].write(old[plane]).result()

    return run


def compare(made: str, source: str) -> Repeated:
    """Compare all pixels of the result, a file or a directory, with the source."""
    import numpy as np
    import zarr
    from zarr.storage import LocalStore, ZipStore

    def run() -> None:
        store = LocalStore(made) if Path(made).is_dir() else ZipStore(made, mode="r")
        old, new = zarr.open_array(f"{source}/0", mode="r"), zarr.open_array(store, path="0", mode="r")
        assert new.shards == SHARD
        for plane in range(old.shape[0]):
            assert np.array_equal(old[plane], new[plane]), plane

    return Repeated(run, lambda _: None)

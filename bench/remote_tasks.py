"""Tasks of reading over HTTP: the same regions by each way there is, compared with what is on the disk."""

from __future__ import annotations

import random
import urllib.request
from collections.abc import Callable
from typing import Any

import numpy as np
from store_tasks import PIECE, SIDE
from worker import Repeated

#: task -> (array, rows and columns of a region, how many regions)
TASKS = {
    "first": ("packed", SIDE, 1),
    "chunks": ("packed", PIECE, 4),
    "shards": ("sharded", PIECE, 4),
    "inner": ("shard", SIDE, 20),
}


def read(way: str, url: str, plain: str, task: str) -> Repeated:
    """Read regions at random; opening is part of the task ``first`` alone."""
    import zarr

    name, side, count = TASKS[task]
    original = zarr.open_group(plain, mode="r")[name]
    rows, columns = (range(0, length, side) for length in original.shape)
    corners = [(y, x) for y in rows for x in columns]
    corners *= 1 + count // len(corners)  # tiny data have too few: some are read again
    regions = [(slice(y, y + side), slice(x, x + side)) for y, x in random.Random(1).sample(corners, count + 1)]
    warm, wanted = regions[0], regions[1:]
    opened = _array(way, url, name)  # so that all is imported
    opened[warm]
    open_anew: Callable[[], Any] = (lambda: _array(way, url, name)) if task == "first" else (lambda: opened)

    def run() -> list[Any]:
        array = open_anew()
        return [array[region] for region in wanted]

    def verify(blocks: list[Any]) -> None:
        for region, block in zip(wanted, blocks, strict=True):
            assert np.array_equal(block, original[region]), region

    asked = f"{url.rpartition('/')[0]}/-/requests"
    return Repeated(run, verify, count, lambda: int(urllib.request.urlopen(asked).read()))


def _array(way: str, url: str, name: str) -> Any:
    import zarr

    if way == "ozx":
        import ozx

        return ozx.open_array(url, name)
    if way == "store":
        import ozx

        return zarr.open_array(ozx.OzxStore(url), path=name, mode="r")
    if way == "obstore":
        from obstore.store import HTTPStore
        from zarr.storage import ObjectStore

        # Plain HTTP has to be allowed by name.
        store = ObjectStore(HTTPStore.from_url(url, client_options={"allow_http": True}), read_only=True)
        return zarr.open_array(store, path=name, mode="r")
    from zarr.storage import FsspecStore

    if way == "fsspec":
        return zarr.open_array(FsspecStore.from_url(url, read_only=True), path=name, mode="r")
    import fsspec
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

    # Without a list of what was opened before: each opening is to be one.
    system = fsspec.filesystem("zip", fo=url, remote_protocol="http", skip_instance_cache=True)
    return zarr.open_array(FsspecStore(AsyncFileSystemWrapper(system), read_only=True, path=""), path=name, mode="r")

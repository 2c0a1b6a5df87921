"""Tasks of reading over HTTP: all programs read the same regions, which are compared with those on the disk."""

from __future__ import annotations

import random
import urllib.request
from collections.abc import Callable
from typing import Any

import numpy as np
from store_tasks import PIECE, SIDE
from worker import Repeated

#: Name of a task: the array, the side of a region in pixels, the number of regions, and whether opening is timed, too.
TASKS = {
    "first": ("packed", SIDE, 1, True),
    "first chunks": ("packed", PIECE, 1, True),
    "first shard": ("sharded", PIECE, 1, True),
    "first inner": ("shard", SIDE, 1, True),
    "well": ("D/7/0/0", 1024, 1, True),
    "chunks": ("packed", PIECE, 4, False),
    "shards": ("sharded", PIECE, 4, False),
    "inner": ("shard", SIDE, 20, False),
}


def read(way: str, url: str, plain: str, task: str) -> Repeated:
    """Return the task of reading random regions."""
    import zarr

    name, side, count, opens = TASKS[task]
    original = zarr.open_group(plain, mode="r")[name]
    rows, columns = (range(0, length, side) for length in original.shape)
    corners = [(y, x) for y in rows for x in columns]
    corners *= 1 + count // len(corners)  # tiny data have too few regions: some regions are read again
    regions = [(slice(y, y + side), slice(x, x + side)) for y, x in random.Random(1).sample(corners, count + 1)]
    warm, wanted = regions[0], regions[1:]
    opened = array_of(way, url, name)  # so that all modules are imported before the timing
    pixels_of(opened[warm])
    open_anew: Callable[[], Any] = (lambda: array_of(way, url, name)) if opens else (lambda: opened)

    def run() -> list[Any]:
        array = open_anew()
        return [pixels_of(array[region]) for region in wanted]

    def verify(blocks: list[Any]) -> None:
        for region, block in zip(wanted, blocks, strict=True):
            assert np.array_equal(block, original[region]), region

    asked = f"{url.rpartition('/')[0]}/-/requests"
    return Repeated(run, verify, count, lambda: int(urllib.request.urlopen(asked).read()))


def pixels_of(found: Any) -> Any:
    return found if isinstance(found, np.ndarray) else found.read().result()  # tensorstore's arrays are lazy


def array_of(way: str, url: str, name: str) -> Any:
    import zarr

    if way == "ozx":
        import ozx

        return ozx.open_array(url, name)
    if way == "tensorstore":
        import tensorstore

        kvstore = f"{url}/{name}/"
        return tensorstore.open({"driver": "zarr3", "kvstore": kvstore}, context=tensorstore.Context()).result()
    if way == "store":
        import ozx

        return zarr.open_array(ozx.OzxStore(url), path=name, mode="r")
    if way == "obstore":
        from obstore.store import HTTPStore
        from zarr.storage import ObjectStore

        # obstore refuses plain HTTP without this option.
        store = ObjectStore(HTTPStore.from_url(url, client_options={"allow_http": True}), read_only=True)
        return zarr.open_array(store, path=name, mode="r")
    from zarr.storage import FsspecStore

    if way == "fsspec":
        return zarr.open_array(FsspecStore.from_url(url, read_only=True), path=name, mode="r")
    import fsspec
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

    # Without the cache of open file systems, so that each opening reads the file again.
    system = fsspec.filesystem("zip", fo=url, remote_protocol="http", skip_instance_cache=True)
    store = FsspecStore(AsyncFileSystemWrapper(system), read_only=True, path="")
    return zarr.open_array(store, path=name, mode="r", zarr_format=3)  # its KeyError for .zarray ends the search

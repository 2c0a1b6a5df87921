"""Import a TIFF into shards with dask and zarr, levels from 2 × 2 means: ``dask_import.py IMAGE.tif OUT.zarr``."""

from __future__ import annotations

import sys
from typing import Any

import dask.array as da
import numpy as np
import tifffile
import zarr
from zarr.codecs import BloscCodec

CHUNK, SHARD, COARSEST = 512, 4096, 256


def main() -> None:
    source, out = sys.argv[1:]
    group = zarr.open_group(out, mode="w")
    level = da.from_zarr(zarr.open(tifffile.imread(source, aszarr=True), mode="r"))
    number = 0
    while True:
        array = save(group, str(number), level)
        if max(array.shape) <= COARSEST:
            return
        halves = da.coarsen(np.mean, da.from_zarr(array), {0: 2, 1: 2}, trim_excess=True)
        level, number = halves.round().astype(array.dtype), number + 1


def save(group: zarr.Group, name: str, level: da.Array) -> zarr.Array[Any]:
    array = group.create_array(
        name,
        shape=level.shape,
        dtype=level.dtype,
        chunks=(CHUNK, CHUNK),
        shards=(SHARD, SHARD),
        compressors=BloscCodec(cname="zstd", clevel=1, shuffle="shuffle"),
    )
    da.store(level.rechunk((SHARD, SHARD)), array, lock=False)
    return array


if __name__ == "__main__":
    main()

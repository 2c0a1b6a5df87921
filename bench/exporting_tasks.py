"""Export tasks: ozx, and zarr-python with tifffile, write the same tiles and levels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from worker import Repeated

TILE = 512


def ozx_export(source: str, out: str, compression: str) -> Callable[[], object]:
    """Export by `ozx.export`."""
    import ozx
    import ozx.exporting.exported_hierarchy
    import ozx.exporting.file
    import ozx.store.opening

    export = ozx.export
    return lambda: export(source, out, compression=compression, tile=TILE, jobs=os.cpu_count(), sync=False)


def by_tifffile(source: str, out: str, compression: str) -> Callable[[], object]:
    """Export by zarr-python and tifffile: read each level plane by plane, and write its tiles."""
    import tifffile
    import zarr

    group = zarr.open_group(source, mode="r")
    levels = [group[each["path"]] for each in group.attrs["ome"]["multiscales"][0]["datasets"]]

    def tiles(level: Any) -> Iterator[Any]:
        for place in np.ndindex(level.shape[:-2]):
            plane = level[place]
            for y in range(0, plane.shape[0], TILE):
                for x in range(0, plane.shape[1], TILE):
                    yield plane[y : y + TILE, x : x + TILE]

    def run() -> None:
        method = None if compression == "none" else compression
        options = {
            "tile": (TILE, TILE),
            "compression": method,
            "maxworkers": os.cpu_count(),
            "photometric": "minisblack",
        }
        with tifffile.TiffWriter(out, ome=True, bigtiff=True) as file:
            for number, level in enumerate(levels):
                extra = (
                    {"subifds": len(levels) - 1, "metadata": {"axes": "TCZYX"}} if number == 0 else {"subfiletype": 1}
                )
                file.write(tiles(level), shape=level.shape, dtype=level.dtype, **options, **extra)

    return run


def compare(made: str, source: str) -> Repeated:
    """Compare every level of the OME-TIFF with the array from which it was made."""
    import tifffile
    import zarr

    def run() -> None:
        group = zarr.open_group(source, mode="r")
        with tifffile.TiffFile(made) as file:
            assert len(file.series) == 1
            found = file.series[0].levels
            wanted = [group[each["path"]] for each in group.attrs["ome"]["multiscales"][0]["datasets"]]
            assert len(found) == len(wanted) > 1
            for level, array in zip(found, wanted, strict=True):
                pages = iter(level.pages)
                for place in np.ndindex(array.shape[:-2]):
                    assert np.array_equal(next(pages).asarray(), array[place]), place

    return Repeated(run, lambda _: None)

"""Tasks that read a whole image, one for each program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from worker import Repeated


def shape_of(root: str) -> tuple[int, ...]:
    """Return the shape of level 0 of an image in a directory."""
    import zarr

    shape: tuple[int, ...] = zarr.open_array(f"{root}/0", mode="r").shape
    return shape


def whole_image(way: str, path: str, plain: str) -> Repeated:
    """Return the task of reading all pixels of level 0; imports and opening are not timed, nor is the comparison."""
    import zarr

    expected = zarr.open_array(f"{plain}/0", mode="r")
    read = _READERS[way](path)

    def check(pixels: Any) -> None:
        assert np.array_equal(pixels, expected[:])

    return Repeated(read, check)


def _open(path: str) -> Callable[[], Any]:
    import ozx

    array = ozx.open(path)["0"]
    return lambda: array[:]


def _fsspec(path: str) -> Callable[[], Any]:
    import zarr

    import ozx

    ozx.use_pipeline()
    array = zarr.open_array(f"ozx://{path}/0", mode="r")
    return lambda: array[:]


def _directory(path: str) -> Callable[[], Any]:
    import zarr

    array = zarr.open_array(f"{path}/0", mode="r")
    return lambda: array[:]


def _xarray(path: str) -> Callable[[], Any]:
    import xarray

    to_numpy: Callable[[], Any] = xarray.open_dataset(path)["image"].to_numpy
    return to_numpy


def _dask(path: str) -> Callable[[], Any]:
    import dask.array

    import ozx

    array = dask.array.from_array(ozx.open(path)["0"], chunks=(1, 1024, 1024))
    return lambda: array.compute(scheduler="threads")


def _napari(path: str) -> Callable[[], Any]:
    from ozx.integrations.napari.reading import read_layers

    levels = [data[0] if isinstance(data, list) else data for data, _, _ in read_layers(path)]
    return lambda: np.stack([level.compute(scheduler="threads") for level in levels])


def _store(path: str) -> Callable[[], Any]:
    import zarr

    import ozx

    array = zarr.open_group(ozx.OzxStore(path), mode="r")["0"]
    return lambda: array[:]


def _tensorstore(path: str) -> Callable[[], Any]:
    import tensorstore

    array = tensorstore.open(f"file://{path}/0/|zarr3:", read=True).result()
    return lambda: array.read().result()


def _tensorstore_zip(path: str) -> Callable[[], Any]:
    import tensorstore

    array = tensorstore.open(f"file://{path}|zip:0/|zarr3:", read=True).result()
    return lambda: array.read().result()


def _zarrs(path: str) -> Callable[[], Any]:
    import zarr

    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    return _directory(path)


def _zarrista(path: str) -> Callable[[], Any]:
    from zarrista import Array
    from zarrista.store import FilesystemStore

    array = Array.open(FilesystemStore(path), "/0")
    return lambda: np.asarray(array.retrieve_array_subset(...))


def _zarrista_zip(path: str) -> Callable[[], Any]:
    from zarrista import Array
    from zarrista.store import FilesystemStore, ZipStore

    folder, _, name = path.rpartition("/")
    array = Array.open(ZipStore(FilesystemStore(folder), name), "/0")
    return lambda: np.asarray(array.retrieve_array_subset(...))


def _fused(path: str) -> Callable[[], Any]:
    import zarr

    zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline.FusedCodecPipeline"})
    return _directory(path)


_READERS: dict[str, Callable[[str], Callable[[], Any]]] = {
    "open": _open,
    "fsspec": _fsspec,
    "directory": _directory,
    "store": _store,
    "xarray": _xarray,
    "napari": _napari,
    "dask": _dask,
    "tensorstore": _tensorstore,
    "tensorstore zip": _tensorstore_zip,
    "zarrs": _zarrs,
    "zarrista": _zarrista,
    "zarrista zip": _zarrista_zip,
    "fused": _fused,
}

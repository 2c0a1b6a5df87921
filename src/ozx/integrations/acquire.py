"""Write .ozx files with the settings of acquire-zarr: `open_stream` replaces `acquire_zarr.ZarrStream`."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np

from ozx.errors import UnsupportedError
from ozx.operations.stream import Camera, FrameStream, stream

_AXES = frozenset("tczyx")
_BY_KIND = {"TIME": "t", "CHANNEL": "c"}
_METHODS = {"MEAN": "mean", "DECIMATE": "nearest"}
_CODECS = {"BLOSC_LZ4": "blosc-lz4", "BLOSC_ZSTD": "blosc-zstd"}


def open_stream(settings: Any, path: str | os.PathLike[str], **options: Any) -> FrameStream:
    """Return a stream that writes an .ozx file with the settings of an acquire-zarr stream.

    One array becomes an image. Several arrays become a series with an image for each array. The output key of an array
    is the name of its image, and the position of its frames. Dimensions, type, compression, chunks, shards,
    downsampling, scales and units of the settings are used; the order of storage is that of OME-Zarr. Arrays without
    shards get automatic shards.

    Parameters
    ----------
    settings
        The `acquire_zarr.StreamSettings`; their `store_path` is not used.
    path
        The file to write.
    **options
        Other arguments of `ozx.stream`, such as `channels` and `sync_every`; they replace those of the settings.

    Raises
    ------
    UnsupportedError
        The settings have plates, dimensions or a kind of downsampling that ozx does not write, or arrays of different
        layouts.
    OzxError
        As for `ozx.stream`.
    """
    arrays = list(settings.arrays)
    if list(settings.hcs_plates):
        hint = "Describe the plate to ozx.stream, as in plate={'A/1': 2}."
        raise UnsupportedError("expected the settings of one or more arrays; found plates", hint=hint)
    if not arrays:
        raise UnsupportedError("expected the settings of one or more arrays; found no array")
    layout, *others = [{**_layout(array), **options} for array in arrays]
    for other in others:
        if different := [word for word in layout.keys() | other.keys() if layout.get(word) != other.get(word)]:
            words = ", ".join(sorted(different))
            hint = "Give these settings once for all arrays, as arguments such as chunks=None and shards='auto'."
            raise UnsupportedError(f"expected arrays of the same layout; found different {words}", hint=hint)
    cameras = {str(array.output_key or number): _camera(array) for number, array in enumerate(arrays)}
    described: dict[str, Any] = {"cameras": cameras} if others else asdict(*cameras.values())
    return stream(path, **{"force": bool(settings.overwrite), **described, **layout})


def _camera(array: Any) -> Camera:
    names = _axes(array)
    # acquire-zarr: the first dimension may have the size 0, which means that it is unknown.
    shape = [int(dimension.array_size_px) or None for dimension in array.dimensions]
    pairs = list(zip(names, array.dimensions, strict=True))
    scale = {name: float(dimension.scale) for name, dimension in pairs if dimension.scale}
    unit = {name: str(dimension.unit) for name, dimension in pairs if dimension.unit and name != "c"}
    return Camera(shape, _dtype(array.data_type), names, scale, unit)


def _axes(array: Any) -> list[str]:
    names = []
    for dimension in array.dimensions:
        name = str(dimension.name).lower()
        names.append(name if name in _AXES else _BY_KIND.get(dimension.kind.name, name))
    if not set(names) <= _AXES:
        raise UnsupportedError(f"expected the dimensions t, c, z, y and x; got {', '.join(names)}")
    return names


def _dtype(data_type: Any) -> np.dtype[Any]:
    return np.dtype(getattr(data_type, "name", str(data_type)).lower())


def _layout(array: Any) -> dict[str, Any]:
    """Return the arguments of `ozx.stream` for chunks, shards, codec and levels."""
    pairs = list(zip(_axes(array), array.dimensions, strict=True))
    words: dict[str, Any] = {"chunks": {name: int(dimension.chunk_size_px) for name, dimension in pairs}}
    if all(dimension.shard_size_chunks for _, dimension in pairs):
        words["shards"] = {
            name: int(dimension.chunk_size_px * dimension.shard_size_chunks) for name, dimension in pairs
        }
    compression = array.compression
    codec = None if compression is None else _CODECS.get(compression.codec.name)
    words["codec"] = "none" if codec is None else f"{codec}:{compression.level}"
    method = array.downsampling_method
    if method is None:
        words["downsample"] = "none"
    elif method.name in _METHODS:
        words["method"] = _METHODS[method.name]
    else:
        raise UnsupportedError(
            f"expected downsampling by {' or '.join(_METHODS)}; got {method.name}",
            hint="Choose one of these methods, or None to write no lower levels.",
        )
    return words

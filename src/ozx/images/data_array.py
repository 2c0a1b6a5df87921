"""A resolution level as an array of xarray, whose pixels are read when they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from ozx.errors import FormatError
from ozx.ome.model import Axis
from ozx.store.level import Level


class _LevelArray(BackendArray):
    """The pixels of one level, read when they are indexed."""

    __slots__ = ("_level", "dtype", "shape")

    def __init__(self, level: Level) -> None:
        self._level = level
        self.shape = level.shape
        self.dtype = level.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> NDArray[Any]:
        array, support = self._level.array, indexing.IndexingSupport
        read: Callable[[Any], Any]
        if self.shape != array.shape:  # a plate
            kind, read = support.BASIC, self._level.__getitem__
        elif isinstance(key, indexing.VectorizedIndexer):
            kind, read = support.VECTORIZED, array.vindex.__getitem__
        else:  # for outer indexing, xarray turns negative steps, which zarr refuses, into positive ones
            kind, read = support.OUTER, array.oindex.__getitem__
        return np.asarray(indexing.explicit_indexing_adapter(key, self.shape, kind, lambda at: np.asarray(read(at))))


def make_data_array(
    level: Level,
    axes: Sequence[Axis],
    channel_axis: int | None,
    channels: Sequence[str | None],
    name: str,
    title: str | None,
    where: str,
) -> xr.DataArray:
    """Return a level with named dimensions, and coordinates in the units of the axes; those of `channels` are names."""
    dims = [axis.name or f"dim_{number}" for number, axis in enumerate(axes)]
    if len(set(dims)) != len(dims):
        raise FormatError(f"{where}: expected axes of different names, found {', '.join(dims)}")
    pixels = xr.Variable(
        dims, indexing.LazilyIndexedArray(_LevelArray(level)), {} if title is None else {"long_name": title}
    )
    coordinates = dict(_coordinates(level, axes, dims, channel_axis, channels))
    found = xr.DataArray(pixels, coordinates, name="labels" if name in dims else name)
    found.encoding = {"preferred_chunks": dict(zip(dims, level.chunks, strict=True))}
    return found


def _coordinates(
    level: Level, axes: Sequence[Axis], dims: Sequence[str], channel_axis: int | None, channels: Sequence[str | None]
) -> Iterator[tuple[str, xr.Variable]]:
    for number, (dim, axis, length) in enumerate(zip(dims, axes, level.shape, strict=True)):
        if number == channel_axis:
            # An incomplete list of names would be ambiguous.
            if len(channels) == length and None not in channels:
                yield dim, xr.Variable((dim,), np.array(channels))
        elif level.scale is not None and level.translation is not None:
            positions = np.arange(length) * level.scale[number] + level.translation[number]
            yield dim, xr.Variable((dim,), positions, {} if axis.unit is None else {"units": axis.unit})

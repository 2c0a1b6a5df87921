"""Where the pixels of an image come from: what the pyramid asks for, and arrays that answer."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArrayLike", "ArraySource", "FillingSource", "Part", "PixelSource", "part_of"]

Region = tuple[slice, ...]


@runtime_checkable
class PixelSource(Protocol):
    """Pixels of one image, level 0, read in blocks from several threads.

    Attributes
    ----------
    axes
        Names in OME order, for example ``("t", "c", "z", "y", "x")``.
    shape
        Lengths of the axes.
    dtype
        The type of the pixels, in native byte order.
    read_alignment
        Lengths of what is decoded together (a tile, a strip; of interleaved samples all channels). Blocks that are
        asked for are multiples of it where they can be.
    """

    axes: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read_alignment: tuple[int, ...]

    def read(self, region: Region, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return a block, C-contiguous, or fill `out` with it; safe in several threads at once.

        Each segment that the block touches is decoded once per call.
        """


@runtime_checkable
class FillingSource(PixelSource, Protocol):
    """A source that puts zeros in the place of what it cannot read, and tells."""

    def damage_in(self, region: Region) -> tuple[str, ...]:
        """Return what of a block that was read could not be, one sentence each."""


class ArrayLike(Protocol):
    """What pixels come from: NumPy, dask, zarr and other arrays; any that has these and gives out slices."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the dimensions."""

    @property
    def dtype(self) -> Any:
        """The type of the pixels."""

    def __getitem__(self, key: Any) -> Any:
        """Return a part that NumPy can take as an array."""


class ArraySource:
    """The pixels of an array: NumPy's, dask's, zarr's, or any that gives out slices.

    Parameters
    ----------
    array
        The array.
    axes
        The names of its dimensions.

    Examples
    --------
    >>> source = ArraySource(np.arange(12, dtype=">u2").reshape(3, 4), ("y", "x"))
    >>> source.dtype, source.read((slice(1, 2), slice(0, 2))).tolist()
    (dtype('uint16'), [[4, 5]])
    """

    def __init__(self, array: ArrayLike, axes: tuple[str, ...]) -> None:
        self._array = array
        self.axes = axes
        self.shape = tuple(map(int, array.shape))
        self.dtype = np.dtype(array.dtype).newbyteorder("=")
        self.read_alignment = _read_alignment(array)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: of a graph of dask only what this array needs, not all that it was sliced from."""
        if not hasattr(self._array, "__dask_graph__"):
            return self.__dict__
        dask: Any = importlib.import_module("dask")  # no dependency: whoever has such an array has dask
        (array,) = dask.optimize(self._array)
        return {**self.__dict__, "_array": array}

    def part(self, region: Region) -> Part:
        """Return a block; see `part_of`."""
        if not (isinstance(self._array, np.ndarray) or hasattr(self._array, "compute")):
            return Part(self, region)
        lengths = [part.indices(length)[:2] for part, length in zip(region, self.shape, strict=True)]
        return Part(
            ArraySource(self._array[region], self.axes), tuple(slice(0, stop - start) for start, stop in lengths)
        )

    def read(self, region: Region, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return a block of the array, or fill `out` with it."""
        part = self._array[region]
        compute = getattr(part, "compute", None)
        if compute is not None:
            # Dask: the threads are ours; its own would wait for each other, and a cluster's client would wait for us.
            part = compute(scheduler="synchronous")
        block = np.asarray(part)
        if out is None:
            return np.ascontiguousarray(block, self.dtype)
        out[...] = block
        return out


@dataclass(frozen=True, slots=True)
class Part:
    """A block that nobody has read yet; can be pickled where its source can."""

    source: PixelSource
    region: Region

    def read(self) -> NDArray[Any]:
        """Return its pixels."""
        return self.source.read(self.region)

    def damage(self) -> tuple[str, ...]:
        """Return what of it could not be read, and is zeros, once it was read."""
        return self.source.damage_in(self.region) if isinstance(self.source, FillingSource) else ()


def part_of(source: PixelSource, region: Region) -> Part:
    """Return a block of a source, with no more of an array in memory, or of a graph of dask, than the block needs.

    Examples
    --------
    >>> part = part_of(ArraySource(np.arange(12).reshape(3, 4), ("y", "x")), (slice(1, 2), slice(0, 2)))
    >>> part.source.shape, part.read().tolist()
    ((1, 2), [[4, 5]])
    """
    return source.part(region) if isinstance(source, ArraySource) else Part(source, region)


def _read_alignment(array: ArrayLike) -> tuple[int, ...]:
    """Return the lengths of a stored or computed chunk; single pixels where the array is no mosaic."""
    # zarr: whole shards where reading part of one costs nearly as much; dask: `chunksize` is the largest chunk.
    for name in ("shards", "chunksize", "chunks"):
        lengths = getattr(array, name, None)
        if isinstance(lengths, tuple) and all(isinstance(length, int) for length in lengths) and lengths:
            return tuple(max(1, length) for length in lengths)
    return (1,) * len(array.shape)

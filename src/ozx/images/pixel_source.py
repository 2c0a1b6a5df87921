"""Sources of pixels: the interface from which pyramids are made, and its implementation for arrays."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ozx.flow.tasks import check_same, look_at
from ozx.images.block_checks import check_block, with_checked_blocks

#: A block: a slice for each axis.
Region = tuple[slice, ...]


@runtime_checkable
class PixelSource(Protocol):
    """The full-resolution pixels of one image, read in blocks by several threads."""

    axes: tuple[str, ...]  # names in OME order, for example ``("t", "c", "z", "y", "x")``
    shape: tuple[int, ...]  # lengths of the axes
    dtype: np.dtype[Any]  # the pixel type, in native byte order
    # Lengths of the unit of decoding: a tile or a strip, with all channels if their samples are interleaved. Requested
    # blocks are multiples of this unit if possible.
    read_alignment: tuple[int, ...]

    def read(self, region: Region, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read a C-contiguous block, into `out` if it is given; safe to call from several threads.

        Each segment that the block touches is decoded once per call.
        """


@runtime_checkable
class FillingSource(PixelSource, Protocol):
    """A pixel source that replaces unreadable pixels by zeros, and describes the unreadable parts."""

    def damage_in(self, region: Region) -> tuple[str, ...]:
        """Return descriptions of the unreadable parts of a block that was read."""


class ArrayLike(Protocol):
    """An array that can be sliced, such as an array of NumPy, dask or zarr."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the array's dimensions."""

    @property
    def dtype(self) -> Any:
        """The type of the pixels."""

    def __getitem__(self, key: Any) -> Any:
        """Return a part of the array, as an object that NumPy can convert to an array."""


class ArraySource:
    """A source for the pixels of any array that can be sliced."""

    def __init__(self, array: ArrayLike, axes: tuple[str, ...], *, start: tuple[int, ...] | None = None) -> None:
        self._array = with_checked_blocks(array, axes) if start is None else array
        self._start = (0,) * len(axes) if start is None else start
        self.axes = axes
        self.shape = tuple(map(int, array.shape))
        self.dtype = np.dtype(array.dtype).newbyteorder("=")
        self.read_alignment = _read_alignment(self._array)
        self._is_reduced = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling; a dask graph is reduced to the part that this array needs."""
        if not self._is_reduced and hasattr(self._array, "__dask_graph__"):
            dask: Any = importlib.import_module("dask")  # not a dependency: the owner of such an array has dask
            # Optimize only once, in the thread that submits the block: dask pickles it there to hash it. A client's
            # thread pickles it again; two threads that optimize can wait for each other's locks for ever (Python 3.11).
            (self._array,) = dask.optimize(self._array)
            self._is_reduced = True
        root = getattr(getattr(self._array, "store", None), "root", None)
        if not isinstance(root, Path):
            return self.__dict__
        # A zarr array on a disk: where a worker sees another folder, missing chunks would read as the fill value.
        if not root.is_absolute():
            zarr, root = importlib.import_module("zarr"), root.absolute()
            store = zarr.storage.LocalStore(root, read_only=True)
            self._array = zarr.open_array(store, path=getattr(self._array, "path", ""), mode="r")
        return {**self.__dict__, "_place": (str(root), look_at(str(root)))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if place := state.pop("_place", None):
            check_same(*place)
        self.__dict__.update(state)

    def part(self, region: Region) -> Part:
        """Return a block to read later; see `part_of`."""
        if not (isinstance(self._array, np.ndarray) or hasattr(self._array, "compute")):
            return Part(self, region)
        place = self._place(region)
        taken = ArraySource(self._array[region], self.axes, start=tuple(part.start for part in place))
        return Part(taken, tuple(slice(0, part.stop - part.start) for part in place))

    def read(self, region: Region, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read a block of the array, into `out` if it is given."""
        part = self._array[region]
        compute = getattr(part, "compute", None)
        if compute is not None:
            # Compute in this thread: dask's threads would wait for each other, and a cluster's client for this thread.
            part = compute(scheduler="synchronous")
        block = check_block(part, self._place(region), axes=self.axes, dtype=self.dtype)
        if out is None:
            return np.ascontiguousarray(block, self.dtype)
        out[...] = block
        return out

    def _place(self, region: Region) -> Region:
        """Return the position of a region in the whole array."""
        bounds = (part.indices(length)[:2] for part, length in zip(region, self.shape, strict=True))
        return tuple(slice(first + at, last + at) for (first, last), at in zip(bounds, self._start, strict=True))


@dataclass(frozen=True, slots=True)
class Part:
    """A block of pixels to read later from its source; a part can be pickled if its source can be pickled."""

    source: PixelSource
    region: Region

    def read(self) -> NDArray[Any]:
        """Read and return the block's pixels."""
        return self.source.read(self.region)

    def damage(self) -> tuple[str, ...]:
        """Return descriptions of the block's unreadable parts, which `read` replaced by zeros."""
        return self.source.damage_in(self.region) if isinstance(self.source, FillingSource) else ()


def part_of(source: PixelSource, region: Region) -> Part:
    """Return a block to read later from a source; the block holds only the needed part of an array or dask graph."""
    return source.part(region) if isinstance(source, ArraySource | MaskSource) else Part(source, region)


class MaskSource:
    """The pixels of a boolean source as the numbers 0 and 1, because the pixels of label images are integers."""

    def __init__(self, source: PixelSource) -> None:
        self._source = source
        self.axes, self.shape, self.read_alignment = source.axes, source.shape, source.read_alignment
        self.dtype = np.dtype("uint8")

    def part(self, region: Region) -> Part:
        """Return a block to read later; see `part_of`."""
        part = part_of(self._source, region)
        return Part(MaskSource(part.source), part.region)

    def read(self, region: Region, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read a block, into `out` if it is given."""
        block = self._source.read(region)
        if out is None:
            return block.view(self.dtype)
        out[...] = block
        return out

    def damage_in(self, region: Region) -> tuple[str, ...]:
        """Return descriptions of the unreadable parts of a block that was read."""
        return Part(self._source, region).damage()


def _read_alignment(array: ArrayLike) -> tuple[int, ...]:
    """Return the shape of an array's stored or computed chunks; 1 along each axis if it has no chunks."""
    # zarr: whole shards if reading a part costs nearly as much; dask: `chunksize` is the largest chunk.
    for name in ("shards", "chunksize", "chunks"):
        try:
            lengths = getattr(array, name, None)
        except NotImplementedError:  # zarr: a rectilinear grid has no such shape
            continue
        if isinstance(lengths, tuple) and all(isinstance(length, int) for length in lengths) and lengths:
            return tuple(max(1, length) for length in lengths)
    return (1,) * len(array.shape)

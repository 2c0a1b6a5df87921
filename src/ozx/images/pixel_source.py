"""Sources of pixels: the interface from which pyramids are made, and arrays, whose blocks are checked."""

from __future__ import annotations

import importlib
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ozx.errors import UsageError
from ozx.flow.tasks import check_same, look_at
from ozx.ome.subset.levels import Box

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

    def damage_in(self, region: Region) -> tuple[str, ...]:
        """Return descriptions of the unreadable parts of a block that was read, whose pixels became zeros."""


#: A block to read later, in any process that can unpickle its source.
Part = tuple[PixelSource, Region]


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
        dtype = np.dtype(array.dtype)
        self.dtype = dtype if dtype.kind == "T" else dtype.newbyteorder("=")  # texts of any length have no order
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
            return self, region
        place = self._place(region)
        taken = ArraySource(self._array[region], self.axes, start=tuple(part.start for part in place))
        return taken, tuple(slice(0, part.stop - part.start) for part in place)

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

    def damage_in(self, region: Region) -> tuple[str, ...]:
        """Return nothing, because an unreadable part of an array is an error."""
        del region
        return ()

    def _place(self, region: Region) -> Region:
        """Return the position of a region in the whole array."""
        bounds = (part.indices(length)[:2] for part, length in zip(region, self.shape, strict=True))
        return tuple(slice(first + at, last + at) for (first, last), at in zip(bounds, self._start, strict=True))


def part_of(source: PixelSource, region: Region) -> Part:
    """Return a block to read later from a source; the block holds only the needed part of an array or dask graph."""
    return source.part(region) if isinstance(source, ArraySource | MaskSource) else (source, region)


#: Colours of more values would make metadata that programs read slowly.
MOST_VALUES = 10_000
# Full-resolution pixels read at once for a coarser level.
_MOST_PIXELS = 1 << 22


class MaskSource:
    """The pixels of a mask with the axes of a label image; of a coarser level, every `factors`-th pixel.

    `dimensions` has the dimension of the mask for each axis, None for an axis that the mask lacks. Booleans become 0
    and 1, because the pixels of label images are integers. The first pixel stands for those that it replaces, as in
    `downsampling.halve` with the method ``nearest``. With `knows_values`, the source knows the values that were read;
    without, it can go to another process.
    """

    def __init__(
        self,
        source: PixelSource,
        axes: tuple[str, ...],
        shape: tuple[int, ...],
        dimensions: Sequence[int | None],
        *,
        factors: Sequence[float] = (),
        knows_values: bool = False,
    ) -> None:
        self._source, self._dimensions = source, dimensions
        # Those that were read; None if they are not asked for, or too many to give each a colour.
        self._values: set[int] | None = set() if knows_values else None
        self._lock: AbstractContextManager[object] = threading.Lock() if knows_values else nullcontext()
        self._factors = factors or (1,) * len(axes)
        self._is_sampled = any(factor != 1 for factor in self._factors)
        self.axes, self.shape = axes, shape
        self.dtype = np.dtype("uint8") if source.dtype.kind == "b" else source.dtype
        known = source.read_alignment
        self.read_alignment = tuple(1 if found is None or factors else known[found] for found in dimensions)

    def part(self, region: Region) -> Part:
        """Return a block to read later; see `part_of`."""
        if self._is_sampled or self._values is not None:
            return self, region
        source, _ = part_of(self._source, self._wanted(region))
        if source is self._source:
            return self, region
        inside = tuple(slice(0, part.stop - part.start) for part in region)
        return MaskSource(source, self.axes, tuple(part.stop for part in inside), self._dimensions), inside

    def read(self, region: Region, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read a block, into `out` if it is given."""
        places = [self._places(*axis) for axis in zip(region, self._factors, self._dimensions, strict=True)]
        spans = [slice(int(place[0]), int(place[-1]) + 1) for place in places]
        lengths = [part.stop - part.start for part in region]
        if self._is_sampled and math.prod(span.stop - span.start for span in spans) > _MOST_PIXELS:
            long = [axis for axis, length in enumerate(lengths) if length > 1]
            if long:
                out = np.empty(lengths, self.dtype) if out is None else out
                self._read_halves(region, out, max(long, key=lambda axis: spans[axis].stop - spans[axis].start))
                return out
        block = self._block(spans)
        if self._is_sampled:
            block = block[np.ix_(*(place - place[0] for place in places))]
        if out is None:
            out = np.ascontiguousarray(block)
        else:
            out[...] = block
        if self._values is not None and out.size:
            self._see(out.reshape(-1))
        return out

    def damage_in(self, region: Region) -> tuple[str, ...]:
        """Return descriptions of the unreadable parts of a block that was read; a sampled mask has none."""
        return () if self._is_sampled else self._source.damage_in(self._wanted(region))

    def values(self) -> list[int] | None:
        """Return the values other than 0 that were read, in ascending order; None if there are too many."""
        return None if self._values is None else sorted(int(value) for value in self._values if value)

    def _see(self, flat: NDArray[Any]) -> None:
        """Add the values of a block."""
        # Only the first pixel of each run of equal pixels is sorted.
        starts = np.concatenate((flat[:1], flat[1:][flat[1:] != flat[:-1]]))
        new = np.unique(starts).tolist()
        with self._lock:
            if self._values is not None:
                self._values.update(new)
                self._values = self._values if len(self._values) <= MOST_VALUES else None

    def _places(self, part: slice, factor: float, dimension: int | None) -> NDArray[np.int64]:
        """Return the indexes in the mask along one axis."""
        length = 1 if dimension is None else self._source.shape[dimension]
        return np.minimum((np.arange(part.start, part.stop) * factor).astype(np.int64), length - 1)

    def _read_halves(self, region: Region, out: NDArray[Any], axis: int) -> None:
        """Read a large block in two halves along `axis`."""
        part, middle = region[axis], out.shape[axis] // 2
        for inside in (slice(0, middle), slice(middle, out.shape[axis])):
            half = slice(part.start + inside.start, part.start + inside.stop)
            self.read((*region[:axis], half, *region[axis + 1 :]), out[(slice(None),) * axis + (inside,)])

    def _wanted(self, spans: Sequence[slice]) -> Region:
        """Return the region of the mask for a block with the axes of the label image."""
        wanted = [slice(0, 1)] * len(self._source.shape)
        for dimension, span in zip(self._dimensions, spans, strict=True):
            if dimension is not None:
                wanted[dimension] = span
        return tuple(wanted)

    def _block(self, spans: Sequence[slice]) -> NDArray[Any]:
        """Return a block of the mask with the axes of the label image; dropped axes have the length 1."""
        kept = [dimension for dimension in self._dimensions if dimension is not None]
        order = [*kept, *(other for other in range(len(self._source.shape)) if other not in kept)]
        block = self._source.read(self._wanted(spans)).view(self.dtype).transpose(order)
        return block.reshape([span.stop - span.start for span in spans])


class CroppedSource:
    """The pixels of a source in a box."""

    def __init__(self, source: PixelSource, box: Box) -> None:
        self._source, self._box = source, box
        self.axes, self.shape, self.dtype = source.axes, box.shape, source.dtype
        self.read_alignment = tuple(map(min, source.read_alignment, box.shape))

    def read(self, region: Region, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read a block, into `out` if it is given."""
        parts = self._parts(region)
        if len(parts) == 1:
            return self._source.read(parts[0], out)
        (axis,) = self._box.picked  # else there is one part
        return np.concatenate([self._source.read(part) for part in parts], axis, out)

    def damage_in(self, region: Region) -> tuple[str, ...]:
        """Return descriptions of the unreadable parts of a block that was read."""
        return tuple(dict.fromkeys(found for part in self._parts(region) for found in self._source.damage_in(part)))

    def _parts(self, region: Region) -> list[Region]:
        """Return the regions of the source that a block consists of: one for each run of picked pixels."""
        ends = [part.indices(length)[:2] for part, length in zip(region, self.shape, strict=True)]
        moved = [slice(at + start, at + stop) for at, (start, stop) in zip(self._box.start, ends, strict=True)]
        if not self._box.picked:
            return [tuple(moved)]
        ((axis, picked),), runs = self._box.picked.items(), list[slice]()
        for pixel in picked[slice(*ends[axis])]:
            first = runs.pop().start if runs and runs[-1].stop == pixel else pixel
            runs.append(slice(first, pixel + 1))
        return [(*moved[:axis], run, *moved[axis + 1 :]) for run in runs]


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


# Checks that the blocks of an array are what the array declares.

# The blocks along an axis: their starts if their lengths are equal, or all their edges.
_Grid = range | tuple[int, ...]

# The functions by which dask reads parts of arrays, by module and name.
_READERS = {("dask.array.core", name) for name in ("getter", "getter_nofancy", "getter_inline")}
_READERS |= {("dask.array.chunk", "getitem"), ("_operator", "getitem")}


def check_block(block: Any, region: tuple[slice, ...], *, axes: Sequence[str], dtype: np.dtype[Any]) -> Any:
    """Return a block of an array as an array of NumPy, if it has the declared shape and type and no masked pixels.

    A block of another type is accepted if the declared type holds all its values. Floating-point numbers may be
    rounded.
    """
    found = np.asanyarray(block)
    shape = tuple(part.stop - part.start for part in region)
    if found.shape != shape:
        raise UsageError(
            f"expected a block of the shape {shape} at {_place(region, axes)}; found the shape {found.shape}",
            hint="If a function changes the shape of the blocks of a dask array, give dask the new shapes: "
            "array.map_blocks(function, chunks=...).",
        )
    if np.ma.is_masked(found):
        count = int(np.ma.getmaskarray(found).sum())
        raise UsageError(
            f"expected pixels without a mask at {_place(region, axes)}; found {count:,} masked pixels",
            hint="OME-Zarr has no masks. Fill the pixels first: array.filled(0), or dask.array.ma.filled(array, 0).",
        )
    is_rounded = found.dtype.kind == dtype.kind and dtype.kind in "fc"
    if not is_rounded and not np.can_cast(found.dtype, dtype, "safe"):
        raise UsageError(
            f"expected a block of the type {dtype} at {_place(region, axes)}; found the type {found.dtype}",
            hint=f'Convert each block where it is computed, as in block.astype("{dtype}"). The astype of a dask array '
            "does nothing if the array declares this type.",
        )
    return np.asarray(found)


def with_checked_blocks(array: Any, axes: Sequence[str]) -> Any:
    """Return a dask array, or the one in an array of xarray, with a check of each block that it computes.

    Any other array is returned unchanged, and so is an array whose graph only reads.

    Without this check, dask shifts blocks of another shape together, and cuts regions out of blocks that are too large.
    """
    graph = array.__dask_graph__() if hasattr(array, "__dask_graph__") else None
    if graph is None:
        return array
    # Where dask only reads an array, it reads no more than the requested region. With a check of whole blocks, dask
    # would read whole blocks.
    if all(map(_is_read, _iter_tasks(graph))):
        return array
    array = array.data if hasattr(array, "dims") else array
    grid = tuple(map(_grid, array.chunks))
    meta = np.empty((0,) * array.ndim, array.dtype)
    return array.map_blocks(_check_computed, grid=grid, declared=array.dtype, axes=tuple(axes), meta=meta)


def _iter_tasks(graph: Any) -> Iterator[Any]:
    """Yield the tasks of a dask graph; of a layer that applies one function to all blocks, yield one task."""
    for layer in getattr(graph, "layers", {"": graph}).values():
        template = getattr(layer, "task", None)
        if template is not None:
            yield template
        else:
            # Before dask 2024.12, such a layer has its one task in `dsk`.
            yield from getattr(layer, "dsk", layer).values()


def _is_read(task: Any) -> bool:
    """Return whether a task only reads a part of an array, contains pixels, or is another name of a task."""
    first = task[0] if isinstance(task, tuple) and task else None  # tasks before dask 2024.12
    function = getattr(task, "func", first if callable(first) else None)
    return function is None or (getattr(function, "__module__", None), getattr(function, "__name__", None)) in _READERS


def _check_computed(
    block: Any, *, grid: tuple[_Grid, ...], axes: Sequence[str], declared: np.dtype[Any], block_id: tuple[int, ...] = ()
) -> Any:
    # map_blocks adds `block_id`, and would keep an argument `dtype` to itself.
    region = tuple(_slice(lengths, at) for lengths, at in zip(grid, block_id, strict=True))
    return check_block(block, region, axes=axes, dtype=declared)


def _grid(chunks: tuple[int, ...]) -> _Grid:
    """Return the position of blocks along an axis, in a short form if they are equal: each task may be pickled."""
    is_regular = set(chunks[:-1]) <= {chunks[0]} and chunks[-1] <= chunks[0]
    return range(0, sum(chunks), chunks[0]) if is_regular and chunks[0] else (0, *accumulate(chunks))


def _slice(grid: _Grid, at: int) -> slice:
    """Return the position of block number `at` along an axis."""
    if isinstance(grid, range):
        return slice(grid[at], min(grid[at] + grid.step, grid.stop))
    return slice(grid[at], grid[at + 1])


def _place(region: tuple[slice, ...], axes: Sequence[str]) -> str:
    return ", ".join(f"{axis}={part.start}:{part.stop}" for axis, part in zip(axes, region, strict=True))

"""Checks that the blocks of an array are what the array declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ozx.errors import UsageError

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

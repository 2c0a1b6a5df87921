"""Find the inner chunks that a numpy selection overlaps, and the place of each selected pixel."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Lengths = tuple[int, ...]
Selection = tuple[Any, ...]
Bounds = tuple[int, int, int]  # the first index, the index behind the last one, and the step


# The part of an inner chunk that is inside a selection: the grid coordinates of the chunk; the part of the chunk, None
# for the whole chunk; and the matching part of the result, () for all of it. A plain tuple, as there may be very many.
Overlap = tuple[Lengths, tuple[slice, ...] | None, tuple[slice, ...]]


class BoundingBox(NamedTuple):
    """The smallest box of whole inner chunks that contains a selection.

    `first` and `shape` are in chunks. `selection` is relative to the box, in pixels; `chunks` are the chunks that the
    selection touches.
    """

    first: Lengths
    shape: Lengths
    selection: Selection
    chunks: list[Lengths]

    def part(self, chunk: Lengths, extents: Lengths) -> tuple[slice, ...]:
        """Return the place of a chunk in the box, in pixels."""
        return tuple(
            slice((number - first) * extent, (number - first + 1) * extent)
            for number, first, extent in zip(chunk, self.first, extents, strict=True)
        )


def has_no_arrays(selection: Selection) -> bool:
    """Return whether a selection consists of integers and of slices that go forwards, with steps or without."""
    return all(isinstance(part, int) or (type(part) is slice and (part.step or 1) > 0) for part in selection)


def is_basic(selection: object) -> bool:
    """Return whether a selection consists of integers and slices without steps, so that its result is a view."""
    if not isinstance(selection, tuple):
        return False
    for part in selection:
        if type(part) is slice:
            if part.step not in (None, 1):
                return False
        elif not isinstance(part, int):
            return False
    return True


def covers(selection: object, shape: Lengths) -> bool:
    """Return whether a selection of slices covers a whole chunk."""
    if not isinstance(selection, tuple) or len(selection) != len(shape):
        return False
    for part, length in zip(selection, shape, strict=True):  # a loop, as there may be very many chunks
        if type(part) is not slice or part.start not in (0, None) or part.stop != length or part.step not in (1, None):
            return False
    return True


def iter_overlaps(selection: Selection, shape: Lengths, chunk: Lengths) -> Iterable[Overlap]:
    """Return the parts of chunks that are inside a selection of integers and slices that go forwards.

    The part of the result has one slice per axis, also for axes that an integer selects.
    """
    return overlaps([_bounds(part, length) for part, length in zip(selection, shape, strict=True)], chunk)


def overlaps(bounds: Sequence[Bounds], chunk: Lengths) -> Iterable[Overlap]:
    """Return the parts of chunks that are inside a selection with these bounds, as `iter_overlaps` does."""
    only = _only_overlap(bounds, chunk)
    if only is not None:
        return (only,)
    axes = [_axis(*part, extent) for part, extent in zip(bounds, chunk, strict=True)]
    numbers, insides, targets, are_whole = zip(*axes, strict=True)
    flags = map(all, itertools.product(*are_whole))
    parts = (None if is_whole else part for part, is_whole in zip(itertools.product(*insides), flags, strict=True))
    return zip(itertools.product(*numbers), parts, itertools.product(*targets), strict=True)


def _only_overlap(bounds: Sequence[Bounds], chunk: Lengths) -> Overlap | None:
    """Return the overlap of a selection inside one chunk, as usual for small windows; None for other selections."""
    numbers, insides, is_whole = [], [], True
    for (begin, end, step), extent in zip(bounds, chunk, strict=True):
        number = begin // extent
        low = begin - number * extent
        high = low + end - begin
        if high <= low or high > extent:
            return None
        numbers.append(number)
        insides.append(slice(low, high, step))
        is_whole = is_whole and step == 1 and high - low == extent
    return tuple(numbers), None if is_whole else tuple(insides), ()


def _axis(begin: int, end: int, step: int, chunk: int) -> tuple[list[int], list[slice], list[slice], list[bool]]:
    """Return the chunks along one axis, the part of each, its place in the result, and whether it is whole."""
    numbers, insides, targets, are_whole = [], [], [], []
    done = 0
    while begin < end:
        number = begin // chunk
        low = begin - number * chunk
        high = min(chunk, end - begin + low)
        count = (high - low + step - 1) // step
        numbers.append(number)
        insides.append(slice(low, high, step))
        targets.append(slice(done, done + count))
        are_whole.append(count == chunk)
        done += count
        begin += count * step
    return numbers, insides, targets, are_whole


def _bounds(part: slice | int, length: int) -> Bounds:
    return part.indices(length) if isinstance(part, slice) else (int(part), int(part) + 1, 1)


def bounding_box(selection: Selection, shape: Lengths, chunk: Lengths) -> BoundingBox | None:
    """Return the box around a selection with index arrays or steps; None for empty and for other selections."""
    positions: list[NDArray[np.int64] | slice] = []
    for part, length in zip(selection, shape, strict=True):
        if isinstance(part, slice):
            positions.append(slice(*part.indices(length)))
            continue
        indices = np.asarray(part)
        if indices.dtype.kind == "b" and indices.ndim == 1:
            indices = np.flatnonzero(indices)
        if indices.dtype.kind not in "iu" or not indices.size or int(indices.min()) < 0:
            return None
        positions.append(indices.astype(np.int64))
    first, counts, moved, touched = [], [], [], []
    for found, step in zip(positions, chunk, strict=True):
        members = np.arange(found.start, found.stop, found.step) if isinstance(found, slice) else found
        if not members.size:
            return None
        low, high = int(members.min()) // step, int(members.max()) // step
        first.append(low)
        counts.append(high - low + 1)
        touched.append(np.unique(members // step) if isinstance(found, slice) else members // step)
        moved.append(_moved(found, low * step))
    return BoundingBox(tuple(first), tuple(counts), tuple(moved), list(_iter_touched(positions, touched)))


def _iter_touched(positions: list[Any], touched: list[NDArray[np.int64]]) -> Iterator[Lengths]:
    """Yield the coordinates of the chunks that a selection overlaps, each once."""
    arrays = [number for number, found in enumerate(positions) if not isinstance(found, slice)]
    points: list[Lengths] = [()]
    if arrays:
        joined = np.stack([part.ravel() for part in np.broadcast_arrays(*(touched[number] for number in arrays))])
        points = [tuple(point) for point in np.unique(joined, axis=1).T.tolist()]
    slices = [touched[number].tolist() for number in range(len(positions)) if number not in arrays]
    for point in points:
        for rest in itertools.product(*slices):
            by_array, by_slice = iter(point), iter(rest)
            yield tuple(next(by_array) if number in arrays else next(by_slice) for number in range(len(positions)))


def _moved(found: NDArray[np.int64] | slice, by: int) -> Any:
    if not isinstance(found, slice):
        return found - by
    stop = found.stop - by
    return slice(found.start - by, stop if stop >= 0 else None, found.step)

"""Downsampling of blocks of pixels by two along some axes.

The last pixel of an odd length stands alone: n pixels become ``ceil(n / 2)``. So a new pixel depends only on the
old pixels at its position, and blocks that begin at even positions can be halved one by one.

``mean``
    Integers and booleans are rounded, halves to the even neighbour, without overflow. Among floating-point numbers, NaN
    is ignored; the mean is NaN if all are NaN. Sums have 64 bits.
``nearest``
    The first pixel of each group.
``mode``
    The most frequent value of a group; of several, the first in C order. NaN is a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ozx.ome.downscaling import Method

# Strips of this many bytes and their results stay in the processor's cache: 16-bit pixels are 1.5 times as fast.
_STRIP = 256 << 10

_WIDER = {1: 2, 2: 4, 4: 8}


def halved_shape(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Return `shape` with the lengths along `axes` halved."""
    return tuple(-(-length // 2) if axis in axes else length for axis, length in enumerate(shape))


def halve(block: NDArray[Any], axes: Sequence[int], method: Method) -> NDArray[Any]:
    """Return a block, downsampled by two along the dimensions `axes`, as a new array of the same type."""
    if method == "nearest":
        return np.ascontiguousarray(block[_every_second(block.ndim, axes)])
    half = np.empty(halved_shape(block.shape, axes), block.dtype)
    fill = _mean_into if method == "mean" else _mode_into
    for inside, outside in _strips(block, axes):
        fill(_made_even(block[inside], axes), axes, half[outside])
    return half


def _every_second(ndim: int, axes: Sequence[int], first: Sequence[int] | None = None) -> tuple[slice, ...]:
    starts = dict.fromkeys(axes, 0) if first is None else dict(zip(axes, first, strict=True))
    return tuple(slice(starts[axis], None, 2) if axis in starts else slice(None) for axis in range(ndim))


def _strips(block: NDArray[Any], axes: Sequence[int]) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Yield the slices of each strip of a block, and the slices of the corresponding strip of the halved block."""
    steps = list(block.shape)
    for axis in range(block.ndim - 1):  # rows stay whole
        if prod(steps) * block.itemsize <= _STRIP:
            break
        least = 2 if axis in axes else 1
        rest = max(1, prod(steps[:axis]) * prod(steps[axis + 1 :]) * block.itemsize)
        steps[axis] = max(least, _STRIP // rest // least * least)
    starts = [range(0, length, max(1, step)) for length, step in zip(block.shape, steps, strict=True)]
    for corner in product(*starts):
        inside = tuple(slice(start, start + step) for start, step in zip(corner, steps, strict=True))
        yield (
            inside,
            tuple(
                slice(part.start // 2, -(-part.stop // 2)) if axis in axes else part for axis, part in enumerate(inside)
            ),
        )


def _made_even(block: NDArray[Any], axes: Sequence[int]) -> NDArray[Any]:
    """Return the block with even lengths along `axes`; the last pixel of an odd axis is repeated."""
    for axis in axes:
        if block.shape[axis] % 2:
            block = np.concatenate((block, block[(slice(None),) * axis + (slice(-1, None),)]), axis)
    return block


def _groups(block: NDArray[Any], axes: Sequence[int]) -> list[NDArray[Any]]:
    """Return views of the block: a view of the first pixel of every group, a view of the second pixel, and so on.

    A group is the neighbouring pixels that become one pixel.
    """
    return [block[_every_second(block.ndim, axes, first)] for first in product((0, 1), repeat=len(axes))]


def _mean_into(block: NDArray[Any], axes: Sequence[int], half: NDArray[Any]) -> None:
    if block.dtype.kind in "fc":
        _mean_of_floats(block, axes, half)
    elif block.dtype.itemsize == 8:
        _mean_of_long_integers(block, axes, half)
    elif block.dtype.kind == "b":
        _mean_of_integers(block.view(np.uint8), axes, half.view(np.uint8))
    else:
        _mean_of_integers(block, axes, half)


def _mean_of_integers(block: NDArray[Any], axes: Sequence[int], half: NDArray[Any]) -> None:
    """Write the mean of integers into `half`, computed in a wider integer type with bit shifts."""
    wide = np.dtype(f"{block.dtype.kind}{_WIDER[block.itemsize]}")
    rest = list(axes)
    if block.ndim - 1 in rest and block.flags.c_contiguous:
        rest.remove(block.ndim - 1)
        total = _sum_of_neighbours(block, wide)
    else:
        total = block.astype(wide)
    for axis in rest:
        first, second = _groups(total, (axis,))
        total = first + second
    _divide(total, len(axes))
    half[...] = total


def _sum_of_neighbours(block: NDArray[Any], wide: np.dtype[Any]) -> NDArray[Any]:
    """Return the sums of pairs of neighbouring pixels in each row, beginning with pixels 0 and 1."""
    pairs, bits = block.view(wide), wide.type(8 * block.itemsize)
    first = pairs & wide.type((1 << bits) - 1) if wide.kind == "u" else (pairs << bits) >> bits
    first += pairs >> bits
    return cast("NDArray[Any]", first)


def _divide(total: NDArray[Any], times: int) -> None:
    """Divide integers in place by ``2 ** times``; halves are rounded to even."""
    if times:
        kind = total.dtype.type
        odd = (total >> kind(times)) & kind(1)
        odd += kind((1 << times - 1) - 1)
        total += odd
        total >>= kind(times)


def _mean_of_long_integers(block: NDArray[Any], axes: Sequence[int], half: NDArray[Any]) -> None:
    """Write the mean of long integers into `half`, computed from quotients and remainders to avoid overflow."""
    kind, times = block.dtype.type, len(axes)
    quotient, remainder = np.zeros(half.shape, block.dtype), np.zeros(half.shape, block.dtype)
    for pixels in _groups(block, axes):
        quotient += pixels >> kind(times)
        remainder += pixels & kind((1 << times) - 1)
    if times:
        quotient += remainder >> kind(times)
        remainder &= kind((1 << times) - 1)
        middle = kind(1 << times - 1)
        quotient += ((remainder > middle) | ((remainder == middle) & ((quotient & kind(1)) == 1))).astype(kind)
    half[...] = quotient


def _mean_of_floats(block: NDArray[Any], axes: Sequence[int], half: NDArray[Any]) -> None:
    wide = np.dtype(np.complex128 if block.dtype.kind == "c" else np.float64)
    groups = _groups(block, axes)
    with np.errstate(all="ignore"):
        total = groups[0].astype(wide)
        for pixels in groups[1:]:
            total += pixels
        total /= len(groups)
        unsure = ~np.isfinite(total)
        if unsure.any():
            total[unsure] = _careful_mean(np.stack([pixels[unsure] for pixels in groups]).astype(wide))
        half[...] = total


def _careful_mean(pixels: NDArray[Any]) -> NDArray[Any]:
    """Return the mean along the first axis; NaN is ignored, and sums do not overflow to infinity."""
    is_known = ~np.isnan(pixels)
    shares = np.where(is_known, pixels, 0) / is_known.sum(axis=0)
    return np.where(is_known.any(axis=0), shares.sum(axis=0), np.nan)


def _mode_into(block: NDArray[Any], axes: Sequence[int], half: NDArray[Any]) -> None:
    if block.dtype.kind in "fc" and block.itemsize <= 8:  # so that NaN equals NaN
        block, half = block.view(f"u{block.itemsize}"), half.view(f"u{half.itemsize}")
    groups = _groups(block, axes)
    half[...] = groups[0]
    most = np.zeros(half.shape, np.uint8)
    for candidate in groups:
        count = np.zeros(half.shape, np.uint8)
        for pixels in groups:
            count += candidate == pixels
        better = count > most
        np.copyto(half, candidate, where=better)
        np.copyto(most, count, where=better)

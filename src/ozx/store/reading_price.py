"""Estimate the cost of reading a part of an array before reading it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import zarr

from ozx.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Price:
    """The cost of a read: the number of chunks to decode, their total decoded size, and one chunk's decoded size."""

    chunks: int
    decoded: int
    chunk: int

    def __str__(self) -> str:
        return f"{_amount(self.chunks)} chunks, which decode to {_size(self.decoded)}"

    def __add__(self, other: Price) -> Price:
        return Price(self.chunks + other.chunks, self.decoded + other.decoded, max(self.chunk, other.chunk))


def price_of(array: zarr.Array[Any], index: Sequence[slice | int]) -> Price:
    """Return the cost of reading a part of an array; for a sharded array, inner chunks are counted.

    `index` has one slice or number per dimension, steps positive.
    """
    met = 1
    for part, length, chunk in zip(index, array.shape, array.chunks, strict=True):
        if isinstance(part, slice):
            found = range(*part.indices(length))
            # len() of a range is at most sys.maxsize.
            count = -(-(found.stop - found.start) // found.step) if found.stop > found.start else 0
            last = found.start + (count - 1) * found.step
            met *= min(count, last // chunk - found.start // chunk + 1) if count else 0
    size = prod(array.chunks) * np.dtype(array.dtype).itemsize
    return Price(met, met * size, size)


def check_price(price: Price, most: Price, what: str, hint: str) -> None:
    """Raise an error if a read costs more than is allowed."""
    if price.chunks > most.chunks or price.decoded > most.decoded or price.chunk > most.chunk:
        raise UnsupportedError(
            f"{what} would read {price} ({_size(price.chunk)} each); expected at most {_amount(most.chunks)} chunks, "
            f"which decode to at most {_size(most.decoded)} ({_size(most.chunk)} each)",
            hint=hint,
        )


def _amount(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"{number:.1e}"


def _size(number: int) -> str:
    for unit, factor in (("EB", 10**18), ("TB", 10**12), ("GB", 10**9), ("MB", 10**6)):
        if number >= factor:
            return f"{number / factor:,.1f} {unit}" if number < 10**24 else f"{number:.1e} bytes"
    return f"{number:,} bytes"

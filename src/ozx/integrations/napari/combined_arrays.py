"""Combine lazy arrays into new lazy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.images.pixel_source import ArrayLike


class Stacked:
    """A lazy array made of several arrays of equal shape and type, stacked along a new dimension at `axis`.

    Examples
    --------
    >>> stacked = Stacked([np.zeros((4, 5)), np.ones((4, 5))], axis=0)
    >>> stacked.shape, stacked[1:2, 0:1, 0:2].tolist()
    ((2, 4, 5), [[[1.0, 1.0]]])
    """

    def __init__(self, arrays: Sequence[ArrayLike], axis: int) -> None:
        self._arrays = list(arrays)
        self._axis = axis
        self.dtype = arrays[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        shape = list(self._arrays[0].shape)
        shape.insert(self._axis, len(self._arrays))
        return tuple(shape)

    def __getitem__(self, key: tuple[slice, ...]) -> NDArray[Any]:
        rest = (*key[: self._axis], *key[self._axis + 1 :])
        return np.stack([np.asarray(array[rest]) for array in self._arrays[key[self._axis]]], axis=self._axis)


class Strided:
    """A lazy array with the central pixel of each block of another array; used for the lower levels of labels.

    Examples
    --------
    >>> Strided(np.arange(7), (2,), (4,))[slice(0, 4),].tolist()
    [1, 3, 5, 6]
    """

    def __init__(self, array: ArrayLike, factors: tuple[int, ...], shape: tuple[int, ...]) -> None:
        self._array = array
        self._factors = factors
        self.shape = shape
        self.dtype = array.dtype

    def __getitem__(self, key: tuple[slice, ...]) -> NDArray[Any]:
        wanted, spans = [], []
        for part, factor, length, size in zip(key, self._factors, self._array.shape, self.shape, strict=True):
            places = np.minimum(np.arange(*part.indices(size)) * factor + factor // 2, length - 1)
            wanted.append(places - places[0])
            spans.append(slice(int(places[0]), int(places[-1]) + 1))
        # Steps are applied after reading, as some kinds of arrays do not support them.
        return np.asarray(np.asarray(self._array[tuple(spans)])[np.ix_(*wanted)])

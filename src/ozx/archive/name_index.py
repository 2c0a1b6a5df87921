"""Finding an entry by its name among a million, without a dictionary of a million strings.

Names are hashed as bytes: a polynomial modulo 2**64 with a fixed odd base, computed for all names of one length at
once. A hash only proposes; the name's bytes decide. Whoever forges collisions makes look-ups slow, not wrong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns

__all__ = ["NameIndex"]

_BASE = 0x9E3779B97F4A7C15
_MODULUS = 1 << 64


class NameIndex:
    """The entries of a central directory, by raw name.

    Parameters
    ----------
    columns
        The directory; it is read from, not copied.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        hashes = _hash_names(columns)
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]

    def find(self, name: bytes) -> int | None:
        """Return the index of the entry called `name`, the last one where several are, or None."""
        wanted = np.uint64(_hash_name(name))
        first, last = np.searchsorted(self._sorted, wanted, "left"), np.searchsorted(self._sorted, wanted, "right")
        for index in self._order[first:last][::-1].tolist():
            if self._columns.raw_name(index) == name:
                return int(index)
        return None

    def duplicates(self) -> list[tuple[bytes, list[int]]]:
        """Return each name that several entries have, with their indices, in the directory's order."""
        repeated = np.flatnonzero(self._sorted[1:] == self._sorted[:-1])
        if len(repeated) == 0:
            return []
        candidates = np.unique(np.concatenate([self._order[repeated], self._order[repeated + 1]]))
        groups: dict[bytes, list[int]] = {}
        for index in candidates.tolist():
            groups.setdefault(self._columns.raw_name(index), []).append(int(index))
        return [(name, indices) for name, indices in groups.items() if len(indices) > 1]


def _hash_name(name: bytes) -> int:
    value = 0
    for byte in name:
        value = (value * _BASE + byte + 1) % _MODULUS
    return value


def _hash_names(columns: Columns) -> NDArray[np.uint64]:
    hashes = np.zeros(len(columns), np.uint64)
    for rows, names in columns.iter_name_matrices():
        powers = [1]
        for _ in range(names.shape[1] - 1):
            powers.append(powers[-1] * _BASE % _MODULUS)
        weights = np.array(powers[::-1], np.uint64)
        hashes[rows] = (names.astype(np.uint64) + np.uint64(1)) @ weights
    return hashes

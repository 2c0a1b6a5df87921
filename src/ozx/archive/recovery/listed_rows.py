"""Rows of the central directory whose offsets are shifted or damaged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ozx.archive.recovery.entries import EntryTable


def find_shift(found_starts: NDArray[np.uint64], listed_starts: NDArray[np.uint64], prepended: int) -> int:
    """Return the shift with which the largest number of offsets in the directory match a scanned entry."""
    if not len(found_starts) or not len(listed_starts):
        return 0
    first = int(found_starts[0]) - int(listed_starts.min())
    sound = [shift for shift in dict.fromkeys((0, prepended, first)) if shift >= 0]
    return max(sound, key=lambda shift: int(np.isin(listed_starts + np.uint64(shift), found_starts).sum()))


def rows_inside_values(
    rows: NDArray[np.int64], starts: NDArray[np.uint64], found: EntryTable, directory_start: int | None
) -> list[int]:
    """Return the rows with an impossible offset: inside an entry of `found`, or not before the directory."""
    if not len(rows) or not len(found):
        return []
    begins, stops, offsets = np.array(found.starts, np.uint64), np.array(found.stops, np.uint64), starts[rows]
    before = np.searchsorted(begins, offsets, "right") - 1
    is_impossible = (before >= 0) & (begins[before] < offsets) & (offsets < stops[before])
    if directory_start is not None:
        is_impossible |= offsets >= np.uint64(directory_start)
    impossible: list[int] = rows[is_impossible].tolist()
    return impossible


def pair_by_value(
    rows: Sequence[int], listed: EntryTable, unlisted: Sequence[int], found: EntryTable
) -> Iterator[tuple[int, int]]:
    """Yield pairs of a row and a scanned entry that have the same CRC-32 and size, but other names and offsets.

    The `rows` have an impossible offset; the `unlisted` entries fit no row by their names or offsets. An entry whose
    name is in another row is an earlier value of that key.
    """
    names = set(listed.names)
    free = defaultdict[tuple[int, int], list[int]](list)
    for index in unlisted:
        if found.names[index] not in names and found.sizes[index]:
            free[found.value(index)].append(index)
    for row in rows:
        same = free.get(listed.value(row))
        if same:
            yield row, same.pop(0)

"""Find the entries of an archive by key, and sort the keys into the order in which ozx writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns
from ozx.archive.names.table import NameIndex, NameTable
from ozx.zarr.entry_order import component_order, folder_order, hierarchy_order
from ozx.zarr.keys import METADATA, breadth_first

# Sort many keys into the order of `ozx.zarr.keys`, or check their order; vectorised.

_SLASH = 0x2F
# Longer names are compared one by one: a matrix of them takes too much memory.
_WIDEST = 256


def are_in_hierarchy_order(names: Sequence[bytes]) -> bool:
    """Return whether UTF-8 keys are in the order of `hierarchy_order`."""
    if len(names) < 2:
        return True
    if max(map(len, names)) > _WIDEST:
        orders = (hierarchy_order(name.decode("utf-8", "surrogateescape")) for name in names)
        return all(first <= second for first, second in pairwise(orders))
    # One name a row, padded with NUL, which no key contains.
    rows = np.array(names, np.bytes_)
    width = rows.itemsize
    matrix: NDArray[np.uint8] = rows.view(np.uint8).reshape(len(names), width)
    first, second = matrix[:-1], matrix[1:]
    columns = np.arange(width)
    is_same = first == second
    place = np.where(is_same.all(1), width - 1, np.argmin(is_same, axis=1))[:, None]
    # Compare the components that hold the first different byte; everything before is equal.
    before = (first == _SLASH) & (columns < place)
    start = np.where(before.any(1), width - np.argmax(before[:, ::-1], axis=1), 0)
    ends, is_last, is_number = zip(*(_component(names, start, place) for names in (first, second)), strict=True)
    lengths = [np.where(number, end - start, 0x10000) for number, end in zip(is_number, ends, strict=True)]
    at = place[:, 0]
    bytes_there = [
        np.where(at < end, names[np.arange(len(names)), at].astype(np.int16), -1)
        for names, end in ((first, ends[0]), (second, ends[1]))
    ]
    in_order = (lengths[0] < lengths[1]) | ((lengths[0] == lengths[1]) & (bytes_there[0] <= bytes_there[1]))
    return bool(np.where(is_last[0] == is_last[1], in_order, is_last[0]).all())


def _component(
    names: NDArray[np.uint8], start: NDArray[np.int64], place: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the end of the path component at `place`, whether it is the last one, and whether it is a number."""
    width = names.shape[1]
    columns = np.arange(width)
    is_end = ((names == _SLASH) | (names == 0)) & (columns >= place)
    end = np.where(is_end.any(1), np.argmax(is_end, axis=1), width)
    is_last = (end == width) | (names[np.arange(len(names)), np.minimum(end, width - 1)] == 0)
    is_other = (names - np.uint8(0x30) > 9) & (columns >= start[:, None]) & (columns < end[:, None])
    return end, is_last, ~is_other.any(1) & (end > start)


def sorted_by_hierarchy(keys: Sequence[str]) -> list[int]:
    """Return the positions of keys in the order of `hierarchy_order`; faster than `sorted` with this sort key."""
    folders: dict[str, list[int]] = {}
    for position, key in enumerate(keys):
        folders.setdefault(key[: key.rfind("/") + 1], []).append(position)
    result: list[int] = []
    for prefix in sorted(folders, key=folder_order):
        positions, length = folders[prefix], len(prefix)
        names = [keys[position][length:] for position in positions]
        joined = "".join(names)
        if joined.isdecimal() and joined.isascii():  # as `component_order`, without a call per name
            orders: Iterable[tuple[int, str]] = zip(map(len, names), names, strict=True)
        else:
            orders = map(component_order, names)
        result += [position for _, position in sorted(zip(orders, positions, strict=True))]
    return result


_NAMES_AT_A_TIME = 1 << 14
_METADATA = np.frombuffer(METADATA.encode("ascii"), np.uint8)


class ArchiveKeys:
    """The keys of an archive with the indices of their entries."""

    def __init__(self, names: NameTable, rows: NDArray[np.int64]) -> None:
        self.names = names
        self.rows = rows
        self._index = NameIndex(names)
        # The rows of the last keys that were yielded, which are usually the next ones to be found.
        self._recent: dict[str, int] = {}
        self.repeated = [places for _, places in self._index.duplicates()]
        counts = np.ones(len(names), bool)
        counts[[place for places in self.repeated for place in places[:-1]]] = False
        is_metadata = metadata_places(names)
        found = np.flatnonzero(is_metadata & counts)
        keys = [raw.decode("utf-8", "surrogateescape") for raw in names.raw_names(found)]
        order = sorted(range(len(keys)), key=lambda position: breadth_first(keys[position]))
        self.metadata = [keys[position] for position in order]
        self._order = np.concatenate([found[order], _in_order(names, np.flatnonzero(~is_metadata & counts))])

    @classmethod
    def of_files(cls, columns: Columns, prefix: str = "") -> ArchiveKeys:
        """Return the keys of all entries except entries for folders, without the `prefix` that all of them have."""
        is_file, other = np.ones(len(columns), bool), np.zeros(len(columns), bool)
        for rows, names in columns.iter_name_matrices():
            is_file[rows] = names[:, -1] != _SLASH
            other[rows] = (names >= 0x80).any(1)
        renamed = {row: columns.name(row) for row in np.flatnonzero(is_file & other).tolist()}
        rows = np.flatnonzero(is_file)
        names_of_files = columns.take(
            rows, {row: name.encode("utf-8", "surrogateescape") for row, name in renamed.items()}
        )
        return cls(names_of_files.without_prefix(len(prefix.encode())) if prefix else names_of_files, rows)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self._order), _NAMES_AT_A_TIME):
            places = self._order[start : start + _NAMES_AT_A_TIME]
            raw_names = self.names.raw_names(places)
            joined = b"\0".join(raw_names)
            if joined.isascii():
                keys = joined.decode("ascii").split("\0")
            else:
                keys = [raw.decode("utf-8", "surrogateescape") for raw in raw_names]
            self._recent = dict(zip(keys, self.rows[places].tolist(), strict=True))
            yield from keys

    def find(self, key: str) -> int | None:
        """Return the entry index of `key`; None if there is no such key."""
        recent = self._recent.get(key)
        if recent is not None:
            return recent
        place = self._index.find(key.encode("utf-8", "surrogateescape"))
        return None if place is None else int(self.rows[place])

    def find_all(self, keys: Sequence[str]) -> list[int]:
        """Return the entry indices of many keys, vectorised."""
        places = self._index.find_all([key.encode("utf-8", "surrogateescape") for key in keys])
        absent = np.flatnonzero(places < 0)
        if len(absent):
            raise KeyError(keys[int(absent[0])])
        return list(self.rows[places].tolist())


def metadata_places(names: NameTable) -> NDArray[np.bool_]:
    """Return a mask of the names that are ``zarr.json`` keys; see `ozx.zarr.keys.is_metadata_key`."""
    found, length = np.zeros(len(names), bool), len(METADATA)
    for rows, matrix in names.iter_name_matrices():
        width = matrix.shape[1]
        if width == length or width > length + 1:
            ends = (matrix[:, -length:] == _METADATA).all(1)
            found[rows] = ends if width == length else ends & (matrix[:, -length - 1] == _SLASH)
    return found


def _in_order(names: NameTable, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices `places` of names, sorted into hierarchy order; blocks that are in order are not sorted."""
    # Consecutive blocks share one name.
    starts = range(0, max(len(places) - 1, 0), _NAMES_AT_A_TIME)
    if all(are_in_hierarchy_order(names.raw_names(places[start : start + _NAMES_AT_A_TIME + 1])) for start in starts):
        return places
    keys = [raw.decode("utf-8", "surrogateescape") for raw in names.raw_names(places)]
    return places[sorted_by_hierarchy(keys)]

"""Find the entries of an archive by key, and sort the keys into the order in which ozx writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns
from ozx.archive.names.index import NameIndex
from ozx.archive.names.table import NameTable
from ozx.flow.sources.key_sorting import are_in_hierarchy_order, sorted_by_hierarchy
from ozx.hierarchy.entry_order import breadth_first
from ozx.hierarchy.keys import METADATA

_BLOCK = 1 << 14
_METADATA = np.frombuffer(METADATA.encode("ascii"), np.uint8)
_SLASH = ord("/")


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
    def of_files(cls, columns: Columns) -> ArchiveKeys:
        """Return the keys of all entries except entries for folders."""
        is_file, other = np.ones(len(columns), bool), np.zeros(len(columns), bool)
        for rows, names in columns.iter_name_matrices():
            is_file[rows] = names[:, -1] != _SLASH
            other[rows] = (names >= 0x80).any(1)
        renamed = {row: columns.name(row) for row in np.flatnonzero(is_file & other).tolist()}
        rows = np.flatnonzero(is_file)
        names_of_files = columns.take(
            rows, {row: name.encode("utf-8", "surrogateescape") for row, name in renamed.items()}
        )
        return cls(names_of_files, rows)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self._order), _BLOCK):
            places = self._order[start : start + _BLOCK]
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
    """Return a mask of the names that are ``zarr.json`` keys; see `ozx.hierarchy.keys.is_metadata_key`."""
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
    starts = range(0, max(len(places) - 1, 0), _BLOCK)
    if all(are_in_hierarchy_order(names.raw_names(places[start : start + _BLOCK + 1])) for start in starts):
        return places
    keys = [raw.decode("utf-8", "surrogateescape") for raw in names.raw_names(places)]
    return places[sorted_by_hierarchy(keys)]

"""Detection of problematic entry names: repeated names, unsafe names, and names without a declared encoding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns
from ozx.archive.names.decoding import name_fault
from ozx.archive.names.index import NameIndex
from ozx.archive.records import FLAG_UTF8

_ARCHIVE_ENDINGS = (b".ozx", b".zip")

# Most names have no fault: they are ASCII components that begin with a letter, a digit or an underscore, and have no
# colon, so that none of them is a drive. Every other name is checked closely.
_PLAIN = re.compile(rb"\w[\w.\-]*(?:/\w[\w.\-]*)*")


@dataclass(frozen=True, slots=True)
class NameFacts:
    """Indices of entries with problematic names, with one field for each problem."""

    faulty: NDArray[np.int64]  # names that `ozx.archive.names.decoding.name_fault` does not allow as store keys
    # names that are not ASCII and not declared to be UTF-8 (bit 11): readers differ in how they decode them
    unmarked: NDArray[np.int64]
    directories: NDArray[np.int64]  # names that end in a slash
    archives: NDArray[np.int64]  # names that end in ``.ozx`` or ``.zip``
    # the entries of each repeated name, compared as text: different bytes may stand for the same text
    duplicates: list[list[int]]
    # pairs of entries: the name of the first is also the name of a folder in which the second lies
    also_folders: list[tuple[int, int]]


def audit_names(columns: Columns) -> NameFacts:
    """Return the problematic names in a central directory."""
    faulty, unmarked, directories, archives = [], [], [], []
    others: dict[str, list[int]] = {}
    for index, raw in enumerate(columns.iter_raw_names()):
        if raw.endswith(b"/"):
            directories.append(index)
        elif raw[-4:].lower() in _ARCHIVE_ENDINGS:
            archives.append(index)
        if _PLAIN.fullmatch(raw):
            continue
        name = columns.name(index)
        if not raw.isascii():
            others.setdefault(name, []).append(index)
            if not columns.flags[index] & FLAG_UTF8:
                unmarked.append(index)
        if name_fault(name) is not None:
            faulty.append(index)
    by_bytes = NameIndex(columns)
    return NameFacts(
        faulty=np.array(faulty, np.int64),
        unmarked=np.array(unmarked, np.int64),
        directories=np.array(directories, np.int64),
        archives=np.array(archives, np.int64),
        duplicates=_duplicates(by_bytes, others),
        also_folders=by_bytes.values_and_folders(),
    )


def iter_names(columns: Columns) -> Iterator[str]:
    """Yield all entry names as text, in the order of the central directory, without keeping all names in memory."""
    for index, raw in enumerate(columns.iter_raw_names()):
        yield raw.decode("ascii") if raw.isascii() else columns.name(index)


def _duplicates(by_bytes: NameIndex, others: dict[str, list[int]]) -> list[list[int]]:
    """Return the entries of each repeated name; names are compared as text, not as bytes."""
    groups = [indices for raw, indices in by_bytes.duplicates() if raw.isascii()]
    for name, indices in others.items():
        plain = by_bytes.find(name.encode("ascii")) if name.isascii() else None
        found = indices if plain is None else [plain, *indices]
        groups += [found] if len(found) > 1 else []
    return groups

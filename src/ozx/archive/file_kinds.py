"""Which entries are no plain files, by what the central directory says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns
from ozx.archive.records import CENTRAL_HEADER

__all__ = ["FileKinds", "central_field", "find_kinds"]

_Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FileKinds:
    """Entries that are no plain files, by their external attributes (APPNOTE 4.4.15) or their names.

    Attributes
    ----------
    symlinks, special
        Indices of symbolic links, and of devices, pipes and sockets, as Unix calls them.
    directories
        Indices of entries whose name ends in a slash, or which Unix calls directories.
    """

    symlinks: _Indices
    special: _Indices
    directories: _Indices


def find_kinds(columns: Columns, named_directories: _Indices) -> FileKinds:
    """Return which entries are no plain files; `named_directories` are those whose name ends in a slash."""
    # 4.4.2 and 4.4.15: the upper byte names the system whose attributes these are; 3 is Unix, 19 macOS.
    is_unix = np.isin(central_field(columns, "<u2", 4) >> 8, (3, 19))
    kind = (central_field(columns, "<u4", 38) >> 28) * is_unix
    symlinks = np.flatnonzero(kind == 0o12)
    directories = np.union1d(np.flatnonzero(kind == 0o04), named_directories)
    return FileKinds(symlinks, np.flatnonzero(~np.isin(kind, (0, 0o04, 0o10, 0o12))), directories)


def central_field(columns: Columns, dtype: str, offset: int) -> NDArray[Any]:
    """Return a fixed field of all headers in the central directory, `offset` bytes after their beginning."""
    if len(columns) == 0:
        return np.empty(0, dtype)
    size = len(columns.buffer) - CENTRAL_HEADER.size + 1
    everywhere: NDArray[Any] = np.ndarray((size,), dtype, columns.buffer, offset, (1,))
    return everywhere[columns.starts]

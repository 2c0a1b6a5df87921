"""True offsets and sizes of an archive above 4 GiB without ZIP64, whose writer wrote each number modulo 2**32.

The Finder of macOS and old versions of minizip write such archives, although APPNOTE 4.4.1.4 demands ZIP64. Exactly one
reading must fit the file: its entries stand in the order of the directory and fill the file up to the directory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ozx.archive.byte_source import ByteSource
from ozx.archive.columns import Columns
from ozx.archive.inner_archives import is_header_at
from ozx.archive.records import LOCAL_HEADER, MASK_16, MASK_32, STORED
from ozx.errors import FormatError

__all__ = ["unwrap"]

_MODULUS = MASK_32 + 1
# An extra field (4.3.7) and a data descriptor (4.3.9): all that an entry has beside header, name and value.
_MOST_MORE = MASK_16 + 24
# The search reads some local headers for each 4 GiB that the offsets do not show.
_MOST_MISSING = 1 << 12


def unwrap(source: ByteSource, columns: Columns, directory_offset: int) -> None:
    """Replace offsets and sizes modulo 2**32 in `columns` by the true ones.

    The size of a deflated value that exceeds 4 GiB is the least possible one; inflating the value proves it.

    Raises
    ------
    FormatError
        No reading fits, or more than one (``zip/directory``).
    """
    offsets, sizes = columns.header_offsets, columns.compressed_sizes
    is_fitting = not offsets[0] and bool((sizes <= directory_offset).all())
    least = sizes.astype(np.int64) + columns.name_lengths + LOCAL_HEADER.size
    rooms = np.diff(np.append(offsets, np.uint64(directory_offset)).astype(np.int64) & MASK_32) % _MODULUS
    rooms += np.maximum(least - rooms + MASK_32, 0) // _MODULUS * _MODULUS
    starts = np.append(0, np.cumsum(rooms))
    missing = (directory_offset - int(starts[-1])) // _MODULUS
    if not is_fitting or not 0 <= missing <= _MOST_MISSING:
        raise _contradiction(source)
    starts += _find_shifts(source, columns, starts, missing) * _MODULUS
    more, rest = np.divmod(np.diff(starts) - least, _MODULUS)
    # A number from a ZIP64 field is the true one.
    is_wrong = (rest > _MOST_MORE) | ((offsets > MASK_32) & (starts[:-1] != offsets.astype(np.int64)))
    if (is_wrong | ((sizes > MASK_32) & (more > 0))).any():
        raise _contradiction(source)
    offsets[:] = starts[:-1]
    for index in np.flatnonzero(more).tolist():
        sizes[index] += more[index].astype(np.uint64) * np.uint64(_MODULUS)
        # 5 bytes precede each stored block of a deflate stream, so that it is hardly longer than its value.
        stored, size = int(sizes[index]), int(columns.uncompressed_sizes[index])
        shortest = stored if columns.methods[index] == STORED else stored - stored // 1024 - 16
        columns.uncompressed_sizes[index] = size + max(0, -((size - shortest) // _MODULUS)) * _MODULUS


def _find_shifts(source: ByteSource, columns: Columns, starts: NDArray[np.int64], missing: int) -> NDArray[np.int64]:
    """Return how often 2**32 is missing in each of `starts`: never in the first one, `missing` times in the last one.

    The value before each increase exceeds 4 GiB. As the numbers never decrease, few local headers need be read.
    """
    shifts = np.full(len(starts), missing)
    pending = [(0, 0, len(starts) - 1)]
    while pending:
        low, first, last = pending.pop()
        high, middle = int(shifts[last]), (first + last) // 2
        if low == high or middle == first:
            shifts[first:last] = low
            continue
        header, start = columns.header(middle), int(starts[middle])
        found = [shift for shift in range(low, high + 1) if is_header_at(source, header, start + shift * _MODULUS)]
        if len(found) != 1:
            raise _contradiction(source)
        shifts[middle] = found[0]
        pending += [(low, first, middle), (found[0], middle, last)]
    return shifts


def _contradiction(source: ByteSource) -> FormatError:
    return FormatError(
        "it exceeds 4 GiB, but has no ZIP64 records, and the numbers in its central directory, modulo 2**32, do not "
        "determine the places of its entries",
        path=source.name,
        rule="zip/directory",
    )

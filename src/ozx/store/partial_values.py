"""Write parts of values, an operation of Zarr core's store interface that zarr-python's Store lacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from ozx.errors import UsageError


def grouped_writes(writes: Iterable[tuple[str, int, bytes]]) -> dict[str, list[tuple[int, bytes]]]:
    """Group writes by key, sorted by offset; writes to a key must not overlap (Zarr core 3.1, ``set_partial_values``).

    Raises
    ------
    UsageError
        Two writes to one key overlap, or an offset is negative.

    Examples
    --------
    >>> grouped_writes([("a", 4, b"xy"), ("b", 0, b"-"), ("a", 0, b"abcd")])
    {'a': [(0, b'abcd'), (4, b'xy')], 'b': [(0, b'-')]}
    """
    grouped: defaultdict[str, list[tuple[int, bytes]]] = defaultdict(list)
    for key, start, data in writes:
        if start < 0:
            raise UsageError(f"{key}: expected a write at an offset of 0 or more; got {start}")
        grouped[key].append((start, bytes(data)))
    for key, pieces in grouped.items():
        pieces.sort(key=lambda piece: piece[0])
        for (start, data), (following, _) in pairwise(pieces):
            if start + len(data) > following or start == following:
                raise UsageError(
                    f"{key}: the write of {len(data):,} bytes at {start:,} overlaps the write at {following:,}",
                    hint="Join the two writes, or pass them in two calls.",
                )
    return dict(grouped)


def overwritten(value: bytes, pieces: Iterable[tuple[int, bytes]]) -> bytes:
    r"""Return a copy of `value` with `pieces` written into it, extended if needed; gaps are filled with zeros.

    Examples
    --------
    >>> overwritten(b"abcdef", [(1, b"BC"), (5, b"FG")]), overwritten(b"", [(2, b"x")])
    (b'aBCdeFG', b'\x00\x00x')
    """
    result = bytearray(value)
    for start, data in pieces:
        if start > len(result):
            result += bytes(start - len(result))
        result[start : start + len(data)] = data
    return bytes(result)

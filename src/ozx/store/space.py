"""Allocate space in a growing file."""

from __future__ import annotations

from bisect import bisect_left, insort


class Space:
    """The free bytes of a file from `start` on, up to `limit` if given; ranges are allocated and freed in any order.

    Freed bytes are used again for pieces that fit, so that a file does not grow with each rewrite of a chunk.

    Examples
    --------
    >>> space = Space(0)
    >>> space.take(100), space.take(50), space.take(10)
    (0, 100, 150)
    >>> space.give_back(100, 50)
    >>> space.take(50), space.end
    (100, 160)
    """

    def __init__(self, start: int, limit: int | None = None) -> None:
        self.start = self.end = start
        self._limit = limit
        self._by_start: dict[int, int] = {}
        self._by_end: dict[int, int] = {}
        self._by_length: list[tuple[int, int]] = []

    @property
    def holes(self) -> list[tuple[int, int]]:
        """The offset and length of each free range before `end`, in file order."""
        return sorted(self._by_start.items())

    def take(self, length: int) -> int | None:
        """Allocate `length` bytes and return their offset; None if the space has a limit and is full."""
        at = bisect_left(self._by_length, (length, 0))
        if at < len(self._by_length):
            found, offset = self._by_length[at]
            self._remove(offset, found)
            if found > length:
                self._add(offset + length, found - length)
            return offset
        if self._limit is not None and self.end + length > self._limit:
            return None
        return self.extend(length)

    def extend(self, length: int) -> int:
        """Allocate `length` bytes at the end of the file and return their offset."""
        offset, self.end = self.end, self.end + length
        return offset

    def give_back(self, offset: int, length: int) -> None:
        """Free `length` bytes from `offset`, and join them with adjacent free bytes."""
        before = self._by_end.get(offset)
        if before is not None:
            self._remove(before, offset - before)
            offset, length = before, length + offset - before
        after = self._by_start.get(offset + length)
        if after is not None:
            self._remove(offset + length, after)
            length += after
        if offset + length == self.end:
            self.end = offset
        else:
            self._add(offset, length)

    def _add(self, offset: int, length: int) -> None:
        self._by_start[offset] = length
        self._by_end[offset + length] = offset
        insort(self._by_length, (length, offset))

    def _remove(self, offset: int, length: int) -> None:
        del self._by_start[offset]
        del self._by_end[offset + length]
        del self._by_length[bisect_left(self._by_length, (length, offset))]

"""The order of frames: the place of each frame in the image, the received frames, and the missing frames."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence

from ozx.errors import UsageError

__all__ = ["FrameOrder"]

Index = tuple[int, ...]


class FrameOrder:
    """The places of an image's frames, and a record of the received frames.

    Parameters
    ----------
    axes
        Names of the axes that number frames, the slowest first: the order of acquisition.
    lengths
        Lengths of these axes; the first length is None if it is unknown.

    Examples
    --------
    >>> order = FrameOrder("tc", (None, 2))
    >>> for index in (None, (2, 0), None):
    ...     place = order.place(index)
    ...     order.record(place)
    ...     print(place)
    (0, 0)
    (2, 0)
    (2, 1)
    >>> order.length, list(order.iter_missing())
    (3, [(0, 1), (1, 0), (1, 1)])
    """

    def __init__(self, axes: Sequence[str], lengths: Sequence[int | None]) -> None:
        self.axes = tuple(axes)
        self._lengths = tuple(lengths)
        self._inner = tuple(length for length in self._lengths[1:] if length is not None)
        self._per_first = math.prod(self._inner)
        first = self._lengths[0] if self._lengths else 1
        self._total = None if first is None else first * self._per_first
        # 1 for each received frame. `count` and `length` come from here, so that Ctrl-C cannot leave them wrong.
        self._came = bytearray()
        self._next = self._next_before = 0

    @property
    def lengths(self) -> tuple[int | None, ...]:
        """The declared lengths of `axes`; None for the first length if it is unknown."""
        return self._lengths

    @property
    def length(self) -> int:
        """The length along the first axis up to the last received frame."""
        return -(-len(self._came) // self._per_first)

    @property
    def count(self) -> int:
        """The number of received frames."""
        return self._came.count(1)

    def place(self, index: Sequence[int] | int | None = None) -> Index:
        """Return the full index of the frame at `index`, the argument of `record`; by default, the next frame's.

        Raises
        ------
        UsageError
            The place is outside of the image, or the frame with this place was already received.
        """
        number = self._next if index is None else self._number(index)
        if self._total is not None and number >= self._total:
            raise UsageError(
                f"expected {self._total:,} frames ({self._named()}); this frame is one too many",
                hint="Give None as the first length if the number of frames is unknown.",
            )
        if number < len(self._came) and self._came[number]:
            raise UsageError(f"frame {self._index(number)} was already received", hint="Write each frame only once.")
        self._next_before = self._next
        return self._index(number)

    def record(self, place: Index) -> None:
        """Mark a frame as received; `place` is the value that the method `place` returned."""
        number = self._number(place)
        if number >= len(self._came):
            self._came.extend(bytes(number + 1 - len(self._came)))
        self._came[number] = 1
        self._next = number + 1

    def forget(self, place: Index) -> None:
        """Undo the last call of `record`, even if Ctrl-C interrupted it; `place` is the argument of that call."""
        number = self._number(place)
        if number < len(self._came):
            self._came[number] = 0
        del self._came[len(self._came.rstrip(b"\0")) :]
        self._next = self._next_before

    def iter_missing(self) -> Iterator[Index]:
        """Yield the places of all missing frames below `length` along the first axis."""
        number, end = -1, self.length * self._per_first
        while (number := self._came.find(0, number + 1)) >= 0:
            yield self._index(number)
        for number in range(len(self._came), end):
            yield self._index(number)

    def _number(self, index: Sequence[int] | int) -> int:
        places = _whole_numbers(index)
        if len(places) != len(self._lengths):
            raise UsageError(f"expected an index for each of the axes {', '.join(self.axes)}; got {index!r}")
        for axis, place, length in zip(self.axes, places, self._lengths, strict=True):
            if place < 0 or (length is not None and place >= length):
                most = "" if length is None else f" and below {length:,}"
                raise UsageError(f"expected an index of at least 0{most} along {axis}; got {place:,}")
        number = 0
        for place, length in zip(places, (1, *self._inner), strict=False):
            number = number * length + place
        return number

    def _index(self, number: int) -> Index:
        result: list[int] = []
        for length in reversed(self._inner):
            number, place = divmod(number, length)
            result.append(place)
        return (number, *reversed(result)) if self._lengths else ()

    def _named(self) -> str:
        return ", ".join(f"{axis}={length}" for axis, length in zip(self.axes, self._lengths, strict=True)) or "a plane"


def _whole_numbers(index: Sequence[int] | int) -> Index:
    """Return an index as integers of Python, which take part in large products without an overflow."""
    try:
        return (operator.index(index),)  # type: ignore[arg-type]
    except TypeError:  # no single number
        pass
    try:
        # Unlike `int`, `operator.index` refuses 1.5: a rounded index would put the frame into another place.
        return tuple(map(operator.index, index))  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"expected whole numbers as the index of a frame; got {index!r}") from None

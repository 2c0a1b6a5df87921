"""The order of frames: the place of each frame in the image, the received frames, and the missing frames."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence

import numpy as np

from ozx.errors import UsageError

Index = tuple[int, ...]

# Frames whose marks are in one block: small, because a frame far away from all others needs a block of its own.
_BLOCK = 1024
#: The longest gap along an axis of unknown length. A frame counter that overflows usually skips more.
LONGEST_GAP = 100_000_000


class FrameOrder:
    """The places of an image's frames, and a record of the received frames.

    The memory depends on the number of received frames, not on the gaps between them.

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
        # 1 for each received frame, in blocks by number. `count` comes from here, so that Ctrl-C cannot leave it wrong.
        self._came: dict[int, bytearray] = {}
        # The number after the last received frame; `forget` computes it again.
        self._end = 0
        self._next = self._next_before = 0

    @property
    def lengths(self) -> tuple[int | None, ...]:
        """The declared lengths of `axes`; None for the first length if it is unknown."""
        return self._lengths

    @property
    def length(self) -> int:
        """The length along the first axis up to the last received frame."""
        return -(-self._end // self._per_first)

    @property
    def count(self) -> int:
        """The number of received frames."""
        return sum(block.count(1) for block in list(self._came.values()))

    @property
    def missing_count(self) -> int:
        """The number of places that `iter_missing` yields."""
        return self.length * self._per_first - self.count

    def place(self, index: Sequence[int] | int | None = None) -> Index:
        """Return the full index of the frame at `index`, the argument of `record`; by default, the next frame's."""
        number = self._next if index is None else self._number(index)
        if self._total is not None and number >= self._total:
            raise UsageError(
                f"expected {self._total:,} frames ({self._named()}); this frame is one too many",
                hint="Give None as the first length if the number of frames is unknown.",
            )
        if self._has(number):
            raise UsageError(f"frame {self._index(number)} was already received", hint="Write each frame only once.")
        most = self.length - 1 + LONGEST_GAP
        if self._total is None and number // self._per_first > most:
            raise UsageError(
                f"expected an index of at most {most:,} along {self.axes[0]}, {LONGEST_GAP:,} after the last frame; "
                f"got {number // self._per_first:,}",
                hint="Check the frame counter of the camera, or give the length of this axis when you open the stream.",
            )
        self._next_before = self._next
        return self._index(number)

    def record(self, place: Index) -> None:
        """Mark a frame as received; `place` is the value that the method `place` returned."""
        number = self._number(place)
        block, place_in_block = divmod(number, _BLOCK)
        if block not in self._came:
            self._came[block] = bytearray(_BLOCK)
        self._came[block][place_in_block] = 1
        self._end = max(self._end, number + 1)
        self._next = number + 1

    def forget(self, place: Index) -> None:
        """Undo the last call of `record`, even if Ctrl-C interrupted it; `place` is the argument of that call."""
        number = self._number(place)
        block, place_in_block = divmod(number, _BLOCK)
        if block in self._came:
            self._came[block][place_in_block] = 0
            if not any(self._came[block]):
                del self._came[block]
        last = max(self._came, default=0)
        self._end = last * _BLOCK + self._came.get(last, b"").rfind(1) + 1
        self._next = self._next_before

    def iter_missing(self) -> Iterator[Index]:
        """Yield the places of all missing frames below `length` along the first axis."""
        end = self.length * self._per_first
        for start in range(0, end, _BLOCK):
            marks, at = self._came.get(start // _BLOCK, bytes(_BLOCK)), -1
            while (at := marks.find(0, at + 1, end - start)) >= 0:
                yield self._index(start + at)

    def _has(self, number: int) -> bool:
        block = self._came.get(number // _BLOCK)
        return block is not None and block[number % _BLOCK] == 1

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
        return (whole_number(index),)
    except TypeError:  # no single number
        pass
    try:
        return tuple(map(whole_number, index))  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"expected whole numbers as the index of a frame; got {index!r}") from None


def whole_number(value: object) -> int:
    """Return an integer of Python; unlike `int`, refuse 1.5 and True, which would put a frame into another place.

    Examples
    --------
    >>> whole_number(np.int64(3))
    3
    """
    if isinstance(value, bool | np.bool_):
        raise TypeError(value)
    return operator.index(value)  # type: ignore[arg-type]

"""Frames on their way: read from a pipe, and put in order."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError, UsageError, shortened
from ozx.zarr.json_reading import as_lengths, as_text, parse_document

# Frames from a pipe or file: raw pixels, optionally with a line of JSON before each frame.

_LONGEST_HEADER = 64 << 10


# What a header says of its frame: its place in the image, or None if it follows the previous frame; the position that
# selects the image, or None for the first; and the record: further values of the frame, such as its time.
_Header = tuple[tuple[int, ...] | None, int | str | None, dict[str, Any] | None]


def read_frames(
    file: BinaryIO, shape: Sequence[int], dtype: np.dtype[Any], report: Callable[[str], object], *, has_headers: bool
) -> Iterator[tuple[NDArray[Any], *_Header]]:
    """Yield the pixels and the header of the frames that another program writes into a pipe.

    `has_headers`: whether a line of JSON precedes each frame: an object with the optional members ``index`` (a list of
    indices along the axes before y and x), ``position`` (a name or number) and ``record`` (an object of numbers and
    texts). An input that ends inside a frame is reported.
    """
    number = 0
    while True:
        header = _read_header(file, number, report) if has_headers else (None, None, None)
        if header is None:
            return
        pixels = np.empty(tuple(shape), dtype)
        count = _fill(file, memoryview(pixels.reshape(-1).view(np.uint8).data))
        if count < pixels.nbytes:
            if count or has_headers:
                report(f"the input ended inside a frame: expected {pixels.nbytes:,} bytes, got {count:,}")
            return
        yield pixels, *header
        number += 1


def _fill(file: BinaryIO, view: memoryview) -> int:
    """Fill a buffer, and return the number of bytes; at the end of the input, a part may remain empty."""
    filled = 0
    while filled < len(view) and (count := file.readinto(view[filled:])):  # type: ignore[attr-defined]
        filled += count
    return filled


def _read_header(file: BinaryIO, number: int, report: Callable[[str], object]) -> _Header | None:
    """Return the values of the next header, or None at the end of the input."""
    line = file.readline(_LONGEST_HEADER)
    where = f"the header of frame {number:,}"
    if not line:
        return None
    # If the first header has no line feed, no frame could be kept: the error below explains what is wrong with it.
    if number and not line.endswith(b"\n") and len(line) < _LONGEST_HEADER:
        report(f"the input ended inside {where}: expected a line feed after {shortened(repr(line), 100)}")
        return None
    # A program that ends each frame with a line feed would otherwise lose all frames after the first. Such a line
    # after the last frame is harmless.
    if not line.strip():
        if not file.read(1):
            return None
        raise UsageError(
            f"expected a line of JSON before each frame; {where} is a blank line",
            hint="The header of the next frame directly follows the pixels of a frame, without a line feed.",
        )
    try:
        header = parse_document(line, where)
    except FormatError as error:
        raise UsageError(
            f"expected a line of JSON before each frame; {error.message}",
            hint='Before each frame, write {} or {"index": [3, 0]} and a line feed; or leave out headers=True.',
        ) from None
    index, position, record = header.get("index"), header.get("position"), header.get("record")
    places = None if index is None else as_lengths(index)
    # A Boolean is an `int` in Python, and a negative number would count from the last position.
    is_number = type(position) is int and position >= 0
    is_name = position is None or is_number or as_text(position) is not None
    if (index is not None and places is None) or not is_name:
        raise UsageError(
            f"{where}: expected index to be a list of numbers, and position to be a name or number; got {header!r}"
        )
    if record is not None and not isinstance(record, dict):
        raise UsageError(f"{where}: expected a JSON object as the value of 'record'; got {header!r}")
    return places, position, record


# The order of frames: the place of each frame in the image, the received frames, and the missing frames.

Index = tuple[int, ...]

# The frames whose marks are in one block: few, because a frame far away from all others needs a block of its own.
_FRAMES_PER_BLOCK = 1024
#: The longest gap along an axis of unknown length. A frame counter that overflows usually skips more.
LONGEST_GAP = 100_000_000


class FrameOrder:
    """The places of an image's frames, and a record of the received frames.

    The memory depends on the number of received frames, not on the gaps between them.
    """

    def __init__(self, axes: Sequence[str], lengths: Sequence[int | None]) -> None:
        self.axes = tuple(axes)
        self.lengths = tuple(lengths)  # the declared lengths of `axes`; None for the first length if it is unknown
        self._inner = tuple(length for length in self.lengths[1:] if length is not None)
        self._per_first = math.prod(self._inner)
        first = self.lengths[0] if self.lengths else 1
        self._total = None if first is None else first * self._per_first
        # 1 for each received frame, in blocks by number. `count` comes from here, so that Ctrl-C cannot leave it wrong.
        self._came: dict[int, bytearray] = {}
        # The number after the last received frame; `forget` computes it again.
        self._end = 0
        self._next = self._next_before = 0

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
        block = self._came.get(number // _FRAMES_PER_BLOCK)
        if block is not None and block[number % _FRAMES_PER_BLOCK]:
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
        block, place_in_block = divmod(number, _FRAMES_PER_BLOCK)
        if block not in self._came:
            self._came[block] = bytearray(_FRAMES_PER_BLOCK)
        self._came[block][place_in_block] = 1
        self._end = max(self._end, number + 1)
        self._next = number + 1

    def forget(self, place: Index) -> None:
        """Undo the last call of `record`, even if Ctrl-C interrupted it; `place` is the argument of that call."""
        number = self._number(place)
        block, place_in_block = divmod(number, _FRAMES_PER_BLOCK)
        if block in self._came:
            self._came[block][place_in_block] = 0
            if not any(self._came[block]):
                del self._came[block]
        last = max(self._came, default=0)
        self._end = last * _FRAMES_PER_BLOCK + self._came.get(last, b"").rfind(1) + 1
        self._next = self._next_before

    def iter_missing(self) -> Iterator[Index]:
        """Yield the places of all missing frames below `length` along the first axis."""
        end = self.length * self._per_first
        for start in range(0, end, _FRAMES_PER_BLOCK):
            marks, at = self._came.get(start // _FRAMES_PER_BLOCK, bytes(_FRAMES_PER_BLOCK)), -1
            while (at := marks.find(0, at + 1, end - start)) >= 0:
                yield self._index(start + at)

    def _number(self, index: Sequence[int] | int) -> int:
        places = _whole_numbers(index)
        if len(places) != len(self.lengths):
            raise UsageError(f"expected an index for each of the axes {', '.join(self.axes)}; got {index!r}")
        for axis, place, length in zip(self.axes, places, self.lengths, strict=True):
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
        return (number, *reversed(result)) if self.lengths else ()

    def _named(self) -> str:
        return ", ".join(f"{axis}={length}" for axis, length in zip(self.axes, self.lengths, strict=True)) or "a plane"


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
    """Return an integer of Python; unlike `int`, refuse 1.5 and True, which would put a frame into another place."""
    if isinstance(value, bool | np.bool_):
        raise TypeError(value)
    return operator.index(value)  # type: ignore[arg-type]

"""Frames from a pipe or file: raw pixels, optionally with a line of JSON before each frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError, UsageError, shortened
from ozx.hierarchy.json.documents import parse_document
from ozx.hierarchy.json.values import as_lengths, as_text

_LONGEST_HEADER = 64 << 10


class InputFrame(NamedTuple):
    """A frame of the input, with its place in the image, its record, and the position that selects the image.

    If `place` is None, the frame follows the previous frame. If `position` is None, the frame is at the first position.
    `record` contains further values of the frame, such as its time.
    """

    pixels: NDArray[Any]
    place: tuple[int, ...] | None
    position: int | str | None
    record: dict[str, Any] | None


class FrameInput:
    r"""The frames that another program writes into a pipe.

    `has_headers`: whether a line of JSON precedes each frame: an object with the optional members ``index`` (a list of
    indices along the axes before y and x), ``position`` (a name or number) and ``record`` (an object of numbers and
    texts).

    Examples
    --------
    >>> import io
    >>> frames = FrameInput(io.BytesIO(b'{"index": [3]}\n' + bytes([1, 2, 3, 4])), (2, 2), np.dtype("uint8"), True)
    >>> [(frame.pixels.tolist(), frame.place) for frame in frames]
    [([[1, 2], [3, 4]], (3,))]
    """

    def __init__(self, file: BinaryIO, shape: Sequence[int], dtype: np.dtype[Any], has_headers: bool) -> None:  # noqa: FBT001
        self._file, self._shape, self._dtype, self._has_headers = file, tuple(shape), dtype, has_headers
        self.fault: str | None = None

    def __iter__(self) -> Iterator[InputFrame]:
        number = 0
        while True:
            header = self._read_header(number) if self._has_headers else (None, None, None)
            if header is None:
                return
            pixels = np.empty(self._shape, self._dtype)
            count = self._fill(memoryview(pixels.reshape(-1).view(np.uint8).data))
            if count < pixels.nbytes:
                if count or self._has_headers:
                    self.fault = f"the input ended inside a frame: expected {pixels.nbytes:,} bytes, got {count:,}"
                return
            yield InputFrame(pixels, *header)
            number += 1

    def _fill(self, view: memoryview) -> int:
        """Fill a buffer, and return the number of bytes; at the end of the input, a part may remain empty."""
        filled = 0
        while filled < len(view) and (count := self._file.readinto(view[filled:])):  # type: ignore[attr-defined]
            filled += count
        return filled

    def _read_header(
        self, number: int
    ) -> tuple[tuple[int, ...] | None, int | str | None, dict[str, Any] | None] | None:
        """Return the values of the next header, or None at the end of the input."""
        line = self._file.readline(_LONGEST_HEADER)
        where = f"the header of frame {number:,}"
        if not line:
            return None
        # If the first header has no line feed, no frame could be kept: the error below explains what is wrong with it.
        if number and not line.endswith(b"\n") and len(line) < _LONGEST_HEADER:
            self.fault = f"the input ended inside {where}: expected a line feed after {shortened(repr(line), 100)}"
            return None
        # A program that ends each frame with a line feed would otherwise lose all frames after the first. Such a line
        # after the last frame is harmless.
        if not line.strip():
            if not self._file.read(1):
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
                hint='Before each frame, write {} or {"index": [3, 0]} and a line feed; or omit --headers.',
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

"""The result of a stream: received frames, data rate, and waiting times of the camera's program."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any

from ozx.images.streaming.frames import FrameRing
from ozx.images.streaming.streamed_image import StreamedImage

_MOST_LISTED = 1000

# Durations are counted in classes that grow by this factor, from a microsecond on.
_FACTOR = 1.05
_SHORTEST = 1e-6


@dataclass(frozen=True, slots=True)
class StreamResult:
    """The written file, and statistics of the stream.

    Attributes
    ----------
    path
        Path of the file.
    entries, bytes
        Number of entries, and length of the file in bytes.
    frames, frame_bytes
        Number of received frames, and bytes of a frame; if there are several cameras, bytes of the largest frame.
    missing_count
        Number of frames that the images contain, but that were not received; their pixels are zero. Positions without
        any received frame do not count.
    missing
        The first thousand missing frames: position and index of each.
    seconds, rate
        Seconds from the first frame until the file was complete; bytes of frames per second.
    waits, waited
        How often a frame had to wait for memory, and for how many seconds in all.
    longest_append, append_p999
        Duration of the longest `append` or `write`, and the duration below which 99.9 % of them lie, in seconds.
    fullest, buffer
        The largest number of frames in memory at a time, and the number of frames that fit into the memory.
    notes
        Remarks, one sentence each.
    uploaded
        The URL to which the file was uploaded; None without an upload.

    Examples
    --------
    >>> import numpy as np
    >>> import ozx
    >>> with ozx.stream("frames.ozx", axes="tyx", shape=(4, 64, 64), dtype="uint8", force=True) as stream:
    ...     _ = stream.write(np.ones((64, 64), "uint8"), 2)
    >>> stream.result.missing, stream.result.frame_bytes
    ((('', (0,)), ('', (1,))), 4096)
    """

    path: str
    entries: int
    bytes: int
    frames: int
    frame_bytes: int
    missing_count: int
    missing: tuple[tuple[str, tuple[int, ...]], ...]
    seconds: float
    rate: float
    waits: int
    waited: float
    longest_append: float
    append_p999: float
    fullest: int
    buffer: int
    notes: tuple[str, ...]
    uploaded: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        missing = [{"position": position, "index": list(index)} for position, index in self.missing]
        return {"schema": 2, **asdict(self), "missing": missing, "notes": list(self.notes)}


def summarise(
    path: str, written: tuple[int, int], images: Mapping[str, StreamedImage], ring: FrameRing, durations: Durations
) -> StreamResult:
    """Return the result of a stream."""
    seconds = time.perf_counter() - (durations.started or 0.0)
    every = chain.from_iterable(
        ((position, index) for index in image.order.iter_missing()) for position, image in images.items()
    )
    listed = tuple(islice(every, _MOST_LISTED))
    missing = sum(image.order.missing_count for image in images.values())
    unused = sum(1 for image in images.values() if not image.order.count)
    notes = [f"{missing:,} frames were not received; their pixels are zero"] if missing else []
    notes += [f"{unused:,} positions have no frames; their pixels are zero"] if unused else []
    frame_bytes = max(image.frame_bytes for image in images.values())
    return StreamResult(
        path=path,
        entries=written[0],
        bytes=written[1],
        frames=sum(image.order.count for image in images.values()),
        frame_bytes=frame_bytes,
        missing_count=missing,
        missing=listed,
        seconds=seconds,
        rate=sum(image.order.count * image.frame_bytes for image in images.values()) / seconds,
        waits=ring.waits,
        waited=ring.waited,
        longest_append=durations.longest,
        append_p999=durations.percentile(0.999),
        fullest=ring.fullest,
        buffer=ring.size // frame_bytes,
        notes=tuple(notes),
    )


class Durations:
    """A histogram of durations in seconds, which needs little memory for any number of durations.

    Examples
    --------
    >>> durations = Durations()
    >>> for number in range(1, 1001):
    ...     durations.add(number / 1000)
    >>> durations.longest, round(durations.percentile(0.5), 1)
    (1.0, 0.5)
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.longest = 0.0
        self.started: float | None = None

    def add(self, seconds: float) -> None:
        """Add a duration to the histogram."""
        number = math.ceil(math.log(max(seconds, _SHORTEST) / _SHORTEST, _FACTOR))
        self._counts[number] = self._counts.get(number, 0) + 1
        self.longest = max(self.longest, seconds)

    def percentile(self, share: float) -> float:
        """Return the duration below which the given share of all durations lies. The result is up to 5 % too long."""
        rest = sum(self._counts.values()) * (1 - share)
        for number in sorted(self._counts, reverse=True):
            rest -= self._counts[number]
            if rest < 0:
                return min(self.longest, _SHORTEST * _FACTOR**number)
        return 0.0

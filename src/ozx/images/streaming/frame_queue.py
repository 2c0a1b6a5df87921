"""Queue of received frames; work on later frames can pause until all earlier frames are encoded.

Ctrl-C may interrupt the thread that adds a frame at any moment. The queue therefore counts a frame only when a thread
can take it, so that no thread waits for a frame that was never added.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ozx.images.streaming.frame_records import Record

if TYPE_CHECKING:
    from ozx.images.streaming.streamed_image import StreamedImage


@dataclass(slots=True, eq=False)
class ReceivedFrame:
    """A frame to encode: its image, its record, its pixels in the ring buffer, and its place in the image."""

    image: StreamedImage
    record: Record | None = None
    pixels: NDArray[Any] = field(init=False)
    place: tuple[int, ...] | None = None
    #: Whether a thread works, or has worked, on it.
    is_taken: bool = False


class FrameQueue:
    """The received frames in their order; thread-safe."""

    def __init__(self) -> None:
        # Entering a Condition takes several steps of Python, between which Ctrl-C would leave its lock locked.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._waiting: deque[ReceivedFrame] = deque()
        # The turns (numbers) of the frames that threads work on; the number of frames that threads have taken.
        self._running: set[int] = set()
        self._taken = 0
        # The first turn whose work waits.
        self._first_held: int | None = None

    def put(self, frame: ReceivedFrame) -> None:
        """Add a frame."""
        self._waiting.append(frame)

    def has(self, frame: ReceivedFrame) -> bool:
        """Return whether a frame was added."""
        with self._lock:
            return frame.is_taken or frame in self._waiting

    def take(self) -> tuple[int, ReceivedFrame] | None:
        """Remove the first frame, and return it with its turn (number); None if no frame waits."""
        with self._lock:
            if not self._waiting:
                return None
            turn, self._taken = self._taken, self._taken + 1
            self._running.add(turn)
            frame = self._waiting.popleft()
            frame.is_taken = True
            return turn, frame

    def wait_for(self, turn: int) -> None:
        """Wait until the work on frame `turn` may begin; return at once unless the work is paused."""
        with self._lock:
            self._changed.wait_for(lambda: self._first_held is None or turn < self._first_held)

    def end(self, turn: int) -> None:
        """Mark the work on frame `turn` (the number that `take` returned) as done."""
        with self._lock:
            self._running.discard(turn)
            self._changed.notify_all()

    def hold(self) -> None:
        """Pause the work on all frames that are added after this call, until `go_on`."""
        with self._lock:
            self._first_held = self._taken + len(self._waiting)

    def wait_until_done(self) -> None:
        """Wait until the work is done on all frames that were added before `hold` was called."""
        with self._lock:
            self._changed.wait_for(self._is_done)

    def go_on(self) -> None:
        """End the pause that `hold` began, so that the work on later frames begins."""
        with self._lock:
            self._first_held = None
            self._changed.notify_all()

    def wait_until_empty(self) -> None:
        """Wait until the work on all frames is done."""
        with self._lock:
            self._changed.wait_for(lambda: not self._waiting and not self._running)

    def clear(self) -> None:
        """Drop the frames that no thread has taken, and end the pause that `hold` began."""
        with self._lock:
            self._waiting.clear()
            self._first_held = None
            self._changed.notify_all()

    def _is_done(self) -> bool:
        first = self._taken if self._first_held is None else self._first_held
        are_taken = self._taken >= first or not self._waiting
        return are_taken and not any(turn < first for turn in self._running)

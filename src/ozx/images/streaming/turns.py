"""Numbers (turns) of frames, used to pause the work on later frames until earlier frames are done."""

from __future__ import annotations

import threading

__all__ = ["Turns"]


class Turns:
    """The turns (numbers) of all frames in progress; thread-safe.

    Examples
    --------
    >>> turns = Turns()
    >>> first = turns.begin()
    >>> turns.end(first)
    >>> turns.hold()
    >>> later = turns.begin()  # its work waits
    >>> turns.wait_until_done()
    >>> turns.go_on()
    >>> turns.wait_for(later)
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pending: set[int] = set()
        self._next = 0
        self._last: int | None = None

    def begin(self) -> int:
        """Return the turn of a new frame, a number."""
        with self._changed:
            turn, self._next = self._next, self._next + 1
            self._pending.add(turn)
            return turn

    def wait_for(self, turn: int) -> None:
        """Wait until the work on the frame with this turn may begin; return at once unless the work is paused."""
        with self._changed:
            self._changed.wait_for(lambda: self._last is None or turn < self._last)

    def end(self, turn: int) -> None:
        """Mark the work on the frame with this turn as done."""
        with self._changed:
            self._pending.discard(turn)
            self._changed.notify_all()

    def stop(self) -> None:
        """Mark all work as done, because no thread works on frames any longer."""
        with self._changed:
            self._pending.clear()
            self._changed.notify_all()

    def hold(self) -> None:
        """Pause the work on all frames whose turns begin after this call, until `go_on`."""
        with self._changed:
            self._last = self._next

    def wait_until_done(self) -> None:
        """Wait until the work on all frames with turns before the pause is done."""
        with self._changed:
            self._changed.wait_for(lambda: not any(self._last is None or turn < self._last for turn in self._pending))

    def go_on(self) -> None:
        """End the pause, so that the work on later frames begins."""
        with self._changed:
            self._last = None
            self._changed.notify_all()

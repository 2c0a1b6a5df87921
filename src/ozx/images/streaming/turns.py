"""The turns of frames: a pause between the work on earlier and on later ones."""

from __future__ import annotations

import threading

__all__ = ["Turns"]


class Turns:
    """Numbers of frames whose work has begun and not ended; any number of threads may use it.

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
        """Return the turn of a frame that came."""
        with self._changed:
            turn, self._next = self._next, self._next + 1
            self._pending.add(turn)
            return turn

    def wait_for(self, turn: int) -> None:
        """Wait before the work of a turn while a pause holds it back."""
        with self._changed:
            self._changed.wait_for(lambda: self._last is None or turn < self._last)

    def end(self, turn: int) -> None:
        """Count the work of a turn as done."""
        with self._changed:
            self._pending.discard(turn)
            self._changed.notify_all()

    def stop(self) -> None:
        """Count all work as done: no thread does it any more."""
        with self._changed:
            self._pending.clear()
            self._changed.notify_all()

    def hold(self) -> None:
        """Let the work of turns that begin from now on wait, until `go_on`."""
        with self._changed:
            self._last = self._next

    def wait_until_done(self) -> None:
        """Wait until the work of all turns that are not held back is done."""
        with self._changed:
            self._changed.wait_for(lambda: not any(self._last is None or turn < self._last for turn in self._pending))

    def go_on(self) -> None:
        """Let the work of later turns begin."""
        with self._changed:
            self._last = None
            self._changed.notify_all()

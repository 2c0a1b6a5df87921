"""Count the open pages; each page keeps a connection open until the page is closed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus

from ozx.desktop.viewer.loopback import Answer, Request

# Windows delivers an interrupt only between two waits.
_SLICE = 0.5
# A silent connection may be taken for a dead one.
_PING = 15.0


class Presence:
    """A counter of the open pages."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._came = False
        #: Number of open pages.
        self.count = 0

    @contextmanager
    def page(self) -> Iterator[None]:
        """Count one more page until the end of the ``with`` block."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def answer(self, request: Request) -> Answer:
        """Return the response that a page keeps open: an endless event stream that contains only comments."""
        return Answer(HTTPStatus.OK, self._hold(request), "text/event-stream", {"Cache-Control": "no-store"})

    def wait_until_gone(self, *, grace: float, patience: float, check: Callable[[], None] = lambda: None) -> bool:
        """Wait until all pages are closed; return False if no page was opened within `patience` seconds.

        A page that reloads disappears for a moment: it has `grace` seconds to come back. Until the first page is
        opened, `check` is called repeatedly; an error that `check` raises ends the waiting.
        """

        def came() -> bool:
            if not self._came:
                check()
            return self._came

        if not self._wait_for(came, patience):
            return False
        while True:
            self._wait_for(lambda: self.count == 0, None)
            if not self._wait_for(lambda: self.count > 0, grace):
                return True

    def wait_for_ever(self) -> None:
        """Wait until an interrupt."""
        self._wait_for(lambda: False, None)

    def _hold(self, request: Request) -> Iterator[bytes]:
        with self.page():
            yield b": here\n\n"
            while not request.is_gone(_PING):
                yield b": still here\n\n"

    def _count(self, change: int) -> None:
        with self._changed:
            self.count += change
            self._came = True
            self._changed.notify_all()

    def _wait_for(self, condition: Callable[[], bool], seconds: float | None) -> bool:
        end = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while not condition():
                left = _SLICE if end is None else min(_SLICE, end - time.monotonic())
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

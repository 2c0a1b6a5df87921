"""Show the progress of a conversion on a page in the browser, at a secret address that only this computer can reach."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from ozx.desktop.dialogs import show_message
from ozx.desktop.viewer.browser import open_window
from ozx.desktop.viewer.loopback import Answer, LoopbackServer, Request, json_answer, refusal, serving
from ozx.desktop.viewer.pages import SAFE, Gate, Presence, page_file

# A browser takes some seconds to start, on a busy machine a minute.
_PATIENCE = 120.0
# A page that reloads disappears for a moment.
_GRACE = 3.0


class PageWindow:
    """The window of a conversion as a page in the browser."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.presence = Presence()
        self._changed = threading.Condition()
        self._state: dict[str, Any] = {"text": "", "fraction": None, "question": None, "yes": "", "ended": False}
        self._answer: bool | None = None
        self._is_cancelled = False
        self._is_gone = threading.Event()
        self._came = False

    def watch(self) -> None:
        """Watch the page in a thread: if the user closes it, the conversion is cancelled."""
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def is_cancelled(self) -> bool:
        """Whether the user has pressed the button or closed the page."""
        return self._is_cancelled

    def show(self, text: str, fraction: float | None) -> None:
        """Show a text and the completed fraction (from 0 to 1; None if it is unknown)."""
        self._change(text=text, fraction=fraction)

    def ask(self, question: str, yes: str) -> bool:
        """Ask a question; return whether the user presses the button labelled `yes`."""
        self._answer = None
        self._change(question=question, yes=yes)
        with self._changed:
            self._changed.wait_for(lambda: self._answer is not None or self._is_cancelled or self._is_gone.is_set())
        self._change(question=None)
        return bool(self._answer)

    def finish(self, text: str, *, is_error: bool) -> None:
        """Show the result until the user closes the page."""
        self._change(text=text, fraction=None if is_error else 1.0, ended=True)
        self._is_gone.wait()
        if is_error and not self._came:
            show_message(text)

    def respond(self, request: Request) -> Answer:
        """Return the response to a request; 404 without the token."""
        rest = self.gate.enter(request)
        if isinstance(rest, Answer):
            return rest
        answer = self._respond(rest, request)
        return replace(answer, headers={**answer.headers, **SAFE})

    def _respond(self, name: str, request: Request) -> Answer:
        if name == "alive":
            return self.presence.answer(request)
        if name == "state":
            return json_answer(self._state, headers={"Cache-Control": "no-store"})
        if name not in ("cancel", "answer"):
            return page_file(__package__, name)
        if request.method != "POST":
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, "this address accepts only POST requests")
        with self._changed:
            if name == "cancel":
                self._is_cancelled = True
            else:
                self._answer = request.query.get("yes") == "1"
            self._changed.notify_all()
        return json_answer({})

    def _watch(self) -> None:
        self._came = self.presence.wait_until_gone(grace=_GRACE, patience=_PATIENCE)
        with self._changed:
            self._is_cancelled = self._is_cancelled or (self._came and not self._state["ended"])
            self._is_gone.set()
            self._changed.notify_all()

    def _change(self, **values: Any) -> None:
        with self._changed:
            self._state = {**self._state, **values}


@contextmanager
def open_page() -> Iterator[PageWindow | None]:
    """Yield a page that is open in a browser and served until the ``with`` block ends; None if there is no browser."""
    window = PageWindow()
    with serving(LoopbackServer(window.respond, takes_posts=True)) as server:
        if not open_window(server.origin + window.gate.start_path):
            yield None
            return
        window.watch()
        yield window

"""Serve a page on this computer only: its files, the secret token of its address, and the count of its windows."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from importlib import resources

from ozx.desktop.viewer.loopback import Request, Response, refusal

# Serve the files of a page from the folder ``page`` of a package.

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Load only from this server, run no text of a file as code, allow no frames.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Headers of all responses of a page.
_SAFE = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",  # the address contains the token
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def page_file(package: str, name: str) -> Response:
    """Return the response with a file of the folder ``page`` of a package; 404 if there is no such file."""
    name = name or "index.html"
    folder = resources.files(package) / "page"
    names = {item.name for item in folder.iterdir()}
    kind = _TYPES.get(name[name.rfind(".") :])
    if name not in names or kind is None:
        return refusal(HTTPStatus.NOT_FOUND, "there is nothing here")
    return Response(HTTPStatus.OK, (folder / name).read_bytes(), kind, {"Cache-Control": "no-cache"})


# Protect a page: the path of each request must contain a secret token. Count its windows, each with an open connection.

# Windows delivers an interrupt only between two waits.
_SLICE = 0.5
# A silent connection may be taken for a dead one.
_PING = 15.0


class PageAccess:
    """The secret token in the address of a page, and the number of open windows with the page.

    The browser starts with an address that every user of this computer can see in the list of processes. This address
    leads to the page once and is worthless afterwards.
    """

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(24)
        self._once = [secrets.token_urlsafe(24)]
        #: Path of the page.
        self.page_path = f"/{self._token}/"
        #: Path that leads to the page, once.
        self.start_path = f"/{self._once[0]}/"
        self._changed = threading.Condition()
        self._came = False
        #: Number of open windows.
        self.count = 0

    def enter(self, request: Request) -> str | Response:
        """Return the path after the token; return a 404 response if the token is missing or wrong."""
        given, slash, rest = request.path.removeprefix("/").partition("/")
        if _is_same(given, self._token):
            if request.method == "OPTIONS":
                return refusal(HTTPStatus.METHOD_NOT_ALLOWED, "this server is read-only")
            return rest if slash else self._lead_on()  # the page's requests are relative to the slash
        if request.method == "POST":  # the address that leads to the page accepts no data
            return refusal(HTTPStatus.NOT_FOUND, "there is nothing here")
        try:
            is_first = any(_is_same(given, token) for token in self._once) and bool(self._once.pop())
        except IndexError:  # another request was faster
            is_first = False
        if not is_first:
            return refusal(HTTPStatus.NOT_FOUND, "there is nothing here")
        return self._lead_on()

    def answer(self, request: Request, respond: Callable[[str, Request], Response]) -> Response:
        """Return the response of `respond` to the path after the token, with the headers of all pages; else 404."""
        rest = self.enter(request)
        if isinstance(rest, Response):
            return rest
        answer = respond(rest, request)
        return replace(answer, headers={**answer.headers, **_SAFE})

    @contextmanager
    def window(self) -> Iterator[None]:
        """Count one more window until the end of the ``with`` block."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def answer_alive(self, request: Request) -> Response:
        """Return the response that a window keeps open: an endless event stream that contains only comments."""
        return Response(HTTPStatus.OK, self._hold(request), "text/event-stream", {"Cache-Control": "no-store"})

    def wait_until_gone(self, *, grace: float, patience: float, check: Callable[[], None] = lambda: None) -> bool:
        """Wait until all windows are closed; return False if no window was opened within `patience` seconds.

        A page that reloads disappears for a moment: it has `grace` seconds to come back. Until the first window is
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

    def _lead_on(self) -> Response:
        headers = {"Location": self.page_path, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
        return Response(HTTPStatus.FOUND, headers=headers)

    def _hold(self, request: Request) -> Iterator[bytes]:
        with self.window():
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


def _is_same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def wait_for_ever() -> None:
    """Wait until an interrupt."""
    while True:
        time.sleep(_SLICE)

"""Protect a server: the path of every request must contain a secret token."""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus

from ozx.desktop.viewer.loopback import Answer, Request, refusal


class Gate:
    """A check that requests contain a secret token.

    The browser starts with an address that every user of this computer can see in the list of processes. This address
    leads to the page once and is worthless afterwards.

    Examples
    --------
    >>> gate = Gate()
    >>> gate.enter(Request("GET", gate.page_path + "api/file"))
    'api/file'
    >>> gate.enter(Request("GET", gate.start_path)).status, gate.enter(Request("GET", gate.start_path)).status
    (<HTTPStatus.FOUND: 302>, <HTTPStatus.NOT_FOUND: 404>)
    """

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(24)
        self._once = [secrets.token_urlsafe(24)]
        #: Path of the page.
        self.page_path = f"/{self._token}/"
        #: Path that leads to the page, once.
        self.start_path = f"/{self._once[0]}/"

    def enter(self, request: Request) -> str | Answer:
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

    def _lead_on(self) -> Answer:
        headers = {"Location": self.page_path, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
        return Answer(HTTPStatus.FOUND, headers=headers)


def _is_same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())

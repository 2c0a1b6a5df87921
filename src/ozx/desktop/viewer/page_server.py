"""Serve the viewer page, its descriptions and its tiles to requests with the token."""

from __future__ import annotations

import threading
from dataclasses import replace
from http import HTTPStatus
from importlib import resources
from typing import Any

import zarr

from ozx.desktop.viewer.descriptions import describe_file, describe_picture
from ozx.desktop.viewer.gate import Gate
from ozx.desktop.viewer.loopback import Answer, Request, json_answer, refusal
from ozx.desktop.viewer.pictures import Picture, Pictures
from ozx.desktop.viewer.presence import Presence
from ozx.errors import UsageError
from ozx.images.pictures.raster import encode_png
from ozx.images.pictures.thumbnail import draw_thumbnail
from ozx.store.live.group import LiveGroup

__all__ = ["PageServer"]

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
_SAFE = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",  # the address contains the token
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# Tiles decoded at once: more would only delay each of them.
_AT_ONCE = 4
# Longest side of the picture for browsers without WebGL 2.
_STILL = 1024
_TOO_LATE = refusal(HTTPStatus.REQUEST_TIMEOUT, "the client is gone")


class PageServer:
    """A server of the viewer page and its data at a secret path; the text `identity` changes with the file."""

    def __init__(self, group: zarr.Group, name: str, identity: str) -> None:
        self.pictures = Pictures(group)
        self.name = name
        self.gate = Gate()
        self.presence = Presence()
        self._live = group if isinstance(group, LiveGroup) else None
        self._identity, self._growth = identity, 0
        self._etag = f'"{identity}"'
        self._turns = threading.Semaphore(_AT_ONCE)
        self._opening = threading.Lock()

    def check(self) -> None:
        """Raise `FormatError` if the file contains nothing to show, or nothing yet."""
        described = describe_file(self.pictures, self.name)
        if self._live is not None and not described["plate"]:
            self.pictures.image(described["images"][0]["path"])

    def respond(self, request: Request) -> Answer:
        """Return the response to a request; 404 without the token."""
        rest = self.gate.enter(request)
        if isinstance(rest, Answer):
            return rest
        answer = self._api(rest.removeprefix("api/"), request) if rest.startswith("api/") else _page_file(rest)
        return replace(answer, headers={**answer.headers, **_SAFE})

    def _api(self, name: str, request: Request) -> Answer:
        if name == "alive":
            return self.presence.answer(request)
        if name == "growth":
            return self._grown()
        makers = {
            "file": self._file,
            "picture": self._description,
            "tile": self._tile,
            "contrast": self._contrast,
            "values": self._values,
            "still": self._still,
        }
        if name not in makers:
            return refusal(HTTPStatus.NOT_FOUND, "there is nothing here")
        etag = self._etag
        kept = {"ETag": etag, "Cache-Control": "private, no-cache"}
        if request.headers.get("if-none-match") == etag:
            return Answer(HTTPStatus.NOT_MODIFIED, headers=kept)
        answer = makers[name](request)
        return replace(answer, headers=kept) if answer.status == HTTPStatus.OK else answer

    def _file(self, _: Request) -> Answer:
        return json_answer({**describe_file(self.pictures, self.name), "live": self._live is not None})

    def _grown(self) -> Answer:
        """Take what the writer of a growing file has finished since; return how often there was something."""
        if self._live is None:
            return refusal(HTTPStatus.NOT_FOUND, "this file does not grow")
        with self._opening:
            if self._live.refresh():
                self.pictures = Pictures(self._live)
                self._growth += 1
                self._etag = f'"{self._identity}-{self._growth}"'
            state = self._live.state
        return json_answer({"growth": self._growth, "state": state})

    def _description(self, request: Request) -> Answer:
        return json_answer(describe_picture(self._picture(request.query)))

    def _tile(self, request: Request) -> Answer:
        query = request.query
        picture = self._picture(query)
        level, row, column, channel = (_number(query, key) for key in ("level", "row", "column", "channel"))
        with self._turns:
            if request.is_gone(0):  # out of view before its turn
                return _TOO_LATE
            tile = picture.tile(level, row, column, channel, _numbers(query, "planes"))
        return Answer(HTTPStatus.OK, tile.tobytes(), "application/octet-stream")

    def _contrast(self, request: Request) -> Answer:
        query = request.query
        picture = self._picture(query)
        part = _numbers(query, "part")
        if len(part) not in (0, 4):
            raise UsageError(f"expected the four sides of a part; got {part}")
        with self._turns:
            if request.is_gone(0):
                return _TOO_LATE
            window = picture.contrast(
                _number(query, "channel"),
                _numbers(query, "planes"),
                None if not part else (part[0], part[1], part[2], part[3]),
            )
        return json_answer({"start": window.start, "end": window.end})

    def _values(self, request: Request) -> Answer:
        query = request.query
        picture = self._picture(query)
        place = _number(query, "y"), _number(query, "x")
        with self._turns:
            if request.is_gone(0):
                return _TOO_LATE
            values = picture.values(*place, _numbers(query, "channels"), _numbers(query, "planes"))
        answer: dict[str, Any] = {"values": [_plain(value) for value in values]}
        if picture.view.is_label:
            answer["properties"] = [picture.view.display.properties.get(value) for value in values]
        return json_answer(answer)

    def _still(self, _: Request) -> Answer:
        """Return a static picture for browsers without WebGL 2."""
        with self._turns:
            return Answer(HTTPStatus.OK, encode_png(draw_thumbnail(self.pictures.group, _STILL).pixels), "image/png")

    def _picture(self, query: dict[str, str]) -> Picture:
        path = query.get("path", "")
        with self._opening:
            return self.pictures.plate(path) if query.get("plate") else self.pictures.image(path)


def _page_file(name: str) -> Answer:
    name = name or "index.html"
    folder = resources.files(__package__) / "page"
    names = {item.name for item in folder.iterdir()}
    kind = _TYPES.get(name[name.rfind(".") :])
    if name not in names or kind is None:
        return refusal(HTTPStatus.NOT_FOUND, "there is nothing here")
    return Answer(HTTPStatus.OK, (folder / name).read_bytes(), kind, {"Cache-Control": "no-cache"})


def _plain(value: Any) -> Any:
    """Return a number for JSON; large integers and non-finite numbers become strings."""
    if isinstance(value, int) and abs(value) < 1 << 53:
        return value
    return value if isinstance(value, float) and abs(value) < float("inf") else str(value)


def _number(query: dict[str, str], name: str) -> int:
    text = query.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise UsageError(f"expected a number for {name}; got {text!r}")
    return int(text)


def _numbers(query: dict[str, str], name: str) -> list[int]:
    parts = query.get(name, "").split(",")
    return [] if parts == [""] else [_number({name: part}, name) for part in parts]

"""Serve the viewer page, and the data that the page shows, to requests with the token."""

from __future__ import annotations

import json
import math
import secrets
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import zarr

from ozx.desktop.viewer.cropping import crop, parse_crop
from ozx.desktop.viewer.descriptions import describe_file, describe_picture
from ozx.desktop.viewer.keeping import can_keep, check_unchanged, file_identity, keep, parse_colors
from ozx.desktop.viewer.loopback import Request, Response, json_answer, refusal
from ozx.desktop.viewer.napari_window import start_napari
from ozx.desktop.viewer.page_access import PageAccess, page_file
from ozx.desktop.viewer.pictures import Part, Picture, Pictures
from ozx.errors import FormatError, UsageError
from ozx.places.place import Place
from ozx.store.live.group import LiveGroup
from ozx.store.opening import opened_hierarchy

# Tiles decoded at once: more would only delay each of them.
_AT_ONCE = 4
_NO_POST = Response(HTTPStatus.METHOD_NOT_ALLOWED, b"this is read-only\n", headers={"Allow": "GET, HEAD"})
_TOO_LATE = refusal(HTTPStatus.REQUEST_TIMEOUT, "the client is gone")


class PageServer:
    """A server of the viewer page and its data at a secret path; a page of a `place` may write its colours there.

    `identity` is the state of the file that is shown, empty for a URL, a directory or a growing file.
    """

    def __init__(self, group: zarr.Group, name: str, identity: str, place: Place | None = None) -> None:
        self.pictures = Pictures(group)
        self._place = place
        self.name = name
        self.access = PageAccess()
        self._live = group if isinstance(group, LiveGroup) else None
        self._identity, self._growth = identity, 0
        self._tag = identity or secrets.token_hex(8)
        self._etag = f'"{self._tag}"'
        self._turns = threading.Semaphore(_AT_ONCE)
        self._opening = threading.Lock()
        self._writing = threading.Lock()
        self._opened = ExitStack()

    def close(self) -> None:
        """Close the files that were opened after edits."""
        self._opened.close()

    def check(self) -> None:
        """Raise `FormatError` if the file contains no image, or if a growing file's first image cannot be shown yet."""
        described = describe_file(self.pictures, self.name)
        if self._live is not None and not described["plate"]:
            self.pictures.image(described["images"][0]["path"])

    def respond(self, request: Request) -> Response:
        """Return the response to a request; 404 without the token."""
        return self.access.answer(request, self._respond)

    def _respond(self, name: str, request: Request) -> Response:
        if request.method == "POST":
            doers = {"api/keep": self._keep, "api/crop": self._crop, "api/napari": self._open_in_napari}
            if name not in doers or self._place is None:
                return _NO_POST
            if not _is_from_page(request):
                return refusal(HTTPStatus.FORBIDDEN, "only the viewer page may ask for this")
            return doers[name](request, self._place)
        if name.startswith("api/"):
            return self._api(name.removeprefix("api/"), request)
        return page_file(__package__, name)

    def _api(self, name: str, request: Request) -> Response:
        if name == "alive":
            return self.access.answer_alive(request)
        if name == "growth":
            return self._grown()
        makers = {
            "file": self._file,
            "picture": self._description,
            "tile": self._tile,
            "contrast": self._contrast,
            "histogram": self._histogram,
            "values": self._values,
        }
        if name not in makers:
            return refusal(HTTPStatus.NOT_FOUND, "there is nothing here")
        etag = self._etag
        kept = {"ETag": etag, "Cache-Control": "private, no-cache"}
        if request.headers.get("if-none-match") == etag:
            return Response(HTTPStatus.NOT_MODIFIED, headers=kept)
        answer = makers[name](request)
        return replace(answer, headers=kept) if answer.status == HTTPStatus.OK else answer

    def _file(self, _: Request) -> Response:
        return json_answer({**describe_file(self.pictures, self.name), "live": self._live is not None})

    def _grown(self) -> Response:
        """Refresh a growing file; return the file's state, and the number of refreshes that found new data."""
        if self._live is None:
            return refusal(HTTPStatus.NOT_FOUND, "this file does not grow")
        with self._opening:
            if self._live.refresh():
                self.pictures = Pictures(self._live)
                self._growth += 1
                self._etag = f'"{self._tag}-{self._growth}"'
            state = self._live.state
        return json_answer({"growth": self._growth, "state": state})

    def _description(self, request: Request) -> Response:
        picture = self._picture(request.query)
        is_kept = self._place is not None and can_keep(self._place, self.pictures, picture)
        return json_answer({**describe_picture(picture), "can_keep": is_kept})

    def _tile(self, request: Request) -> Response:
        query = request.query
        place = [_number(query, key) for key in ("level", "row", "column", "channel")]
        planes, outlines = _numbers(query, "planes"), query.get("outlines") == "1"

        def tile(picture: Picture) -> Response:
            samples = picture.tile(place[0], place[1], place[2], place[3], planes, outlines=outlines)
            return Response(HTTPStatus.OK, samples.tobytes(), "application/octet-stream")

        return self._pixels(request, tile)

    def _contrast(self, request: Request) -> Response:
        query = request.query
        channel, planes, part = _number(query, "channel"), _numbers(query, "planes"), _part(query)

        def contrast(picture: Picture) -> Response:
            window = picture.contrast(channel, planes, part)
            return json_answer({"start": window.start, "end": window.end})

        return self._pixels(request, contrast)

    def _histogram(self, request: Request) -> Response:
        query = request.query
        channel, planes, part = _number(query, "channel"), _numbers(query, "planes"), _part(query)
        ends = _real(query, "low"), _real(query, "high")
        return self._pixels(
            request, lambda picture: json_answer({"counts": picture.histogram(channel, planes, ends, part)})
        )

    def _values(self, request: Request) -> Response:
        query = request.query
        place = _number(query, "y"), _number(query, "x")
        channels, planes = _numbers(query, "channels"), _numbers(query, "planes")

        def values(picture: Picture) -> Response:
            found = picture.values(*place, channels, planes)
            answer: dict[str, Any] = {"values": [_plain(value) for value in found]}
            if picture.view.is_label:
                answer["properties"] = [picture.view.display.properties.get(value) for value in found]
            return json_answer(answer)

        return self._pixels(request, values)

    def _pixels(self, request: Request, work: Callable[[Picture], Response]) -> Response:
        """Wait for the turn of a request, then return the response that `work` makes from the requested picture."""
        with self._turns:
            if request.is_gone(0):  # out of view before its turn
                return _TOO_LATE
            before = self.pictures
            try:
                return work(self._picture(request.query))
            except FormatError as error:
                if error.rule != "zip/changed":
                    raise
                with self._writing:  # another thread may be writing colours into the file
                    if self.pictures is before:
                        raise
            return work(self._picture(request.query))

    def _crop(self, request: Request, place: Place) -> Response:
        """Return the region on the screen as a file."""
        path, part, ending = parse_crop(request.body)
        picture = self._picture({"path": path})
        with self._writing:
            check_unchanged(place, self._identity)
            return crop(place, picture, part, ending)

    def _open_in_napari(self, request: Request, place: Place) -> Response:
        """Start napari with the view of the page."""
        try:
            view = json.loads(request.body)["view"]
        except (ValueError, KeyError, TypeError, RecursionError):
            view = None
        if not (isinstance(view, str) and view.isascii() and view.isprintable()):
            raise UsageError("expected a view, as in a link of the page")
        return json_answer({"command": start_napari(place, view)})

    def _keep(self, request: Request, place: Place) -> Response:
        """Write the colours chosen in the page into the file."""
        path, edits = parse_colors(request.body)
        picture = self._picture({"path": path, "plate": "" if path or self.pictures.fields is None else "1"})
        if not can_keep(place, self.pictures, picture):
            return refusal(HTTPStatus.FORBIDDEN, "this file is read-only")
        with self._writing:
            check_unchanged(place, self._identity)
            result = keep(place, path, edits)
            if result.written:
                self._identity = file_identity(place)
                group = self._opened.enter_context(opened_hierarchy(place))
                with self._opening:
                    self.pictures = Pictures(group)
                    self._etag = f'"{self._identity}"'
        return json_answer({"written": result.written, "changes": len(result.differences), "notes": result.notes})

    def _picture(self, query: dict[str, str]) -> Picture:
        path = query.get("path", "")
        with self._opening:
            return self.pictures.plate(path) if query.get("plate") else self.pictures.image(path)


def _is_from_page(request: Request) -> bool:
    """Return whether the page sent a request: the origin is this server, and the body is JSON, which no form sends."""
    headers = request.headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_same_site = headers.get("sec-fetch-site", "same-origin") == "same-origin"
    return headers.get("origin") == f"http://{headers.get('host')}" and kind == "application/json" and is_same_site


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


def _real(query: dict[str, str], name: str) -> float:
    text = query.get(name, "")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"expected a finite number for {name}; got {text[:100]!r}")
    return number


def _part(query: dict[str, str]) -> Part | None:
    part = _numbers(query, "part")
    if len(part) not in (0, 4):
        raise UsageError(f"expected the part of a picture as the numbers top, left, bottom and right; got {part}")
    return (part[0], part[1], part[2], part[3]) if part else None


def _numbers(query: dict[str, str], name: str) -> list[int]:
    parts = query.get(name, "").split(",")
    return [] if parts == [""] else [_number({name: part}, name) for part in parts]

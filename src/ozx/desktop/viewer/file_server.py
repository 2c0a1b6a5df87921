"""Serve files to programs that read URLs: whole files, ranges of files, and the values packed in a file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Literal, cast
from urllib.parse import quote

from ozx.desktop.viewer.loopback import LoopbackServer, Request, Response, file_tag, refusal, serving
from ozx.desktop.viewer.page_access import wait_for_ever
from ozx.errors import FormatError, OzxError, UsageError
from ozx.flow.entry import BytesPart, Part, Span, read_part
from ozx.flow.plans.zarr_v2 import plan_as_04, planned_values
from ozx.flow.sources.archive import ArchivedPart, ArchiveSource
from ozx.flow.sources.browsing import DirectoryView, open_view
from ozx.operations.unpack import default_directory
from ozx.places.byte_source import ByteSource, FileSource, iter_exactly
from ozx.places.place import Place
from ozx.store.reading import ArchiveSession
from ozx.zarr.keys import METADATA

# Serve values by HTTP, as a whole or in ranges.
#
# RFC 9110, 14.2: an invalid range is ignored; a range beyond the end is answered with 416.

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


def answer_range(
    request: Request, etag: str, size: int, iterate: Callable[[int, int], Iterator[bytes]], content_type: str
) -> Response:
    """Return a response with `size` bytes or the requested range; `iterate(offset, length)` yields blocks of bytes."""
    headers = {"Accept-Ranges": "bytes", "ETag": etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(HTTPStatus.NOT_MODIFIED, headers=headers)
    found = None
    if request.headers.get("if-range", etag) == etag:
        found = _RANGE.fullmatch(request.headers.get("range", ""))
    if found is None or found[0] == "bytes=-" or (found[1] and found[2] and int(found[2]) < int(found[1])):
        return Response(HTTPStatus.OK, iterate(0, size), content_type, headers, size)
    start = int(found[1]) if found[1] else max(0, size - int(found[2]))
    stop = min(size, int(found[2]) + 1) if found[1] and found[2] else size
    if start >= stop:
        headers["Content-Range"] = f"bytes */{size}"
        return Response(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=headers)
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    return Response(HTTPStatus.PARTIAL_CONTENT, iterate(start, stop - start), content_type, headers, stop - start)


def value_type(key: str) -> str:
    """Return the media type of the value of a key.

    Examples
    --------
    >>> value_type("0/zarr.json"), value_type("0/c/0/0")
    ('application/json', 'application/octet-stream')
    """
    is_json = key.endswith((".json", ".zattrs", ".zarray", ".zgroup"))
    return "application/json" if is_json else "application/octet-stream"


_EXPOSED = "Accept-Ranges, Content-Length, Content-Range, ETag"


#: The form in which an archive is served: as a file and its values; as a directory of these values; or as a directory
#: of OME-Zarr 0.4 (Zarr v2).
ServedForm = Literal["file", "directory", "0.4"]


class ServedArchive:
    """An archive that is served as a file with ranges, and as separate values; `node` is what the user has named."""

    def __init__(self, path: str, node: str = "", form: ServedForm = "file") -> None:
        self.node = node
        self.form = form
        self.source: ByteSource = FileSource(path)
        self._session = ArchiveSession(self.source)
        # A file that cannot be read, or not be shown in this form, is an error now, not at the first request.
        self._values = ArchiveSource(self._session.reader, checks_before_spans=False)
        is_converted = form == "0.4" and METADATA in self._values
        self._find_planned = planned_values(self._values, plan_as_04(self._values)) if is_converted else None
        self.source.check_unchanged()
        self.etag = f'"{file_tag(path)}"'

    def answer_file(self, request: Request) -> Response:
        """Return a response with the file, or with the requested range of it."""
        if self.form != "file":
            return refusal(HTTPStatus.NOT_FOUND, "this is a directory")
        return answer_range(request, self.etag, self.source.size(), self._iter_file, "application/vnd.ome.zarr+zip")

    def answer_value(self, key: str, request: Request) -> Response:
        """Return a response with the value of `key`, or the requested range of it; 404 if there is no such key."""
        try:
            part = self._find(key)
            if part is None:
                return refusal(HTTPStatus.NOT_FOUND, "there is no such key")
            if not hasattr(part, "span") and request.method != "HEAD":
                part = BytesPart(read_part(part))  # a checksum at its end is compared before anything is sent
        except FormatError as error:
            self.source.check_unchanged()
            return refusal(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        value = cast("Span", part)

        def iter_value(offset: int, length: int) -> Iterator[bytes]:
            is_whole = (offset, length) == (0, value.length)  # then the CRC-32 is checked at the end
            for block in (value if is_whole else value.span(offset, length)).iter_blocks():
                self.source.check_unchanged()
                yield block

        return answer_range(request, self.etag, value.length, iter_value, value_type(key))

    def _find(self, key: str) -> Part | None:
        if self._find_planned is not None:
            return self._find_planned(key)
        index = self._session.find(key)
        return None if index is None else ArchivedPart(self._values, index)

    def _iter_file(self, offset: int, length: int) -> Iterator[bytes]:
        for block in iter_exactly(self.source, offset, length, "the file"):
            self.source.check_unchanged()
            yield block


class FileServer:
    """An HTTP server of several files: ``/cells.ozx`` is a file, ``/cells.ozx/zarr.json`` is a value in it.

    In another `form`, ``/cells.ome.zarr`` is a directory. What OME-Zarr 0.4 cannot express raises `UnsupportedError`.

    Web pages of the origin `cors` (``https://example.org``) may read the files. ``*`` allows all pages, None allows no
    page of another origin. A directory, a URL or a missing node raises `UsageError`.
    """

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        *,
        form: ServedForm = "file",
        cors: str | None = None,
        warn: Callable[[str], object] = str,  # by default, nobody is told
    ) -> None:
        self._cors = cors
        self._warn = warn
        self._archives: dict[str, ServedArchive] = {}
        for path in paths:
            location = Place.parse(path)
            if location.kind() == "a URL":
                raise UsageError(
                    "this is a URL: programs that support URLs can read it themselves",
                    path=location.name,
                    hint="Give the URL to these programs, or show the file with ozx view.",
                )
            if isinstance(open_view(location), DirectoryView):
                raise UsageError(
                    "expected an .ozx file; found a directory",
                    path=location.path,
                    hint="Pack the directory (ozx pack), or serve it with python -m http.server.",
                )
            name = os.path.basename(location.path)
            name = _unused(name if form == "file" else default_directory(name), self._archives)
            try:
                self._archives[name] = ServedArchive(location.path, location.node, form)
            except OzxError as error:
                raise error.at(location.path) from None

    @property
    def locations(self) -> list[Place]:
        """The path of each file in the URL, without the leading slash, and its node."""
        return [Place(quote(name), archive.node) for name, archive in self._archives.items()]

    def respond(self, request: Request) -> Response:
        """Return the response to a request."""
        allowed = self._allowed(request)
        if request.method == "OPTIONS":
            return Response(HTTPStatus.NO_CONTENT, headers=allowed and {**allowed, **_PREFLIGHT})
        name, slash, key = request.path.removeprefix("/").partition("/")
        archive = self._archives.get(name)
        if archive is None:
            answer = refusal(HTTPStatus.NOT_FOUND, "there is no such file")
        else:
            try:
                archive = self._current(name, archive)
                answer = archive.answer_value(key, request) if slash else archive.answer_file(request)
            except (OSError, OzxError) as error:
                self._warn(f"{archive.source.name}: it changed, and cannot be served any more: {error}")
                answer = refusal(HTTPStatus.CONFLICT, f"the file changed, and cannot be served any more: {error}")
        return replace(answer, headers={**answer.headers, **allowed})

    def _current(self, name: str, archive: ServedArchive) -> ServedArchive:
        """Return the archive; if its file was edited or replaced, open the new one first."""
        path = archive.source.name
        if archive.etag != f'"{file_tag(path)}"':
            archive = self._archives[name] = ServedArchive(path, archive.node, archive.form)
            self._warn(f"{path}: it changed; the new file is served from now on")
        return archive

    def _allowed(self, request: Request) -> dict[str, str]:
        """Return the CORS headers that let the requesting page read the response."""
        origin = request.headers.get("origin")
        if self._cors is None or origin is None or self._cors not in ("*", origin):
            return {}
        return {"Access-Control-Allow-Origin": self._cors, "Access-Control-Expose-Headers": _EXPOSED, "Vary": "Origin"}


_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": "Range, If-None-Match, If-Range, Cache-Control",
    "Access-Control-Allow-Private-Network": "true",  # Chromium requires this header if the page is public
    "Access-Control-Max-Age": "600",
}


def serve_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    form: ServedForm = "file",
    port: int = 0,
    cors: str | None = None,
    announce: Callable[[str, str], None],
    warn: Callable[[str], None],
) -> None:
    """Serve files on this computer until an interrupt.

    With the `port` 0, any free port is used. `announce` gets the URL and the address (ZEP 8) of each file, in order,
    and `warn` what happens to the files meanwhile.
    """
    files = FileServer(paths, form=form, cors=cors, warn=warn)
    with serving(LoopbackServer(files.respond, port)) as server:
        for location in files.locations:
            url, node = f"{server.origin}/{location.path}", quote(f"/{location.node}".rstrip("/"))
            served = Place(url, location.node) if form == "file" else Place(f"{url}{node}/")
            announce(url + node, served.address(2 if form == "0.4" else 3))
        wait_for_ever()


def _unused(name: str, taken: Collection[str]) -> str:
    """Return `name`, with a number added if another file already has that name."""
    stem, dot, ending = name.rpartition(".")
    candidates = (f"{stem}-{number}{dot}{ending}" if stem else f"{name}-{number}" for number in range(2, 1 << 20))
    return name if name not in taken else next(candidate for candidate in candidates if candidate not in taken)

"""A small HTTP server for one file, which records every request and makes chosen faults."""

from __future__ import annotations

import http.server
from email.utils import formatdate

from loopback import LoopbackServer, QuietHandler, bounds, running


class RangeServer(LoopbackServer):
    """A server of `data` under every path; a request is its method and the value of its Range header."""

    def __init__(self, data: bytes) -> None:
        super().__init__(_Handler)
        self.data = data
        self.sent = 0  # bytes of bodies
        self.failures: list[int] = []  # status codes for the next requests, in order
        self.body = b""  # of the answers with these codes
        self.knows_ranges = self.knows_suffixes = True  # if not, the answer to such a request is the whole file
        # The values of these headers in the answers; None leaves out the header.
        self.etag: str | None = '"first"'
        self.modified: int | None = 1_700_000_000
        self.content_range = "bytes {}-{}/{}"
        self.cuts: list[int] = []  # numbers of bytes after which the answers to the next requests end
        self.before = lambda call: None  # called with the method of each request before it is answered

    @property
    def url(self) -> str:
        return f"{super().url}/cells.ozx"


class _Handler(QuietHandler, http.server.BaseHTTPRequestHandler):
    # One request per connection (HTTP/1.0), so that no thread waits at the end.
    server: RangeServer

    def do_GET(self):
        server, wanted = self.server, self.headers.get("Range")
        server.requests.append((self.command, wanted))
        server.before(self.command)
        if server.failures:
            self._answer(server.failures.pop(0), server.body)
            return
        data = server.data
        if not wanted or not server.knows_ranges or (wanted.startswith("bytes=-") and not server.knows_suffixes):
            self._answer(200, data)
            return
        start, stop = bounds(wanted, len(data))
        if start >= stop:
            self._answer(416, b"")
            return
        self._answer(206, data[start:stop], server.content_range.format(start, stop - 1, len(data)))

    def _answer(self, status, body, content_range=None):
        server = self.server
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if content_range:
            self.send_header("Content-Range", content_range)
        if server.etag:
            self.send_header("ETag", server.etag)
        if server.modified:
            self.send_header("Last-Modified", formatdate(server.modified, usegmt=True))
        self.end_headers()
        if self.command != "HEAD":
            body = body[: server.cuts.pop(0)] if server.cuts else body
            for start in range(0, len(body), 1 << 16):
                self.wfile.write(body[start : start + (1 << 16)])
                server.sent += len(body[start : start + (1 << 16)])


def serving(data: bytes):
    """Serve a file during the ``with`` block."""
    return running(RangeServer(data))

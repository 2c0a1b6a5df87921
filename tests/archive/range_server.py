"""A small HTTP server for one file, which records every request and makes chosen faults."""

from __future__ import annotations

import http.server
import threading
from contextlib import contextmanager
from email.utils import formatdate


class RangeServer(http.server.ThreadingHTTPServer):
    """A server of `data` under every path, on loopback.

    Attributes
    ----------
    requests
        (method, value of the Range header) of every request.
    sent
        Bytes of bodies that were sent.
    failures, body
        Status codes for the next requests, in order, and the body of these answers.
    cuts
        Numbers of bytes after which the answers to the next requests end.
    before
        Called with the method of each request before it is answered.
    knows_ranges, knows_suffixes
        If false, the answer to such a request is the whole file.
    etag, modified
        The values of these headers in the answers; None leaves out the header.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, data: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.data = data
        self.requests: list[tuple[str, str | None]] = []
        self.sent = 0
        self.failures: list[int] = []
        self.knows_ranges = self.knows_suffixes = True
        self.etag: str | None = '"first"'
        self.modified: int | None = 1_700_000_000
        self.content_range = "bytes {}-{}/{}"
        self.body = b""
        self.cuts: list[int] = []
        self.before = lambda call: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/cells.ozx"

    def take_requests(self):
        """Return the requests since the last call, in the order in which they came."""
        taken, self.requests = self.requests, []
        return taken

    def handle_error(self, request, client_address):
        pass  # the client has closed the connection before the end


class _Handler(http.server.BaseHTTPRequestHandler):
    # One request per connection (HTTP/1.0), so that no thread waits at the end.
    server: RangeServer

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET()

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
        first, last = wanted.removeprefix("bytes=").split("-")
        start = int(first) if first else max(0, len(data) - int(last))
        stop = min(len(data), int(last) + 1) if first and last else len(data)
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


@contextmanager
def serving(data: bytes):
    """Yield a running server, and stop it at the end."""
    server = RangeServer(data)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""A small HTTP server for the files of a folder; it cannot list the files, and answers as the test chooses."""

from __future__ import annotations

import hashlib
import http.server
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote


class FolderServer(http.server.ThreadingHTTPServer):
    """A server of the files below `root`, on loopback.

    Attributes
    ----------
    requests
        (method, path) of every request.
    statuses
        The status by path, for files whose requests do not get the usual status.
    tags
        The ETag by path, instead of the ETag from the content of the file.
    makes_md5
        Whether other ETags are the MD5 of the file.
    flips
        By path: in how many answers the last bit is flipped.
    headers
        More headers of all answers.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self.requests: list[tuple[str, str]] = []
        self.statuses: dict[str, int] = {}
        self.tags: dict[str, str] = {}
        self.makes_md5 = False
        self.flips: dict[str, int] = {}
        self.headers: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def take_requests(self):
        """Return the requests since the last call."""
        taken, self.requests = self.requests, []
        return taken

    def handle_error(self, request, client_address):
        pass  # the client has closed the connection before the end


class _Handler(http.server.BaseHTTPRequestHandler):
    server: FolderServer

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        server, path = self.server, unquote(self.path.partition("?")[0])
        server.requests.append((self.command, path))
        file = server.root / path.strip("/")
        status = server.statuses.get(path, 200 if file.is_file() else 404)
        if status != 200:
            self._answer(status, b"")
            return
        data = file.read_bytes()
        tag = server.tags.get(path, f'"{hashlib.md5(data).hexdigest() if server.makes_md5 else hex(hash(data))}"')
        wanted = self.headers.get("Range")
        if wanted is None:
            self._answer(200, self._flipped(path, data), tag)
            return
        first, last = wanted.removeprefix("bytes=").split("-")
        start = int(first) if first else max(0, len(data) - int(last))
        stop = min(len(data), int(last) + 1) if first and last else len(data)
        self._answer(206, self._flipped(path, data[start:stop]), tag, f"bytes {start}-{stop - 1}/{len(data)}")

    def _flipped(self, path, body):
        if not body or not self.server.flips.get(path) or self.command != "GET":
            return body
        self.server.flips[path] -= 1
        return body[:-1] + bytes([body[-1] ^ 1])

    def _answer(self, status, body, tag=None, span=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        if tag is not None:
            self.send_header("ETag", tag)
        if span is not None:
            self.send_header("Content-Range", span)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def serving_folder(root):
    """Serve a folder during the ``with`` block."""
    server = FolderServer(Path(root))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

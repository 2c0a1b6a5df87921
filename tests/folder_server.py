"""A small HTTP server for the files of a folder; it cannot list the files, and answers as the test chooses."""

from __future__ import annotations

import hashlib
import http.server
from pathlib import Path
from urllib.parse import unquote

from loopback import LoopbackServer, QuietHandler, bounds, running


class FolderServer(LoopbackServer):
    """A server of the files below `root`; a request is its method and its path."""

    def __init__(self, root: Path) -> None:
        super().__init__(_Handler)
        self.root = root
        self.statuses: dict[str, int] = {}  # by path, for files whose requests do not get the usual status
        self.tags: dict[str, str] = {}  # by path, instead of the ETag from the content of the file
        self.makes_md5 = False  # whether other ETags are the MD5 of the file
        self.flips: dict[str, int] = {}  # by path: in how many answers the last bit is flipped
        self.headers: dict[str, str] = {}  # more headers of all answers


class _Handler(QuietHandler, http.server.BaseHTTPRequestHandler):
    server: FolderServer

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
        start, stop = bounds(wanted, len(data))
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


def serving_folder(root):
    """Serve a folder during the ``with`` block."""
    return running(FolderServer(Path(root)))

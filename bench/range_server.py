"""An HTTP server for ranges of files, in a separate process: ``range_server.py FOLDER DELAY`` prints its port.

The server waits `DELAY` seconds before each answer, as a network does, and keeps connections open. The path
``/-/requests`` returns the number of requests so far, ``/-/bytes`` the bytes of all bodies.
"""

from __future__ import annotations

import http.server
import os
import sys
import threading
import time


class Server(http.server.ThreadingHTTPServer):
    """A server for the files of a folder on the loopback interface."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, folder: str, delay: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.delay = folder, delay
        self.count, self.sent, self.counting = 0, 0, threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    """A handler for GET and HEAD requests of whole files and of single ranges."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    server: Server

    def log_message(self, *arguments: object) -> None:
        """Write no log."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        server = self.server
        if self.path.startswith("/-/"):
            self._answer(200, str(server.sent if self.path == "/-/bytes" else server.count).encode())
            return
        with server.counting:
            server.count += 1
        time.sleep(server.delay)
        try:
            with open(server.folder + self.path, "rb") as file:
                self._send(file.fileno())
        except (FileNotFoundError, IsADirectoryError):
            self._answer(404, b"")

    def _send(self, descriptor: int) -> None:
        size, wanted = os.fstat(descriptor).st_size, self.headers.get("Range")
        if not wanted:
            self._answer(200, os.pread(descriptor, size, 0) if self.command == "GET" else b"", size)
            return
        first, last = wanted.removeprefix("bytes=").split("-")
        start = int(first) if first else max(0, size - int(last))
        stop = min(size, int(last) + 1) if first and last else size
        if start >= stop:
            self._answer(416, b"")
            return
        self._answer(206, os.pread(descriptor, stop - start, start), place=f"bytes {start}-{stop - 1}/{size}")

    def _answer(self, status: int, body: bytes, size: int | None = None, place: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"first"')
        if place:
            self.send_header("Content-Range", place)
        self.end_headers()
        if self.command == "GET":
            if not self.path.startswith("/-/"):
                with self.server.counting:
                    self.server.sent += len(body)
            self.wfile.write(body)


if __name__ == "__main__":
    server = Server(sys.argv[1], float(sys.argv[2]))
    print(server.server_port, flush=True)
    server.serve_forever()

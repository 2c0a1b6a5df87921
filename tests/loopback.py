"""HTTP servers on loopback, in a thread of the test's process."""

from __future__ import annotations

import http.server
import threading
from contextlib import contextmanager


class LoopbackServer(http.server.ThreadingHTTPServer):
    """A server on a free port, which keeps a list of its requests."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, handler: type[http.server.BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.requests: list = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def take_requests(self):
        """Return the requests since the last call, in the order in which they came."""
        taken, self.requests = self.requests, []
        return taken

    def handle_error(self, request, client_address):
        pass  # the client has closed the connection before the end


class QuietHandler:
    """What handlers have in common: they write no log, and answer HEAD as they answer GET."""

    def log_message(self, *arguments):
        pass

    def do_HEAD(self):  # noqa: N802 (named by the standard library)
        self.do_GET()


def bounds(wanted: str, size: int) -> tuple[int, int]:
    """Return the start and the end of the part of a file that a Range header asks for."""
    first, last = wanted.removeprefix("bytes=").split("-")
    return int(first) if first else max(0, size - int(last)), min(size, int(last) + 1) if first and last else size


@contextmanager
def running(server: http.server.HTTPServer):
    """Run a server during the ``with`` block."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""Run an HTTP server that only programs on this computer can reach.

The function that answers requests maps a `Request` to a `Response`, and uses no sockets.
"""

from __future__ import annotations

import json
import os
import select
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ozx.errors import OzxError, ResourceError, UsageError
from ozx.faults import FaultError, as_error
from ozx.file_changes import identity_of

#: A number, because a name needs a resolver; only this computer reaches this address.
HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
# A request needs no long body: read a short one, end the connection on a longer one.
_LONGEST_BODY = 1 << 16


@dataclass(frozen=True)
class Request:
    """An HTTP request: method, path and headers."""

    method: str  # ``GET``, ``HEAD`` or ``OPTIONS``; ``POST`` if the server takes it
    path: str  # percent-encoding decoded, no query
    query: dict[str, str] = field(default_factory=dict)  # names and values; of several values the last
    headers: dict[str, str] = field(default_factory=dict)  # by their names in lower case
    # waits up to this many seconds; tells whether the client has gone away
    is_gone: Callable[[float], bool] = lambda _: False
    body: bytes = b""


@dataclass(frozen=True)
class Response:
    """An HTTP response; `length` is the number of bytes of a streamed `body`, None for an endless stream."""

    status: HTTPStatus
    body: bytes | Iterator[bytes] = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None


def file_tag(path: str) -> str:
    """Return a text that changes whenever a local file changes."""
    return "-".join(f"{number:x}" for number in identity_of(os.stat(path)))


def refusal(status: HTTPStatus, message: str) -> Response:
    """Return an error response with a message."""
    return Response(status, (message + "\n").encode())


def json_answer(document: Any, status: HTTPStatus = HTTPStatus.OK, headers: dict[str, str] | None = None) -> Response:
    """Return a response with `document` as JSON."""
    body = json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(status, body, "application/json", headers or {})


class LoopbackServer(ThreadingHTTPServer):
    """A server on 127.0.0.1 that calls `respond` for each request, in one thread per connection.

    Requests with another host in the ``Host`` header are refused (403), because the name of a foreign site may point
    here. Methods that change something are refused (405), except ``POST`` if the server `takes_posts`. Errors of
    `respond` become responses with the error's message; unexpected errors also go to stderr and end the connection.
    """

    daemon_threads = True
    # Programs ask for hundreds of chunks at once. Of more connections than wait here, each is tried again by the system
    # after one second, then after two, …
    request_queue_size = 1024
    # On Windows, reusing addresses would let two servers share a port.
    allow_reuse_address = os.name != "nt"

    def __init__(self, respond: Callable[[Request], Response], port: int = 0, *, takes_posts: bool = False) -> None:
        self.respond = respond
        self.takes_posts = takes_posts
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise ResourceError(
                f"cannot listen on port {port} of {HOST}: {error.strerror or error}",
                hint="Give another --port, or leave it out to use a free port.",
            ) from error

    def server_bind(self) -> None:
        """Bind the socket without the host name lookup of the standard library."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, int(self.server_address[1])

    @property
    def origin(self) -> str:
        """The scheme, host and port of the server's URL."""
        return f"http://{HOST}:{self.server_port}"

    @property
    def hosts(self) -> frozenset[str]:
        """The accepted values of the ``Host`` header."""
        return frozenset(f"{name}:{self.server_port}" for name in _NAMES)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error of a request in a few lines; ignore clients that disconnected early."""
        del request, client_address
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, ConnectionError | TimeoutError):
            _report(as_error(error))


def _report(error: OzxError) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"error: {error}\nhint: {error.hint}\n")


@contextmanager
def serving(server: LoopbackServer) -> Iterator[LoopbackServer]:
    """Yield `server`, which runs in a separate thread until the end of the ``with`` block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LoopbackServer
    server_version, sys_version = "ozx", ""
    # Idle connections are closed after this time.
    timeout = 300

    def __getattr__(self, name: str) -> Callable[[], None]:
        # The standard library looks for a method of this name, and else sends its own answer.
        if not name.startswith("do_"):
            raise AttributeError(name)
        return self._refuse

    def _refuse(self) -> None:
        self.close_connection = True  # the body of the request stays unread
        self._send(
            Response(HTTPStatus.METHOD_NOT_ALLOWED, b"this server is read-only\n", headers={"Allow": "GET, HEAD"})
        )

    def log_message(self, *_: Any) -> None:
        """Log nothing, because standard error is reserved for messages to the user."""

    def _respond(self) -> None:
        if self.headers.get("Host", "") not in self.server.hosts:
            self._send(refusal(HTTPStatus.FORBIDDEN, "this server is for this computer only"))
            return
        body = self._read_body()
        if body is None:
            self.close_connection = True  # the body of the request stays unread
            message = "expected a short body with a valid Content-Length"
            self._send(refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message))
            return
        try:
            parts = urlsplit(self.path)
        except ValueError as error:  # http://[
            self._send(refusal(HTTPStatus.BAD_REQUEST, f"this is not a URL: {error}"))
            return
        query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, unquote(parts.path), query, headers, self._is_gone, body)
        try:
            answer = self.server.respond(request)
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 (the server lives on, whatever is wrong with one file)
            failure = as_error(error)
            told = {"message": str(failure), "hint": failure.hint, "kind": type(failure).__name__, "rule": failure.rule}
            answer = json_answer({"error": told}, _status_of(failure))
            if isinstance(failure, FaultError):
                self.close_connection = True
                _report(failure)
        self._send(answer)

    do_GET = do_HEAD = do_OPTIONS = _respond  # noqa: N815 (names that the standard library looks for)

    def do_POST(self) -> None:
        """Respond to a POST request, or refuse it if the server accepts no POST requests."""
        if self.server.takes_posts:
            self._respond()
        else:
            self._refuse()

    def _read_body(self) -> bytes | None:
        """Read the body of a request, so that it is not parsed as the next request; return None if it is too long."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            return None
        if len(length) > 9 or int(length) > _LONGEST_BODY:
            return None
        return self.rfile.read(int(length))

    def _send(self, answer: Response) -> None:
        length = len(answer.body) if isinstance(answer.body, bytes) else answer.length
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("X-Content-Type-Options", "nosniff")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if length is None:
            self.close_connection = True
            self.send_header("Connection", "close")
        elif answer.status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        blocks = iter([answer.body]) if isinstance(answer.body, bytes) else answer.body
        try:
            if self.command != "HEAD":
                for block in blocks:
                    self.wfile.write(block)
                    self.wfile.flush()
        except OzxError:
            self.close_connection = True  # the length is already sent: only a broken connection can report the error
        finally:
            with suppress(AttributeError):
                blocks.close()  # type: ignore[attr-defined]

    def _is_gone(self, seconds: float) -> bool:
        if not select.select([self.connection], [], [], seconds)[0]:
            return False
        with suppress(OSError):
            if self.connection.recv(1, socket.MSG_PEEK):  # the next request, sent before this answer
                time.sleep(seconds)
                return False
        return True


def _status_of(error: OzxError) -> HTTPStatus:
    if isinstance(error, UsageError):
        return HTTPStatus.NOT_FOUND
    is_ours = isinstance(error, ResourceError | FaultError)
    return HTTPStatus.INTERNAL_SERVER_ERROR if is_ours else HTTPStatus.UNPROCESSABLE_ENTITY

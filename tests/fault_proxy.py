"""A proxy on loopback, between ozx and a server, with chosen faults.

Each connection carries one request. Each fault affects one request, in the order of `faults`; later requests pass.
"""

from __future__ import annotations

import http.client
import http.server
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from servers import LoopbackServer, running


@dataclass(frozen=True)
class Fault:
    """A fault that affects one request."""

    # ``status`` (the answer is a `code`), ``drop`` (the connection ends before the answer), ``reset`` (with RST),
    # ``lose`` (the server gets the request, and its answer is lost), ``truncate`` (the connection ends `after` bytes
    # of the body), ``stall`` (nothing comes for `seconds` before it ends), ``slow`` (the body comes in ten pieces,
    # over `seconds`) or ``change`` (the answer has other `headers`).
    kind: str
    code: int = 0
    retry_after: str | None = None
    after: int = 0
    seconds: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def change(cls, **headers: str) -> Fault:
        """Answer with other headers: ``ETag="…"``, ``Last_Modified="…"``."""
        return cls("change", headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()))


class FaultProxy(LoopbackServer):
    """A proxy that passes requests to `target`."""

    def __init__(self, target: str) -> None:
        super().__init__(_Handler)
        parts = urlsplit(target)
        self.target = parts.hostname, parts.port
        self.faults: list[Fault] = []  # the faults of the next requests, in order
        # Returns the fault of a request (method, path, number from 1), or None; called when `faults` is empty.
        self.choose: Callable[[str, str, int], Fault | None] = lambda method, path, number: None
        # (method, path, value of the Range header) of every request, and when it came, by `time.monotonic`.
        self.requests: list[tuple[str, str, str | None]] = []
        self.times: list[float] = []
        self.delay = 0.0  # seconds before every answer
        # The largest number of requests that waited for the start of their answers at the same time. The client knows
        # the end of an answer before the proxy does, and may already have sent its next request.
        self.most = self.present = 0
        self.lock = threading.Lock()

    def begin(self, method: str, path: str, span: str | None) -> Fault | None:
        with self.lock:
            self.requests.append((method, path, span))
            self.times.append(time.monotonic())
            self.present += 1
            self.most = max(self.most, self.present)
            return self.faults.pop(0) if self.faults else self.choose(method, path, len(self.requests))

    def end(self) -> None:
        with self.lock:
            self.present -= 1


class _Handler(http.server.BaseHTTPRequestHandler):
    server: FaultProxy

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.close_connection = True
        fault = self.server.begin(self.command, self.path, self.headers.get("Range"))
        self.is_waiting = True
        try:
            self._act(fault or Fault("pass"))
        finally:
            self._end_waiting()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 (names that the standard library looks for)

    def _act(self, fault: Fault) -> None:
        time.sleep(self.server.delay)
        body = self._read_body()
        if fault.kind == "status":
            self.send_response(fault.code)
            if fault.retry_after is not None:
                self.send_header("Retry-After", fault.retry_after)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif fault.kind == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        elif fault.kind == "drop":
            self.connection.close()
        elif fault.kind == "stall" and fault.after == 0:
            time.sleep(fault.seconds)
        else:
            self._pass_on(fault, body)

    def _end_waiting(self) -> None:
        if self.is_waiting:
            self.is_waiting = False
            self.server.end()

    def _read_body(self) -> bytes:
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers
            pass
        return b"".join(parts)

    def _pass_on(self, fault: Fault, body: bytes) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_CONNECTION}
        if self.command in ("PUT", "POST"):
            headers["Content-Length"] = str(len(body))
        connection = http.client.HTTPConnection(*self.server.target, timeout=60)
        try:
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if fault.kind == "lose":
            self.connection.close()
            return
        changed = dict(fault.headers)
        self._end_waiting()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", *map(str.lower, changed)):
                self.send_header(name, value)
        for name, value in changed.items():
            self.send_header(name, value)
        if answer.getheader("Content-Length") is None and self.command != "HEAD":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self._send(fault, data)

    def _send(self, fault: Fault, data: bytes) -> None:
        if fault.kind in ("truncate", "stall"):
            self.wfile.write(data[: fault.after])
            self.wfile.flush()
            time.sleep(fault.seconds)
            self.connection.close()
        elif fault.kind == "slow":
            step = max(1, -(-len(data) // 10))
            for start in range(0, len(data), step):
                self.wfile.write(data[start : start + step])
                self.wfile.flush()
                time.sleep(fault.seconds / 10)
        else:
            self.wfile.write(data)


_OF_CONNECTION = ("connection", "transfer-encoding", "content-length", "expect", "accept-encoding")


def proxying(target: str):
    """Run a proxy in front of a server during the ``with`` block."""
    return running(FaultProxy(target))

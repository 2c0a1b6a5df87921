"""A helper process that makes the requests of a forked process.

obstore runs on threads, and a fork copies a process without its threads: the first request of the child would wait
forever. The child therefore starts a new Python process: this helper makes the requests of the child, and ends when the
child ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from ozx.errors import OzxError, ResourceError
from ozx.faults import as_error
from ozx.file_changes import Mark
from ozx.places.byte_source import MemorySource
from ozx.places.remote.cache import Record
from ozx.places.remote.deadline import in_background
from ozx.places.remote.requests import Requests

_PROGRAM = "import sys; sys.path[:] = {path!r}; from ozx.places.remote.helper import serve; serve({descriptor})"
_SECONDS_TO_END = 5


class HelperRequests:
    """A transport whose requests are made by a helper process."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self._pid = os.getpid()
        self._numbers = count()
        self._sending = threading.Lock()
        self._waiting: dict[int, Future[Record]] = {}
        self._socket, theirs = socket.socketpair()
        with theirs:
            descriptor = theirs.fileno()
            program = _PROGRAM.format(path=sys.path, descriptor=descriptor)
            self._process = subprocess.Popen(  # noqa: S603 (our own program)
                [sys.executable, "-c", program], pass_fds=[descriptor], stdin=subprocess.DEVNULL
            )
        self._connection: Connection = Connection(os.dup(self._socket.fileno()))
        try:
            self._connection.send((url, dict(options)))
            failure = self._connection.recv()
        except (EOFError, OSError) as error:
            failure = _ended(error)
        if failure is not None:
            self.close()
            raise failure
        # The thread holds no reference to this object, so that the object can be collected.
        threading.Thread(target=_receive, args=(self._connection, self._waiting), daemon=True).start()

    def __del__(self) -> None:
        if hasattr(self, "_process"):
            self.close()

    def fetch(self, offset: int | None, length: int, expected: Mark | None) -> Record:
        """Fetch bytes by a request of the helper process; see `Requests.fetch`."""
        return self._ask(offset, length, expected).result()

    async def fetch_async(self, offset: int, length: int, expected: Mark | None) -> Record:
        """Fetch bytes by a request of the helper process; see `Requests.fetch_async`."""
        return await asyncio.wrap_future(self._ask(offset, length, expected))

    def close(self) -> None:
        """End the helper process."""
        if self._pid != os.getpid():  # in a fork of the child, which owns helper and connection
            self._process.returncode = 0
            self._socket.close()
            return
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the receiving thread, and the other process
        self._socket.close()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, offset: int | None, length: int, expected: Mark | None) -> Future[Record]:
        number, future = next(self._numbers), Future[Record]()
        future.set_running_or_notify_cancel()  # from here on the future cannot be cancelled
        self._waiting[number] = future
        try:
            with self._sending:
                self._connection.send((number, offset, length, expected))
        except OSError as error:
            self._waiting.pop(number, None)
            raise _ended(error) from None
        return future


def _ended(error: BaseException) -> ResourceError:
    return ResourceError(
        f"the helper process that makes requests for this forked process has ended: {error or type(error).__name__}",
        hint="Start worker processes by 'spawn' or 'forkserver' instead of 'fork'.",
    )


def _receive(connection: Connection, waiting: dict[int, Future[Record]]) -> None:
    """Receive responses and pass them to the waiting threads, until the connection ends."""
    end: BaseException = EOFError()
    try:
        while True:
            number, answer, failure = connection.recv()
            future = waiting.pop(number)
            if failure is None:
                future.set_result(answer)
            else:
                future.set_exception(failure)
    except Exception as error:  # noqa: BLE001 (without this thread, the waiting threads would wait forever)
        end = error
    connection.close()
    while waiting:
        waiting.popitem()[1].set_exception(_ended(end))


def serve(descriptor: int) -> None:
    """Read from the server what the client requests through the socket `descriptor`, until the client closes it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other end, which then closes the socket
    connection: Connection = Connection(descriptor)
    url, options = connection.recv()
    try:
        transport = Requests(url, options)
    except OzxError as error:
        connection.send(error)
        return
    connection.send(None)
    _serve(connection, transport)


def _serve(connection: Connection, transport: Requests) -> None:
    sending = threading.Lock()

    def answer(number: int, offset: int | None, length: int, expected: Mark | None) -> None:
        found = failure = None
        try:
            found = transport.fetch(offset, length, expected)
            # Views cannot be sent.
            spans = tuple(MemorySource(bytes(span.data), start=span.start) for span in found.spans)
            found = found._replace(spans=spans)
        except BaseException as error:  # noqa: BLE001 (the client waits without limit: every request needs an answer)
            failure = _answerable(error)
        with sending, suppress(OSError):  # the client has closed the connection
            try:
                connection.send((number, found, failure))
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 (an answer that cannot be pickled; no byte of it was sent)
                connection.send((number, None, _answerable(error)))

    while True:
        try:
            request = connection.recv()
        except (EOFError, OSError):
            return
        in_background(partial(answer, *request))


def _answerable(error: BaseException) -> OzxError:
    """Return an error to send for an exception."""
    if isinstance(error, Exception):
        return as_error(error)
    # A panic of obstore's Rust code: its message may contain a URL with its secrets.
    return as_error(RuntimeError(type(error).__name__))

"""Requests from a forked child: obstore's threads are not there, and a fresh process makes them."""

import asyncio
import socket
import threading
from concurrent.futures import Future
from contextlib import contextmanager
from multiprocessing.connection import Connection

import pytest
from children import run_in_child
from remote_archives import CHUNK, build, opened

from ozx.errors import ResourceError, UsageError
from ozx.faults import FaultError
from ozx.places.byte_source import MemorySource
from ozx.places.remote import helper
from ozx.places.remote.cache import Record
from ozx.places.remote.source import RemoteSource

pytest.importorskip("obstore", reason="the extra remote is not installed")


@pytest.mark.posix("a system without fork")
class TestForks:
    def test_a_child_reads_on(self):
        with opened(build().build()) as (_, reader):
            assert reader.read(3, 5, 10) == CHUNK[5:15]

            async def read_all():
                return await asyncio.gather(*(reader.read_async(3, start, 10) for start in range(0, 800, 100)))

            def work():
                assert reader.read(3) == CHUNK
                assert reader.read(4, 5, 10) == CHUNK[::-1][5:15]
                assert asyncio.run(read_all()) == [CHUNK[start : start + 10] for start in range(0, 800, 100)]
                assert run_in_child(lambda: reader.read(3)) == 0
                assert reader.read(3) == CHUNK
                reader.source.close()

            assert run_in_child(work) == 0
            assert reader.read(3) == CHUNK

    def test_errors_come_through(self):
        with opened(build().build()) as (server, reader):

            def work():
                with pytest.raises(ResourceError, match="404"):
                    reader.read(3)

            server.failures = [404]
            assert run_in_child(work) == 0

    def test_wrong_options_come_through(self):
        with opened(build().build()) as (server, _):

            def work():
                with pytest.raises(UsageError, match="'bogus' is not known"):
                    RemoteSource(server.url, {"bogus": 1}).size()

            assert run_in_child(work) == 0

    def test_a_killed_helper_is_an_error(self):
        with opened(build().build()) as (_, reader):

            def work():
                assert reader.read(3) == CHUNK
                helper = reader.source._opened._process
                helper.kill()
                helper.wait()
                with pytest.raises(ResourceError, match="has ended") as caught:
                    reader.read(4)
                assert "spawn" in caught.value.hint

            assert run_in_child(work) == 0


class Panic(BaseException):
    """As an exception of Rust code, which is no `Exception`."""


class Broken:
    """A transport that raises `error`, or answers what cannot be pickled."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def fetch(self, offset, length, expected):
        if self.error is not None:
            raise self.error
        return Record(threading.Lock(), (MemorySource(b""),))


@contextmanager
def serving(transport):
    """Yield the client's end of a connection to a helper that runs in a thread."""
    ours, theirs = socket.socketpair()
    connection, other = Connection(ours.detach()), Connection(theirs.detach())
    thread = threading.Thread(target=helper._serve, args=(other, transport))
    thread.start()
    with connection:
        yield connection
    thread.join()
    other.close()


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (MemoryError(), ResourceError, "ran out of memory"),
        (PermissionError(13, "Permission denied"), ResourceError, "Permission denied"),
        (TypeError("odd"), FaultError, "TypeError: odd"),
        (Panic("SECRET"), FaultError, "Panic"),
        (None, FaultError, "pickle"),
    ],
)
def test_every_exception_is_answered(error, kind, words):
    with serving(Broken(error)) as connection:
        for number in range(2):  # the helper goes on
            connection.send((number, 0, 10, None))
            assert connection.poll(10)
            found, answer, failure = connection.recv()
            assert (found, answer) == (number, None)
            assert isinstance(failure, kind)
            assert words in str(failure)
            assert "SECRET" not in str(failure)


def test_an_answer_that_cannot_be_unpickled_is_an_error():
    ours, theirs = socket.socketpair()
    waiting: dict[int, Future[Record]] = {0: Future(), 1: Future()}
    futures = list(waiting.values())
    with Connection(theirs.detach()) as other:
        other.send_bytes(b"no pickle")
        helper._receive(Connection(ours.detach()), waiting)
    for future in futures:
        with pytest.raises(ResourceError, match="has ended"):
            future.result(0)

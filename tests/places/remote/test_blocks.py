"""Short reads of a file share requests for blocks."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ozx.places.remote import source as module
from ozx.places.remote.source import reading_blocks

DATA = bytes(range(250)) * 4


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(module, "_LONG", 80)


class Server:
    def __init__(self):
        self.requests = []

    def fetch(self, offset, length):
        self.requests.append((offset, length))
        return DATA[offset : offset + length]


def read(read_blocks, *spans):
    for offset, length in spans:
        assert read_blocks(offset, length) == DATA[offset : offset + length]


def test_a_block_that_is_displaced_again_and_again_is_not_requested_for_ever():
    server = Server()
    read_blocks = reading_blocks(server.fetch, 100)
    for _ in range(20):
        read(read_blocks, *((100 * number + 3, 5) for number in range(9)))
    assert [length for _, length in server.requests].count(100) == 9 * 3


def test_threads_share_a_request():
    server, barrier = Server(), threading.Barrier(8)
    read_blocks = reading_blocks(server.fetch, 100)
    read(read_blocks, (0, 1))

    def read_later(offset):
        barrier.wait(30)
        read(read_blocks, (offset, 5))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(read_later, range(8)))
    assert server.requests == [(0, 1), (0, 100)]


def test_a_block_is_requested_again_after_an_error():
    server, errors = Server(), [ConnectionError("away")]

    def fetch(offset, length):
        if length == 100 and errors:
            raise errors.pop()
        return server.fetch(offset, length)

    read_blocks = reading_blocks(fetch, 100)
    read(read_blocks, (0, 1))
    with pytest.raises(ConnectionError):
        read_blocks(5, 1)
    read(read_blocks, (5, 1))

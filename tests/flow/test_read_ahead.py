"""Values of servers are requested before they are reached, neighbours together, and arrive in order."""

import threading

import pytest

from ozx.flow import read_ahead as module
from ozx.flow.entry import Entry
from ozx.flow.read_ahead import RemoteRange, read_ahead, spans_of


class Server:
    """Bytes whose requests are written down, and may wait for each other."""

    def __init__(self, data, parties=1):
        self.data = data
        self.requests = []
        self.barrier = threading.Barrier(parties)

    def read(self, offset, length):
        self.requests.append((offset, length))
        self.barrier.wait(30)
        return self.data[offset : offset + length]


class Far:
    def __init__(self, server, start, stop):
        self.server, self.start, self.length = server, start, stop - start

    def place(self):
        start, length = self.start, self.length

        def take(offset, data):
            return data[start - offset : start - offset + length]

        return RemoteRange(self.server, start, start + length, self.server.read, take)

    def iter_blocks(self):
        yield self.server.read(self.start, self.length)


def entries_at(server, *spans):
    return [Entry(str(number), (Far(server, *span),)) for number, span in enumerate(spans)]


def values(entries):
    return [(entry.key, b"".join(entry.iter_blocks())) for entry in entries]


def test_local_headers_between_values_part_no_neighbours():
    entries = entries_at(Server(bytes(20_000)), *((1080 * number, 1080 * number + 1000) for number in range(9)))
    assert list(spans_of(entries)) == [(0, 9 * 1080 - 80)]


@pytest.fixture
def no_headers(monkeypatch):
    """Values of some bytes, between which there are no headers."""
    monkeypatch.setattr(module, "LONGEST_HEADER", 0)


@pytest.mark.usefixtures("no_headers")
def test_neighbours_are_one_request():
    server = Server(bytes(range(100)))
    entries = entries_at(server, (0, 40), (41, 80), (90, 100))
    assert list(spans_of(entries)) == [(0, 80), (90, 10)]
    assert values(read_ahead(entries)) == [
        ("0", bytes(range(40))),
        ("1", bytes(range(41, 80))),
        ("2", bytes(range(90, 100))),
    ]
    assert sorted(server.requests) == [(0, 80), (90, 10)]


@pytest.mark.usefixtures("no_headers")
def test_no_more_than_the_room_is_waiting(monkeypatch):
    monkeypatch.setattr(module, "_ROOM", 100)
    monkeypatch.setattr(module, "_LONGEST", 30)
    server = Server(bytes(1000))
    entries = entries_at(server, *((100 * number, 100 * number + 60) for number in range(9)), (900, 1000))
    ahead = read_ahead(entries)
    next(ahead)
    assert len(server.requests) <= 4
    assert len(values(ahead)) == 9
    # A value of several requests is put together, and one that exceeds the room is read when it is reached.
    assert (0, 30) in server.requests
    assert (30, 30) in server.requests
    assert len(values(read_ahead(entries_at(server, (0, 200))))[0][1]) == 200

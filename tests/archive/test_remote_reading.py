"""Entries from a slow source: how many requests they take, and what of a local header is not asked for."""

import asyncio
import struct

import pytest
from remote_archives import CHUNK, TAIL, build, header_end, opened, span
from servers import serving

from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError
from ozx.places.remote.source import RemoteSource

pytest.importorskip("obstore", reason="the extra remote is not installed")


class TestBudget:
    def test_the_last_entry_is_predicted_too(self):
        data = build().build()
        offset = header_end(data, "1/c/0")[1]
        with opened(data) as (server, reader):
            assert reader.read(reader.find("1/c/0"), 70_000, 5) == bytes(5)
            assert server.take_requests() == [span(offset + 70_000, offset + 70_005)]

    @pytest.mark.parametrize(("offset", "length"), [(0, 0), (300_000, 5), (400_000, 5)])
    def test_nothing_is_asked_for_nothing(self, offset, length):
        with opened(build().build()) as (server, reader):
            where = reader.find("0/c/0"), offset, length
            assert reader.read(*where) == asyncio.run(reader.read_async(*where)) == b""
            assert server.requests == []


class TestUnpredictableHeaders:
    """Whatever does not follow from the directory alone is read, in the same request where that is possible."""

    def test_a_header_longer_than_guessed(self):
        extra = struct.pack("<2H", 0xD935, 60_000) + bytes(60_000)
        data = build().set("0/c/0", local={"extra": extra}).build()
        for whole, most in ((False, 2), (True, 2)):
            with opened(data) as (server, reader):
                index = reader.find("0/c/0")
                wanted = CHUNK if whole else CHUNK[5:10]
                assert (reader.read(index) if whole else reader.read(index, 5, 5)) == wanted
                assert 1 < len(server.take_requests()) <= most + 1


class TestDamage:
    def test_an_empty_file(self):
        with serving(b"") as server:
            with pytest.raises(FormatError) as caught:
                ArchiveReader(RemoteSource(server.url)).check()
            assert caught.value.rule in ("zip/not-a-zip", "zip/truncated")
            assert server.requests == [TAIL, ("HEAD", None)]

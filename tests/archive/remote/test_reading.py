"""Entries from a slow source: how many requests they take, and what of a local header is not asked for."""

from __future__ import annotations

import asyncio
import pickle
import struct

import pytest
from cases.archive_builder import array, group
from range_server import serving
from remote_archives import CHUNK, MIB, TAIL, VALUES, ZEROS, build, header_end, opened, span

from ozx.archive.byte_source import MemorySource
from ozx.archive.reader import ArchiveReader
from ozx.archive.remote.source import RemoteSource
from ozx.archive.writer import ArchiveWriter
from ozx.errors import FormatError, UnsupportedError

pytest.importorskip("obstore", reason="the extra remote is not installed")


def read_both_ways(reader, *arguments) -> bytes:
    """Read by a fresh reader asynchronously and by the given one; both must agree."""
    value = reader.read(*arguments)
    assert asyncio.run(reader.read_async(*arguments)) == value
    return value


class TestBudget:
    def test_nothing_is_asked_before_the_first_use(self):
        with serving(build().build()) as server:
            reader = ArchiveReader(RemoteSource(server.url))
            pickle.dumps(reader)
            assert server.requests == []

    def test_open_index_and_all_metadata_are_two_requests(self):
        data = build().build()
        with serving(data) as server:
            reader = ArchiveReader(RemoteSource(server.url))
            reader.check()
            assert server.requests == [TAIL]
            reader.prefetch_head()
            for name, value in VALUES.items():
                if name.endswith("zarr.json"):
                    assert read_both_ways(reader, reader.find(name)) == value
            assert server.requests == [TAIL, span(0, header_end(data, "0/c/0")[0])]
            assert reader.source.requests == 2

    def test_three_requests_where_the_directory_is_longer_than_the_tail(self, tmp_path):
        names = [f"0/c/{number:0100d}" for number in range(10_000)]
        with (tmp_path / "long.ozx").open("wb") as file:
            writer = ArchiveWriter(file.fileno())
            writer.add("zarr.json", group())
            writer.add("0/zarr.json", array([10_000], [1]))
            for name in names:
                writer.add(name, b"c")
            writer.finish()
        data = (tmp_path / "long.ozx").read_bytes()
        end = ArchiveReader(MemorySource(data)).end
        assert end.directory_size > MIB
        with serving(data) as server:
            reader = ArchiveReader(RemoteSource(server.url))
            reader.check()
            reader.prefetch_head()
            assert reader.read(reader.find("0/zarr.json")) == array([10_000], [1])
            # What the tail holds of the directory is not asked for again.
            head = span(0, header_end(data, names[0])[0])
            assert server.requests == [TAIL, span(end.directory_offset, len(data) - MIB), head]

    def test_a_small_file_is_one_request(self):
        values = {**VALUES, "1/c/0": b"small"}
        with serving(build(values).build()) as server:
            reader = ArchiveReader(RemoteSource(server.url))
            reader.check()
            reader.prefetch_head()
            assert [reader.read(reader.find(name)) for name in values] == list(values.values())
            assert server.requests == [TAIL]

    def test_a_whole_chunk_is_one_request_with_its_header(self):
        data = build().build()
        begin, offset = header_end(data, "0/c/0")
        with opened(data) as (server, reader):
            index = reader.find("0/c/0")
            assert reader.read(index) == CHUNK
            assert server.take_requests() == [span(begin, offset + len(CHUNK))]
            assert reader.read(index) == CHUNK  # the header was checked: it is not needed again
            assert server.take_requests() == [span(offset, offset + len(CHUNK))]

    def test_a_part_is_one_request_without_the_header(self):
        data = build().build()
        offset = header_end(data, "0/c/1")[1]
        with opened(data) as (server, reader):
            index = reader.find("0/c/1")
            assert read_both_ways(reader, index, 200_000, 1_000) == CHUNK[::-1][200_000:201_000]
            assert server.take_requests() == [span(offset + 200_000, offset + 201_000)] * 2
            assert reader.read(index, 299_990, 100) == CHUNK[::-1][-10:]
            assert server.take_requests() == [span(offset + 299_990, offset + 300_000)]

    def test_the_last_entry_is_predicted_too(self):
        data = build().build()
        offset = header_end(data, "1/c/0")[1]
        with opened(data) as (server, reader):
            assert reader.read(reader.find("1/c/0"), 70_000, 5) == bytes(5)
            assert server.take_requests() == [span(offset + 70_000, offset + 70_005)]

    @pytest.mark.parametrize(("offset", "length"), [(0, 0), (300_000, 5), (400_000, 5)])
    def test_nothing_is_asked_for_nothing(self, offset, length):
        with opened(build().build()) as (server, reader):
            assert read_both_ways(reader, reader.find("0/c/0"), offset, length) == b""
            assert server.requests == []

    def test_an_empty_value_is_no_request(self):
        with opened(build({"zarr.json": group(), "empty": b"", "1/c/0": ZEROS}).build()) as (server, reader):
            assert read_both_ways(reader, reader.find("empty")) == b""
            assert server.requests == []

    def test_without_metadata_first_each_document_is_a_request(self):
        data = build({name: VALUES[name] for name in sorted(VALUES, key=lambda name: name.endswith("json"))}).build()
        with serving(data) as server:
            reader = ArchiveReader(RemoteSource(server.url))
            reader.prefetch_head()
            assert server.requests == [TAIL]
            # Metadata stands at the end here, and so in the tail.
            assert reader.read(reader.find("zarr.json")) == VALUES["zarr.json"]
            assert server.requests == [TAIL]

    def test_metadata_in_the_middle_is_a_request_with_its_header(self):
        data = build({"zarr.json": group(), "0/c/0": CHUNK, "0/zarr.json": group(), "1/c/0": ZEROS}).build()
        with serving(data) as server:
            reader = ArchiveReader(RemoteSource(server.url))
            reader.prefetch_head()
            begin, offset = header_end(data, "0/zarr.json")
            assert reader.read(reader.find("0/zarr.json")) == group()
            head = span(0, header_end(data, "0/c/0")[0])
            assert server.requests == [TAIL, head, span(begin, offset + len(group()))]

    def test_a_deflated_entry_is_one_request_and_is_checked(self):
        builder = build().deflate("0/c/0")
        data = builder.build()
        begin, offset = header_end(data, "0/c/0")
        with opened(data) as (server, reader):
            index = reader.find("0/c/0")
            assert reader.read(index, 5, 10) == CHUNK[5:15]
            assert server.take_requests() == [span(begin, offset + len(builder["0/c/0"].data))]
            assert asyncio.run(reader.read_async(index)) == CHUNK

    def test_blocks_come_one_request_each(self):
        with opened(build().build()) as (server, reader):
            assert b"".join(reader.iter_blocks(reader.find("0/c/0"))) == CHUNK
            assert len(server.requests) == 2  # the local header, one block


class TestUnpredictableHeaders:
    """Whatever does not follow from the directory alone is read, in the same request where that is possible."""

    def check(self, builder, name="0/c/0", *, far=2):
        data, value = builder.build(), builder[name].value
        begin, offset = header_end(data, name)
        with opened(data) as (server, reader):
            index = reader.find(name)
            assert reader.read(index, 10, 100) == value[10:110]
            (near,) = server.take_requests()
            start, last = map(int, near[1].removeprefix("bytes=").split("-"))
            assert start == begin
            assert last < begin + 110 + 4096
            assert read_both_ways(reader, index, 1_000, 9) == value[1_000:1_009]  # known now
            assert server.take_requests() == [span(offset + 1_000, offset + 1_009)] * 2
        with opened(data) as (server, reader):
            assert reader.read(reader.find(name), 200_000, 9) == value[200_000:200_009]
            assert len(server.take_requests()) == far
        with opened(data) as (server, reader):
            assert asyncio.run(reader.read_async(reader.find(name))) == value
            assert len(server.take_requests()) == 1

    def test_data_descriptor(self):
        self.check(build().stream("0/c/0"))

    def test_padding(self):
        self.check(build().set("0/c/0", local={"extra": struct.pack("<3H", 0xD935, 100, 1) + bytes(98)}))

    def test_a_gap_behind_the_value(self):
        self.check(build().set("0/c/0", after=bytes(7)))

    def test_room_for_a_field_but_no_need_of_its_version(self):
        """The place of the ZIP64 field is taken by a gap: the entry does not say that it needs version 4.5."""
        builder = build().with_(zip64_local=False).set("0/c/0", after=bytes(20))
        data = bytearray(builder.build())
        for position in range(len(data) - 600, len(data)):
            if data[position : position + 4] == b"PK\x01\x02":
                data[position + 6] = 20
        with opened(bytes(data)) as (_, reader):
            assert reader.read(reader.find("0/c/0"), 200_000, 9) == CHUNK[200_000:200_009]

    def test_a_header_without_extra_field_is_predicted(self):
        data = build().classic().build()
        offset = header_end(data, "0/c/0")[1]
        with opened(data) as (server, reader):
            assert reader.read(reader.find("0/c/0"), 200_000, 9) == CHUNK[200_000:200_009]
            assert server.take_requests() == [span(offset + 200_000, offset + 200_009)]

    def test_a_header_longer_than_guessed(self):
        extra = struct.pack("<2H", 0xD935, 60_000) + bytes(60_000)
        data = build().set("0/c/0", local={"extra": extra}).build()
        for whole, most in ((False, 2), (True, 2)):
            with opened(data) as (server, reader):
                index = reader.find("0/c/0")
                wanted = CHUNK if whole else CHUNK[5:10]
                assert (reader.read(index) if whole else reader.read(index, 5, 5)) == wanted
                assert 1 < len(server.take_requests()) <= most + 1

    def test_prepended_bytes(self):
        data = build().with_(prefix=bytes(1_000)).build()
        with opened(data) as (_, reader):
            assert reader.read(reader.find("0/c/0"), 200_000, 9) == CHUNK[200_000:200_009]
            assert reader.read(reader.find("zarr.json")) == group()


class TestDamage:
    def test_a_whole_value_with_a_contradicting_header_is_refused(self):
        with opened(build().set("0/c/0", local={"name": b"0/c/9"}).build()) as (_, reader):
            index = reader.find("0/c/0")
            with pytest.raises(FormatError, match="local header names it '0/c/9'"):
                reader.read(index)

    def test_a_wrong_checksum_is_refused(self):
        wrong = {"crc32": 1}
        with opened(build().set("0/c/0", local=wrong, central=wrong).build()) as (_, reader):
            with pytest.raises(FormatError, match="expected CRC-32 00000001") as caught:
                asyncio.run(reader.read_async(reader.find("0/c/0")))
            assert caught.value.rule == "zip/crc"

    def test_damaged_deflate_data_is_refused(self):
        builder = build().deflate("0/c/0")
        builder.set("0/c/0", data=b"\xff" * len(builder["0/c/0"].data))
        with opened(builder.build()) as (_, reader):
            with pytest.raises(FormatError) as caught:
                reader.read(reader.find("0/c/0"))
            assert caught.value.rule == "zip/inflate"

    def test_an_encrypted_entry_is_refused_before_it_is_asked_for(self):
        with serving(build().set("0/c/0", flags=1).build()) as server:
            reader = ArchiveReader(RemoteSource(server.url))
            index = reader.find("0/c/0")
            with pytest.raises(UnsupportedError) as caught:
                reader.read(index, 5, 5)
            assert caught.value.rule == "zip/encrypted"
            assert server.requests == [TAIL]

    def test_no_archive(self):
        with serving(b"<html>" * 300_000) as server:
            with pytest.raises(FormatError) as caught:
                ArchiveReader(RemoteSource(server.url)).check()
            assert caught.value.rule == "zip/not-a-zip"
            assert server.requests == [TAIL, span(0, 512)]  # the second tells a cut archive from another file

    def test_an_empty_file(self):
        with serving(b"") as server:
            with pytest.raises(FormatError) as caught:
                ArchiveReader(RemoteSource(server.url)).check()
            assert caught.value.rule in ("zip/not-a-zip", "zip/truncated")
            assert server.requests == [TAIL, ("HEAD", None)]

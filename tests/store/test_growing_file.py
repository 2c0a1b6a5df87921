"""The file in the making: where values stand, what is erased, and what is read meanwhile."""

import struct
import threading
import zlib
from itertools import pairwise

import pytest
from stores import pattern

from ozx.flow.entry import FileSpan
from ozx.store.growing_file import GrowingFile


@pytest.fixture
def growing(tmp_path):
    growing = GrowingFile(str(tmp_path / "a.ozx"))
    yield growing
    growing.stop_reading()
    growing.partial.remove()


def content(growing):
    with open(growing.partial.path, "rb") as file:
        return file.read()


def write(growing, key, value):
    return growing.write(key, [value])


def read(growing, slot):
    return growing.read_at(slot.data_offset, slot.size)


def test_a_value_stands_behind_a_header_with_its_size_and_checksum(growing):
    growing.make_room({})
    slot = write(growing, "0/c/é", b"value")
    data = content(growing)
    assert data[slot.offset :].startswith(b"PK\x03\x04")
    assert struct.unpack_from("<I", data, slot.offset + 14) == (zlib.crc32(b"value"),)
    name_length, extra_length = struct.unpack_from("<HH", data, slot.offset + 26)
    assert data[slot.offset + 30 :][:name_length] == "0/c/é".encode()
    assert slot.data_offset == slot.offset + 30 + name_length + extra_length
    assert struct.unpack_from("<HHQQ", data, slot.offset + 30 + name_length) == (1, 16, 5, 5)
    assert data[slot.data_offset : slot.end] == b"value"
    assert (read(growing, slot), growing.end) == (b"value", slot.end)
    assert growing.holds(slot)


def test_parts_of_another_file_stand_between_bytes_in_memory(growing, tmp_path):
    (tmp_path / "other").write_bytes(pattern(1, 5_000))
    part = FileSpan.of_file(str(tmp_path / "other"))
    growing.make_room({})
    slot = growing.write("0/c/0", [part, b"a", memoryview(b"b"), part.span(10, 20), part, b"c"])
    value = pattern(1, 5_000) + b"ab" + pattern(1, 5_000)[10:30] + pattern(1, 5_000) + b"c"
    assert (read(growing, slot), slot.crc32) == (value, zlib.crc32(value))
    assert growing.holds(slot)


def test_values_begin_behind_the_room_for_metadata_and_drafts_stand_in_it(growing):
    growing.make_room({"zarr.json": b"known"})
    slot = write(growing, "0/c/0", b"value")
    growing.draft("0/zarr.json", b"later")
    head = content(growing)[: slot.offset]
    assert head.startswith(b"PK\x03\x04")
    assert b"known" in head
    assert b"later" in head


def test_a_draft_that_does_not_fit_goes_behind_the_values(growing, monkeypatch):
    monkeypatch.setattr("ozx.store.growing_file.metadata_reserve", lambda documents: 100)
    growing.make_room({"zarr.json": b"known"})
    slot = write(growing, "0/c/0", b"value")
    growing.draft("0/zarr.json", b"x" * 100)
    assert content(growing).endswith(b"x" * 100)
    growing.forget_draft("0/zarr.json")
    assert growing.end == slot.end


def test_a_freed_value_leaves_no_header_and_its_place_is_used_again(growing):
    growing.make_room({})
    first, second = write(growing, "a", b"1" * 500), write(growing, "b", b"2" * 500)
    growing.free(first)
    assert not growing.holds(first)
    assert growing.holds(second)
    assert content(growing)[first.offset :][:4] == bytes(4)
    assert write(growing, "a", b"3" * 500).offset == first.offset
    assert read(growing, second) == b"2" * 500


def test_a_place_is_not_used_again_while_somebody_reads(growing):
    growing.make_room({})
    first = write(growing, "a", b"1" * 500)
    write(growing, "b", b"2" * 500)
    with growing.reading():
        growing.free(first)
        other = write(growing, "a", b"3" * 500)
        assert read(growing, first) == b"1" * 500
    assert other.offset > first.offset
    assert write(growing, "c", b"4" * 500).offset == first.offset


def test_a_replaced_draft_is_erased_after_its_successor_was_written(growing):
    growing.make_room({"zarr.json": b"first"})
    growing.draft("zarr.json", b"second")
    data = content(growing)
    assert b"second" in data
    assert data.count(b"PK\x03\x04") == 1


def test_a_write_that_fails_gives_its_place_back(growing, monkeypatch):
    growing.make_room({})
    before = growing.end

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("ozx.store.growing_file.write_parts_at", fail)
        with pytest.raises(OSError, match="No space left"):
            write(growing, "a", b"1" * 500)
    assert growing.end == before
    assert write(growing, "a", b"1" * 500).offset == before


def test_an_appended_value_grows_at_the_end_and_gets_its_header_last(growing):
    growing.make_room({})
    free = write(growing, "free", bytes(50_000))
    first = write(growing, "a", b"1")
    growing.free(free)
    value = growing.append("0/c/0")
    pieces = [pattern(n, 400_000) for n in range(7)]
    for piece in pieces:
        value.append(piece)
    assert not content(growing)[first.end :].startswith(b"PK")
    slot = value.finish()
    assert slot.offset == first.end
    assert read(growing, slot) == b"".join(pieces)
    assert slot.crc32 == zlib.crc32(b"".join(pieces))
    assert growing.holds(slot)
    assert growing.end == slot.end == write(growing, "b", bytes(100_000)).offset


def test_an_appended_value_that_ends_early_gives_its_space_back(growing):
    growing.make_room({})
    before = growing.end
    value = growing.append("0/c/0")
    value.append(bytes(3 << 20))
    value.discard()
    assert growing.end == before
    assert not content(growing)[before:].startswith(b"PK")


def test_reading_ends_before_the_file_is_closed(growing):
    growing.make_room({})
    slot = write(growing, "a", b"1")
    reading, go_on, order = threading.Event(), threading.Event(), []

    def read_slowly():
        with growing.reading():
            reading.set()
            go_on.wait(10)
            order.append(read(growing, slot))

    def stop():
        growing.stop_reading()
        order.append("closed")

    threads = [threading.Thread(target=read_slowly), threading.Thread(target=stop)]
    threads[0].start()
    assert reading.wait(10)
    threads[1].start()
    threads[1].join(0.1)
    assert threads[1].is_alive()
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert order == [b"1", "closed"]


def test_threads_write_side_by_side(growing):
    growing.make_room({})
    written = {}

    def work(number):
        for turn in range(60):
            key = f"{number}/{turn % 7}"
            value = pattern(number * 1000 + turn, (turn * 97 + number * 13) % 3_000)
            slot = write(growing, key, value)
            old = written.get(key)
            written[key] = slot, value
            if old is not None:
                growing.free(old[0])

    threads = [threading.Thread(target=work, args=[number]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    slots = sorted((slot for slot, _ in written.values()), key=lambda slot: slot.offset)
    assert all(first.end <= second.offset for first, second in pairwise(slots))
    assert all(read(growing, slot) == value and growing.holds(slot) for slot, value in written.values())

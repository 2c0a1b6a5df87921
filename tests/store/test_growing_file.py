"""The file in the making: where values stand, what is erased, and what is read meanwhile."""

import threading
from itertools import pairwise

import pytest
from stores import pattern

from ozx.store.growing_file import GrowingFile


@pytest.fixture
def growing(tmp_path):
    growing = GrowingFile(str(tmp_path / "a.ozx"))
    yield growing
    growing.stop_reading()
    growing.partial.remove()


def write(growing, key, value):
    return growing.write(key, [value])


def read(growing, slot):
    return growing.read_at(slot.data_offset, slot.size)


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

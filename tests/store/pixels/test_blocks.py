"""Spans are joined into blocks; each span gets its bytes once."""

import threading
import time

import pytest

from ozx.archive.byte_source import FileSource
from ozx.store.pixels.blocks import join_spans, read_blocks, tile_spans


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(256)) * 40_000)
    return FileSource(str(path))


def test_requests_that_wait_for_each_other_end(source):
    """More requests at once than the pool has threads, each with helpers in the pool."""
    ends = []

    def request():
        slow = [(start, start + 10, lambda *_: time.sleep(0.001)) for start in range(0, 10_000_000, 100_000)]
        read_blocks(source, join_spans(slow, 4), 4)
        ends.append(1)

    threads = [threading.Thread(target=request) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(ends) == 24


def test_memory_gets_its_bytes_alone_or_among_other_spans(source):
    """Inner chunks of a hostile shard may overlap, and the shard's blocks begin before and end behind them."""
    kept, spans = [], [(20, 60), (60, 100), (60, 90), (70, 80), (200_000, 300_000), (300_000, 300_010)]
    into = [bytearray(stop - start) for start, stop in spans]
    places = [(start, stop, memoryview(part)) for (start, stop), part in zip(spans, into, strict=True)]
    for blocks in (join_spans(places, 1), tile_spans(places, 10, 300_020, 2)):
        assert [block.stop - block.start for block in blocks if block.into is not None][-2:] == [100_000, 10]
        for part in into:
            part[:] = bytes(len(part))
        for block in blocks:
            block.finish = lambda data: kept.append(bytes(data))
        read_blocks(source, blocks, 1)
        everything = source.read_at(0, 300_020)
        assert into == [everything[start:stop] for start, stop in spans]
    assert b"".join(kept[-len(blocks) :]) == everything[10:300_020]

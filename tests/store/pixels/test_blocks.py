"""Spans are joined into blocks; each span gets its bytes once."""

import threading
import time

import pytest

from ozx.places.byte_source import FileSource
from ozx.store.pixels.blocks import join_spans, read_blocks


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

"""Spans are joined into blocks; each span gets its bytes once."""

import time

from stores import start_all

from ozx.places.byte_source import FileSource
from ozx.store.pixels.blocks import join_spans, read_blocks


def test_requests_that_wait_for_each_other_end(tmp_path):
    """More requests at once than the pool has threads, each with helpers in the pool."""
    (tmp_path / "bytes").write_bytes(bytes(10_000_010))
    source, ends = FileSource(str(tmp_path / "bytes")), []

    def request(_):
        slow = [(start, start + 10, lambda *_: time.sleep(0.001)) for start in range(0, 10_000_000, 100_000)]
        read_blocks(source, join_spans(slow, 4), 4)
        ends.append(1)

    for thread in start_all(request, range(24)):
        thread.join(30)
    assert len(ends) == 24

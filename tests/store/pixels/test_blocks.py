"""Spans are joined into blocks; each span gets its bytes once."""

import threading
import time
from itertools import pairwise

import pytest

from ozx.archive.byte_source import FileSource
from ozx.errors import FormatError
from ozx.store.pixels.blocks import BlockReader, Span, join_spans, tile_spans


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(256)) * 40_000)
    return FileSource(str(path))


def spans_into(found, pieces):
    def take(start):
        return lambda data: found.append((start, bytes(data)))

    return [Span(start, stop, take(start)) for start, stop in pieces]


@pytest.mark.parametrize("join", [join_spans, lambda spans, jobs: tile_spans(spans, 0, 10_000_000, jobs)])
def test_each_span_gets_its_bytes(source, join):
    pieces = [(start, start + 1000) for start in range(0, 9_000_000, 70_000)] + [(5, 3_000_000), (71_000, 71_001)]
    found = []
    BlockReader(source).run(join(spans_into(found, pieces), 4), 4)
    data = bytes(range(256)) * 40_000
    assert sorted(found) == sorted((start, data[start:stop]) for start, stop in pieces)


def test_tiles_cover_everything_once():
    blocks = tile_spans(spans_into([], [(n, n + 9000) for n in range(100, 5_000_000, 10_000)]), 50, 6_000_000, 2)
    assert blocks[0].start == 50
    assert blocks[-1].stop == 6_000_000
    assert all(one.stop == two.start for one, two in pairwise(blocks))
    assert len(blocks) > 2


def test_wide_gaps_are_not_read():
    assert [(block.start, block.stop) for block in join_spans(spans_into([], [(0, 9), (100_000, 100_009)]), 1)] == [
        (0, 9),
        (100_000, 100_009),
    ]


def test_a_short_file_is_an_error(source):
    with pytest.raises(FormatError, match="shrank") as raised:
        BlockReader(source).run(join_spans(spans_into([], [(10_239_000, 10_250_000)]), 2), 2)
    assert raised.value.rule == "zip/changed"


def test_the_first_error_stops_the_rest(source):
    taken = []

    def fail(_data):
        taken.append(1)
        raise ValueError("damaged")

    spans = [Span(start, start + 10, fail) for start in range(0, 10_000_000, 100_000)]
    with pytest.raises(ValueError, match="damaged"):
        BlockReader(source).run(join_spans(spans, 4), 4)
    assert len(taken) <= 4


def test_requests_that_wait_for_each_other_end(source):
    """More requests at once than the pool has threads, each with helpers in the pool."""
    ends = []

    def request():
        slow = [Span(start, start + 10, lambda *_: time.sleep(0.001)) for start in range(0, 10_000_000, 100_000)]
        BlockReader(source).run(join_spans(slow, 4), 4)
        ends.append(1)

    threads = [threading.Thread(target=request) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(ends) == 24

"""Pieces of a file in few reads."""

import numpy as np
import pytest

from ozx.archive import coalesced_reads as scattered_reading
from ozx.archive.byte_source import MemorySource
from ozx.archive.coalesced_reads import MARGIN, read_pieces

DATA = bytes(range(256)) * 400


def texts(source, starts, stops):
    found = {}
    for pieces in read_pieces(source, np.array(starts, np.int64), np.array(stops, np.int64)):
        assert pieces.data.endswith(MARGIN)
        rows = range(len(starts))[pieces.rows]
        for row, begin, end in zip(rows, pieces.positions.tolist(), pieces.ends.tolist(), strict=True):
            found[row] = pieces.data[begin:end]
    return list(found.values())


@pytest.mark.parametrize("batch", [1, 1 << 10, 4 << 20])
def test_pieces_near_and_far_and_overlapping(monkeypatch, batch):
    monkeypatch.setattr(scattered_reading, "_BATCH", batch)
    starts, stops = [0, 10, 12, 50_000, 102_390], [24, 20, 90, 50_000, 102_999]
    expected = [DATA[start:stop] for start, stop in zip(starts, stops, strict=True)]
    assert texts(MemorySource(DATA), starts, stops) == expected

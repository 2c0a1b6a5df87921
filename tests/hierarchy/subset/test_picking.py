"""Channels with gaps between them; images are in tests/operations/test_extract.py."""

import pytest

from ozx.hierarchy.subset.hierarchy import whole_chunks


@pytest.mark.parametrize(
    ("channels", "chunk", "count", "expected"),
    [
        ((0, 2), 1, 3, (0, 2)),
        ((0, 2), 2, 3, (0, 1, 2)),
        ((0, 2), 8, 3, (0, 1, 2)),
        ((1, 5, 6), 3, 7, (0, 1, 2, 3, 4, 5, 6)),
        ((0, 7), 3, 8, (0, 1, 2, 6, 7)),
    ],
)
def test_channels_that_share_chunks_come_along(channels, chunk, count, expected):
    assert whole_chunks(channels, chunk, count) == expected

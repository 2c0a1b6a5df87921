"""Sizes that are asked for, and sizes that are known before they are."""

import pytest

from ozx.archive.writer import LOCAL_OVERHEAD
from ozx.errors import UsageError
from ozx.flow.entry import BytesPart, Entry
from ozx.flow.sinks.file_size import archive_size, parse_size


class Huge:
    """A part that nobody reads."""

    def __init__(self, length):
        self.length = length

    def iter_blocks(self):
        raise AssertionError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("20MB", 20_000_000),
        ("20 mb", 20_000_000),
        ("1GB", 10**9),
        ("2TB", 2 * 10**12),
        ("1.5MiB", 1_572_864),
        ("0.1 kB", 100),
        ("7KiB", 7168),
        ("3GiB", 3 << 30),
        ("12", 12),
        ("12B", 12),
        (12, 12),
    ],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("value", ["", "MB", "-5MB", "0", "0.1", "20Q", "1.5", "1e6", "many", 0, -1, True, None, 2.5])
def test_what_is_no_size(value):
    with pytest.raises(UsageError, match="expected a size"):
        parse_size(value)


def test_large_entries_and_offsets_take_more_of_the_directory():
    def size(*lengths):
        return archive_size([Entry("a", (Huge(length),)) for length in lengths], b"") - sum(lengths)

    assert size(1 << 33) - size(5) == 4 + 16
    assert size(1 << 33, 7) - size(5, 7) == 4 + 16 + 4 + 8


def test_counting_ends_at_the_limit():
    def entries():
        yield Entry("a", (BytesPart(b"12345"),))
        yield Entry("b", (BytesPart(b"12345"),))
        raise AssertionError

    assert archive_size(entries(), b"", 50) == LOCAL_OVERHEAD + 6
    with pytest.raises(AssertionError):
        archive_size(entries(), b"", 500)

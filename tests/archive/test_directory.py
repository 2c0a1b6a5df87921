"""End records and central directory: found, believed, or refused."""

import struct

import pytest
from cases.archive_builder import Member, end_record, forge, locator
from counting_source import CountingSource

from ozx.archive.directory import END_SEARCH_LENGTH, ends_archive, iter_headers, read_end
from ozx.errors import FormatError, UnsupportedError
from ozx.places.byte_source import MemorySource

MEMBERS = [Member(b"zarr.json", b"{}"), Member(b"0/c/0", b"pixels" * 5), Member(b"0/c/1", b"")]


def refusal(data, error=FormatError):
    """The error that `data` is refused with."""
    with pytest.raises(error) as caught:
        source = MemorySource(data)
        list(iter_headers(source, read_end(source)))
    assert caught.value.path == "<memory>"
    return caught.value


def test_the_first_part_of_a_split_archive_is_refused():
    # 8.5.3: it begins with the signature of a data descriptor; the end records are in the last part.
    assert refusal(b"PK\7\x08" + MEMBERS[0].local_record(), UnsupportedError).rule == "rfc9/not-split"


@pytest.mark.parametrize("lead", range(60))
def test_a_locator_too_near_the_beginning_is_refused(lead):
    # Right before it there is no room for a ZIP64 end record; the place would have a negative offset.
    for offset in (0, 1, 100):
        assert refusal(bytes(lead) + locator(offset) + end_record(0, 0, 0)).rule == "zip/end-record"


def test_a_file_that_shrinks_between_two_reads_is_refused():
    data = forge(MEMBERS, zip64={})
    position = data.index(b"PK\6\7")
    source = CountingSource(data[:position] + bytes(END_SEARCH_LENGTH) + data[position:])
    read_at = source.read_at
    source.read_at = lambda offset, length: read_at(offset, length) if length != 56 else b"PK\6\6"
    with pytest.raises(FormatError) as caught:
        read_end(source)
    assert caught.value.rule == "zip/changed"


def test_bytes_after_the_last_header_are_refused():
    members = [MEMBERS[0], Member(b"b", comment=b"4444", central={"comment_length": 0})]
    assert "4 bytes after its 2 entries" in str(refusal(forge(members)))


def test_a_directory_before_the_searched_end_is_looked_at_once_more():
    source = CountingSource(forge([Member(b"%06d" % number) for number in range(3_000)]))
    assert read_end(source).entries == 3_000
    assert [length for _, length in source.reads] == [END_SEARCH_LENGTH, 4]


@pytest.mark.parametrize(
    ("tail", "answer"),
    [
        (b"", False),
        (b"pixels", False),
        (end_record(0, 0, 0), True),
        (b"pixels" + end_record(1, 2, 3, b"comment"), True),
        (end_record(1, 2, 3, b"comment")[:-1], False),
        (end_record(1, 2, 3) + b"x", False),
        (end_record(1, 2, 3)[:21], False),
        (end_record(1, 2, 3, b"PK\5\6"), True),
        (end_record(1, 2, 3, b"PK\5\6" + bytes(30)), True),
        (struct.pack("<I", 0x06054B50) * 20, False),
    ],
)
def test_values_that_end_like_an_archive(tail, answer):
    assert ends_archive(tail) is answer

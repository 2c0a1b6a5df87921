"""The central directory as columns: the same as its headers one by one, whatever stands in names and comments."""

import pytest
from cases.archive_builder import SENTINEL, Member, forge, zip64_extra
from hypothesis import given
from hypothesis import strategies as st
from memory import traced_memory

from ozx.archive import columns as columns_module
from ozx.archive.columns import parse_columns, read_columns
from ozx.archive.directory import read_end
from ozx.archive.records import CentralHeader
from ozx.errors import FormatError
from ozx.places.byte_source import MemorySource

SIGNATURE = b"PK\1\2"


def directory_of(members):
    return b"".join(member.central_header(100 * number) for number, member in enumerate(members))


def as_headers(columns):
    """What the columns say, as headers that stand at their place in the directory."""
    return [
        (
            columns.raw_name(index),
            columns.header(index).extra,
            int(columns.header_offsets[index]),
            int(columns.compressed_sizes[index]),
            int(columns.uncompressed_sizes[index]),
            int(columns.crc32s[index]),
            int(columns.methods[index]),
            int(columns.flags[index]),
        )
        for index in range(len(columns))
    ]


def one_by_one(buffer, entries):
    found, position = [], 0
    for _ in range(entries):
        header = CentralHeader.from_bytes(buffer, position)
        position += header.length
        sizes = (header.compressed_size, header.uncompressed_size)
        found.append((header.name, header.extra, header.header_offset, *sizes, *header[3:1:-1], header.flags))
    assert position == len(buffer)
    return found


PLAIN = [Member(b"zarr.json", b"{}"), Member(b"0/c/0", b"pixels", method=8, flags=8), Member(b"", b"")]


def test_headers_without_signatures_inside_are_not_followed_one_by_one(monkeypatch):
    monkeypatch.setattr(columns_module, "_follow_signatures", None)
    for members in ([Member(b"")], PLAIN, [*PLAIN, Member(b"a", comment=b"note", central_extra=zip64_extra(5))]):
        assert len(parse_columns(directory_of(members), len(members))) == len(members)


# Names, extra fields and comments in which signatures are likely.
_text = st.lists(
    st.sampled_from([SIGNATURE, directory_of([Member(b"a")]), b"P", b"K", b"\1", b"\2", b"/", b"zarr.json", b"\xff"]),
    max_size=8,
).map(b"".join)
_number = st.sampled_from([0, 1, 0x02014B50, 0x04034B50, SENTINEL - 1]) | st.integers(0, SENTINEL - 1)
_members = st.builds(
    Member,
    name=_text,
    central_extra=_text,
    comment=_text,
    method=st.sampled_from([0, 8, 9, 99]),
    flags=st.integers(0, 0xFFFF),
    central=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(["crc32", "compressed", "uncompressed", "offset"], _number)
    ),
)


@given(st.lists(_members, max_size=6))
def test_columns_say_what_the_headers_say_of_any_directory(members):
    buffer = directory_of(members)
    columns = parse_columns(buffer, len(members))
    assert as_headers(columns) == one_by_one(buffer, len(members))
    assert len(columns) == len(members)
    assert columns.names() == [columns.name(index) for index in range(len(members))]
    assert list(columns.iter_raw_names()) == [member.name for member in members]


@given(st.lists(_members, max_size=4), st.binary(min_size=1, max_size=60), st.integers(0, 5))
def test_a_damaged_directory_is_refused_or_read_as_its_headers_say(members, noise, entries):
    buffer = bytearray(directory_of(members) or bytes(50))
    position = len(noise) * 7 % len(buffer)
    buffer[position : position + len(noise)] = noise
    buffer = bytes(buffer)
    try:
        columns = parse_columns(buffer, entries)
    except FormatError:
        with pytest.raises((FormatError, AssertionError)):
            one_by_one(buffer, entries)
    else:
        assert as_headers(columns) == one_by_one(buffer, entries)


def test_offsets_do_not_wrap_around():
    # 2**64 - 5 and ten bytes more would be 5: a place within the file.
    member = Member(b"a", central={"offset": SENTINEL}, central_extra=zip64_extra((1 << 64) - 5))
    source = MemorySource(forge([member], prefix=b"0123456789"))
    with pytest.raises(FormatError, match=r"beyond offset 2\*\*64") as caught:
        read_columns(source, read_end(source))
    assert caught.value.rule == "zip/bounds"
    assert parse_columns(directory_of([member]), 1, 4).header_offsets.tolist() == [(1 << 64) - 1]
    assert len(parse_columns(b"", 0, 10)) == 0


def test_a_directory_full_of_signatures_takes_no_more_memory_than_its_length():
    members = [Member(b"a", comment=SIGNATURE * 16_383) for _ in range(100)]
    buffer = directory_of(members)
    with traced_memory() as memory:
        columns = parse_columns(buffer, len(members))
    assert len(columns) == 100
    assert memory.peak < len(buffer)

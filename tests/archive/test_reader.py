"""Entries out of an archive: by name, checked by their headers, refused."""

import random
import zlib

import pytest
from cases.archive_builder import DESCRIPTOR, SENTINEL, UTF8, Member, deflate, extra_field, forge, zip64_extra
from counting_source import CountingSource

from ozx.archive.entry_reading import read_local_header
from ozx.archive.reader import ArchiveReader, overlapping_pairs
from ozx.errors import OzxError, UsageError
from ozx.places.byte_source import MemorySource

VALUES = {b"zarr.json": b"{}", b"0/c/0": random.Random(7).randbytes(5_000), b"0/c/1": b""}
# Each value stored and deflated, the latter with a data descriptor.
MEMBERS = [Member(name, value) for name, value in VALUES.items()] + [
    Member(
        b"deflated/" + name,
        deflate(value),
        value,
        method=8,
        flags=DESCRIPTOR,
        local={"crc32": 0, "compressed": 0, "uncompressed": 0},
        after=b"PK\7\x08" + bytes(12),
    )
    for name, value in VALUES.items()
]


def forged(*members, **options):
    return ArchiveReader(MemorySource(forge(members, **options), "cells.ozx"))


def refusal(action, error=OzxError):
    with pytest.raises(error) as caught:
        action()
    assert str(caught.value).startswith("cells.ozx: ")
    return caught.value


@pytest.mark.parametrize(("offset", "length"), [(-1, None), (-5, 3), (0, -1), (3, -1)])
def test_negative_offsets_and_lengths_are_refused(offset, length):
    reader = forged(*MEMBERS)
    # Before the value stands its header, and in the other direction the next entry.
    for index in (1, 4):
        with pytest.raises(UsageError, match="at least 0"):
            reader.read(index, offset, length)


def unicode_path(raw, text):
    return extra_field(0x7075, b"\1" + zlib.crc32(raw).to_bytes(4, "little") + text.encode())


def test_names_are_found_as_they_are_spelt():
    raw = "é".encode()
    reader = forged(
        Member(raw, flags=UTF8),
        Member(b"caf\x82"),
        Member("ß".encode()),
        Member("日本".encode(), central_extra=unicode_path("日本".encode(), "öther")),
        Member(b"bad\xff", flags=UTF8),
        Member(b"twice"),
        Member(b"twice"),
        Member(b"\x81", central_extra=unicode_path(b"\x81", "zwölf")),
        Member("zwölf".encode("cp437")),
    )
    names = reader.columns.names()
    assert names == ["é", "café", "ß", "öther", "bad\udcff", "twice", "twice", "zwölf", "zwölf"]
    assert [reader.find(name) for name in ("é", "café", "ß", "bad\udcff", "twice", "zwölf")] == [0, 1, 2, 4, 6, 8]
    for absent in ("e", "caf\x82", "日本", "\ud800", "", "twice/", "ü"):
        if "\ud800" not in absent:
            assert reader.find(absent) is None


def read_everything(reader):
    reader.check()
    return {name: reader.read(reader.find(name)) for name in reader.columns.names()}


@pytest.mark.parametrize("zip64", [None, {}], ids=["classic", "zip64"])
def test_a_failing_read_passes_through_and_the_next_attempt_works(zip64):
    # The classic one has a directory that begins before the searched end.
    many = [Member(b"%d" % number, b"value", comment=bytes(900)) for number in range(80)]
    archive = forge([*MEMBERS, *many[: 80 if zip64 is None else 5]], zip64=zip64, prefix=b"#!")
    whole = CountingSource(archive)
    expected = read_everything(ArchiveReader(whole))
    # Every read up to the first values, then some.
    total = len(whole.reads)
    for number in [*range(min(total, 40)), total - 1, total]:
        source = CountingSource(archive, fail_at=number)
        reader = ArchiveReader(source)
        if number == total:
            assert read_everything(reader) == expected
            continue
        with pytest.raises(OSError, match="Input/output error") as caught:
            read_everything(reader)
        assert not isinstance(caught.value, OzxError)
        assert len(source.reads) == number + 1
        if number < 40:
            assert read_everything(reader) == expected


def deflated_member(name, compressed, uncompressed):
    wide = {"compressed": SENTINEL, "uncompressed": SENTINEL}
    return Member(name, bytes(compressed), method=8, central=wide, central_extra=zip64_extra(uncompressed, compressed))


@pytest.mark.parametrize(
    ("members", "is_bomb"),
    [
        ([deflated_member(b"a", 10, 64 << 20)], False),  # small enough
        ([deflated_member(b"a", 10, (64 << 20) + 1)], True),
        ([deflated_member(b"a", 335_545, (64 << 20) + 200)], False),  # 200 : 1
        ([deflated_member(b"a", 335_544, (64 << 20) + 200)], True),
        ([deflated_member(b"a", 10, (1 << 64) - 1)], True),
        ([deflated_member(b"a", 10, 1 << 55), deflated_member(b"b", 10, 5)], True),
        ([deflated_member(b"%d" % number, 1, 64 << 20) for number in range(1 << 10)], False),
    ],
)
def test_bombs_are_refused_unless_allowed(members, is_bomb):
    reader = forged(*members)
    if is_bomb:
        error = refusal(reader.check)
        assert error.rule == "zip/bomb"
        assert "allow_bombs=True" in error.hint
    else:
        reader.check()
    reader.check(allow_bombs=True)


def test_a_hundred_overlaps_are_enough():
    members = [Member(b"%03d" % number, central={"offset": 0}) for number in range(300)]
    reader = forged(*members)
    assert len(overlapping_pairs(reader.columns)) == 100
    assert overlapping_pairs(forged().columns) == []


WIDE = {"compressed": SENTINEL, "uncompressed": SENTINEL}
STREAMED = {"crc32": 0, "compressed": 0, "uncompressed": 0}


@pytest.mark.parametrize(
    ("member", "says"),
    [
        (Member(b"a", b"value", local={"name": b"b"}), "the local header names it 'b'"),
        (Member(b"a", b"value", local={"name": b"ab"}), "the local header names it 'ab'"),
        (Member(b"a", b"value", local={"name": b"\xff"}), "the local header names it '\ufffd'"),
        (Member("é".encode(), b"value", local={"flags": UTF8}), "different encodings"),
        (Member("é".encode(), b"value", central={"flags": UTF8}), "different encodings"),
        (
            Member(b"a", b"value", local={"method": 8}),
            "method is deflated in the local header, stored in the central directory",
        ),
        (
            Member(b"a", b"value", method=8, local={"method": 0}),
            "method is stored in the local header, deflated in the central directory",
        ),
        (Member(b"a", b"value", local={"flags": 1}), "only one of its two headers declares"),
        (Member(b"a", b"value", local={"crc32": 5}), "CRC-32 is 5"),
        (Member(b"a", b"value", local={"crc32": 0}), "CRC-32 is 0"),
        (
            Member(b"a", b"value", local={"compressed": 4}),
            "stored size is 4 in the local header, 5 in the central directory",
        ),
        (Member(b"a", b"value", local={"compressed": 0}), "stored size is 0"),
        (
            Member(b"a", b"value", local={"uncompressed": 4}),
            "original size is 4 in the local header, 5 in the central directory",
        ),
        (Member(b"a", b"value", local=WIDE), "found no ZIP64 extra field"),
        (Member(b"a", b"value", local=WIDE, local_extra=zip64_extra(5)), "found a ZIP64 extra field of 8 bytes"),
        (Member(b"a", b"value", local=WIDE, local_extra=zip64_extra(5, 6)), "stored size is 6"),
        (Member(b"a", b"value", local=WIDE, local_extra=zip64_extra(6, 5)), "original size is 6"),
        (Member(b"a", b"value", local=WIDE, local_extra=zip64_extra((1 << 64) - 1, 5)), "original size is 18,446,744"),
        # Bit 3 allows zeros, and nothing else.
        (Member(b"a", b"value", flags=DESCRIPTOR, local={"crc32": 5}), "CRC-32 is 5"),
        (Member(b"a", b"value", flags=DESCRIPTOR, local={"compressed": 4}), "stored size is 4"),
        (Member(b"a", b"value", central={"flags": DESCRIPTOR}, local=STREAMED), "CRC-32 is 0"),
    ],
)
def test_a_local_header_that_contradicts_the_directory_is_refused(member, says):
    reader = forged(member, Member(b"other", b"fine"))
    reader.check()
    for read in (lambda: reader.read(0), lambda: reader.read(0, 1, 2), lambda: reader.data_offset(0)):
        error = refusal(read)
        assert error.rule == "zip/local-header"
        assert says in str(error)
    assert reader.read(1) == b"fine"


def test_whoever_reads_by_other_ways_can_check_header_and_checksum():
    reader = forged(Member(b"a", b"value"), Member(b"b", b"other", local={"crc32": 5}))
    local = read_local_header(reader.source, reader.columns.header(0))
    assert reader.checked_data_offset(0, local) == 31
    assert refusal(lambda: reader.checked_data_offset(1, local)).rule == "zip/local-header"
    assert refusal(lambda: reader.checked_data_offset(0, local._replace(extra=bytes(9)))).rule == "zip/overlap"
    reader.check_crc32(0, zlib.crc32(b"value"))
    assert refusal(lambda: reader.check_crc32(0, zlib.crc32(b"valuE"))).rule == "zip/crc"

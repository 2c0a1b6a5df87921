"""The layouts of the records, against bytes packed by hand."""

import struct

import pytest
from zip_forge import Member, end_record, extra_field, locator, zip64_end, zip64_extra

from ozx.archive import records
from ozx.archive.records import (
    CentralHeader,
    EndRecord,
    ExtraField,
    LocalHeader,
    Zip64EndRecord,
    iter_extra_fields,
    method_name,
    resolve_zip64,
)
from ozx.errors import FormatError

ZIP64 = struct.Struct("<HH3Q")
BIG = 0xFFFFFFFF

MEMBER = Member(
    b"0/c/0",
    b"pixels",
    method=8,
    flags=0x808,
    local={"version": 45, "crc": 0x01020304, "compressed": 6, "uncompressed": 77},
    central={"made_by": 0x031E, "crc": 0x01020304, "compressed": 6, "uncompressed": 77, "external": 0x81A40000},
    local_extra=b"\x55\x54\x01\x00\x01",
    central_extra=b"\x55\x54\x00\x00",
    comment=b"note",
)


@pytest.mark.parametrize(
    ("layout", "size"),
    [
        (records.LOCAL_HEADER, 30),
        (records.CENTRAL_HEADER, 46),
        (records.END_RECORD, 22),
        (records.ZIP64_END_RECORD, 56),
        (records.ZIP64_LOCATOR, 20),
    ],
)
def test_the_fixed_parts_are_as_long_as_appnote_says(layout, size):
    assert layout.size == size


def test_the_locator_has_its_fields_in_order():
    assert records.ZIP64_LOCATOR.unpack(locator(1 << 40, disk=2, disks=3)) == (b"PK\x06\x07", 2, 1 << 40, 3)


@pytest.mark.parametrize(
    ("extra", "fields"),
    [
        (b"", []),
        (b"\x01\x00\x00", []),
        (extra_field(1, b""), [(1, b"")]),
        (extra_field(1, b"ab") + extra_field(0x7075, b"c"), [(1, b"ab"), (0x7075, b"c")]),
        (extra_field(1, b"ab") + b"\0\0\0", [(1, b"ab")]),
        (extra_field(1, b"ab") + struct.pack("<HH", 2, 5) + b"four", [(1, b"ab")]),
        (struct.pack("<HH", 1, 0xFFFF), []),
    ],
)
def test_extra_fields_are_taken_apart_and_a_bad_tail_passed_over(extra, fields):
    assert list(iter_extra_fields(extra)) == [ExtraField(*each) for each in fields]


@pytest.mark.parametrize(
    ("values", "extra", "resolved"),
    [
        ((1, 2, 3), b"", (1, 2, 3)),
        ((1, 2, 3), zip64_extra(7, 8, 9), (1, 2, 3)),
        ((BIG, 2, 3), zip64_extra(7), (7, 2, 3)),
        ((1, BIG, 3), zip64_extra(7), (1, 7, 3)),
        ((1, 2, BIG), zip64_extra(7), (1, 2, 7)),
        ((BIG, BIG, 3), zip64_extra(7, 8), (7, 8, 3)),
        ((BIG, 2, BIG), zip64_extra(7, 9), (7, 2, 9)),
        ((BIG, BIG, BIG), zip64_extra(7, 8, 9), (7, 8, 9)),
        ((BIG, BIG, BIG), zip64_extra(BIG, 1 << 63, (1 << 64) - 1), (BIG, 1 << 63, (1 << 64) - 1)),
        ((BIG, BIG), zip64_extra(7, 8, 9), (7, 8)),  # more than is needed
        ((BIG, 2), extra_field(0xCAFE, b"before") + zip64_extra(7), (7, 2)),
        ((BIG, 2), zip64_extra(7) + zip64_extra(8), (7, 2)),  # the first of two
    ],
)
def test_sentinels_are_replaced_in_the_order_of_the_zip64_field(values, extra, resolved):
    assert resolve_zip64(values, extra) == resolved


@pytest.mark.parametrize(
    ("values", "extra", "found"),
    [
        ((BIG,), b"", "no ZIP64 extra field"),
        ((BIG,), extra_field(2, bytes(8)), "no ZIP64 extra field"),
        ((BIG,), extra_field(1, bytes(7)), "a ZIP64 extra field of 7 bytes"),
        ((BIG, BIG), zip64_extra(7), "a ZIP64 extra field of 8 bytes"),
        ((BIG, BIG, BIG), zip64_extra(7, 8), "a ZIP64 extra field of 16 bytes"),
        ((BIG,), zip64_extra(7)[:-1], "no ZIP64 extra field"),  # cut off
    ],
)
def test_a_sentinel_without_its_zip64_value_is_refused(values, extra, found):
    with pytest.raises(FormatError, match=f"at least {8 * len(values)} bytes; found {found}") as caught:
        resolve_zip64(values, extra)
    assert caught.value.rule == "zip/zip64-field"


@pytest.mark.parametrize("position", [0, 5])
@pytest.mark.parametrize("kind", [bytes, memoryview])
def test_a_local_header_is_taken_apart(position, kind):
    header = LocalHeader.from_bytes(kind(bytes(position) + MEMBER.local_record()), position)
    assert header == (45, 0x808, 8, 0x01020304, 6, 77, b"0/c/0", b"\x55\x54\x01\x00\x01")
    assert header.length == 30 + 5 + 5
    assert isinstance(header.name, bytes)
    assert isinstance(header.extra, bytes)


@pytest.mark.parametrize("position", [0, 5])
@pytest.mark.parametrize("kind", [bytes, memoryview])
def test_a_central_header_is_taken_apart(position, kind):
    header = CentralHeader.from_bytes(kind(bytes(position) + MEMBER.central_record(99)), position)
    assert header == (
        0x031E,
        0x808,
        8,
        0x01020304,
        6,
        77,
        0x81A40000,
        99,
        b"0/c/0",
        b"\x55\x54\x00\x00",
        46 + 5 + 4 + 4,
    )
    assert isinstance(header.name, bytes)
    assert isinstance(header.extra, bytes)


def test_a_central_header_gives_zip64_values_and_a_local_header_the_fields_as_they_stand():
    wide = {"compressed": BIG, "uncompressed": BIG}
    member = Member(b"a", local=wide, central=wide | {"offset": BIG})
    member.local_extra, member.central_extra = zip64_extra(7, 8), zip64_extra(7, 8, 9)
    central = CentralHeader.from_bytes(member.central_record(0))
    assert (central.uncompressed_size, central.compressed_size, central.header_offset) == (7, 8, 9)
    local = LocalHeader.from_bytes(member.local_record())
    assert (local.uncompressed_size, local.compressed_size) == (BIG, BIG)


def test_headers_that_are_cut_off_anywhere_are_refused():
    local = MEMBER.local_record()[: 30 + 5 + 5]
    for length in range(len(local)):
        with pytest.raises(FormatError) as caught:
            LocalHeader.from_bytes(local[:length])
        assert caught.value.rule == "zip/truncated"
    central = MEMBER.central_record(0)
    for length in range(len(central)):
        with pytest.raises(FormatError) as caught:
            CentralHeader.from_bytes(central[:length])
        assert caught.value.rule == "zip/directory"


def test_a_position_past_the_end_is_refused():
    with pytest.raises(FormatError, match="needs 30 bytes; found 0"):
        LocalHeader.from_bytes(b"PK", 5)
    with pytest.raises(FormatError, match="ends within a header"):
        CentralHeader.from_bytes(b"PK", 5)


def test_another_signature_is_named():
    with pytest.raises(FormatError, match=r"local file header.*found b'PK\\x01\\x02'") as caught:
        LocalHeader.from_bytes(MEMBER.central_record(0))
    assert caught.value.rule == "zip/local-header"
    with pytest.raises(FormatError, match=r"central directory header.*found b'PK\\x03\\x04'") as caught:
        CentralHeader.from_bytes(MEMBER.local_record() + bytes(46))
    assert caught.value.rule == "zip/directory"


def test_end_records_are_taken_apart():
    classic = end_record(3, 4, 5, b"c" * 6, disk=1, directory_disk=2, entries_here=7)
    assert EndRecord.from_bytes(b"..." + classic, 3) == (1, 2, 7, 3, 4, 5, 6)
    wide = zip64_end(1 << 40, 1 << 41, 1 << 42, disk=1, directory_disk=2, entries_here=1 << 43, made_by=0x032D)
    expected = (44, 0x032D, 45, 1, 2, 1 << 43, 1 << 40, 1 << 41, 1 << 42)
    assert Zip64EndRecord.from_bytes(b"..." + wide, 3) == expected


def test_the_shortest_headers_are_whole():
    assert LocalHeader.from_bytes(Member(b"").local_record()).length == 30
    assert CentralHeader.from_bytes(Member(b"").central_record(5)).length == 46
    assert EndRecord.from_bytes(end_record(3, 4, 5)).entries == 3
    assert Zip64EndRecord.from_bytes(zip64_end(3, 4, 5)).entries == 3


# 4.4.5
METHODS = {
    0: "stored",
    1: "shrunk",
    6: "imploded",
    8: "deflated",
    9: "deflate64",
    12: "bzip2",
    14: "lzma",
    93: "zstd",
    95: "xz",
    98: "ppmd",
    99: "aes",
}


def test_methods_have_names():
    names = {method: method_name(method) for method in range(0x10000)}
    assert {method: name for method, name in names.items() if name != f"method {method}"} == METHODS

"""The directory as a witness: names confirmed, disputed, dropped; values that only it can find."""

import re

import pytest
from cases.archive_builder import SENTINEL, Member, forge, zip64_extra

from ozx.archive.recovery.directory import merge_directory
from ozx.archive.recovery.scan import scan_archive
from ozx.places.byte_source import FileSource, MemorySource

MEMBERS = [Member(b"zarr.json", b"{}"), Member(b"0/c/0", b"first"), Member(b"0/c/1", b"second"), Member(b"folder/")]
DATA = forge(MEMBERS)
NAMES = ["zarr.json", "0/c/0", "0/c/1"]


def hear(data):
    source = MemorySource(data)
    return merge_directory(source, scan_archive(source))


def names(directory):
    return [directory.entries.names[index] for index in directory.order]


def check_named(directory):
    """Check that each value, which its size tells, has its true name in one of the headers."""
    assert sorted(directory.entries[index].size for index in directory.order) == [2, 5, 6]
    for index in directory.order.tolist():
        true = NAMES[[2, 5, 6].index(directory.entries[index].size)]
        assert true in (directory.entries.names[index], directory.disputed.get(index))


@pytest.mark.parametrize("value", [b"bytes", b"damaged"])
def test_bytes_under_the_name_of_a_folder_are_lost(value):
    directory = hear(forge([MEMBERS[0], Member(b"folder/", value)]).replace(b"damaged", b"Damaged"))
    assert names(directory) == ["zarr.json"]
    assert [entry.name for entry in directory.lost] == ["folder/"]
    assert directory.lost or not directory.is_accounted


@pytest.mark.parametrize("member", [0, 1, 2])
@pytest.mark.parametrize("byte", range(35))
def test_a_local_header_is_replaced_by_the_directory(member, byte):
    position = sum(len(other.local_record()) for other in MEMBERS[:member]) + byte
    damaged = bytearray(DATA)
    damaged[position] ^= 0x5A
    directory = hear(bytes(damaged))
    check_named(directory)
    assert directory.lost == []


@pytest.mark.parametrize("byte", range(46 + 5))
def test_a_damaged_header_of_the_directory_loses_no_value(byte):
    start = DATA.index(b"PK\1\2", DATA.index(b"PK\1\2") + 4)
    damaged = bytearray(DATA)
    damaged[start + byte] ^= 0x5A
    check_named(hear(bytes(damaged)))


@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize("offset", [DATA.index(b"second"), len(DATA), 1 << 31])
def test_a_row_with_a_damaged_offset_and_a_damaged_name_loses_no_value(row, offset):
    """The value is proven, and named by its local header."""
    starts = [match.start() for match in re.finditer(b"PK\1\2", DATA)]
    damaged = bytearray(DATA)
    damaged[starts[row] + 42 : starts[row] + 46] = offset.to_bytes(4, "little")
    damaged[starts[row] + 46] ^= 0xFF
    directory = hear(bytes(damaged))
    assert sorted(names(directory)) == sorted(NAMES)
    assert directory.lost == []
    (index,) = directory.disputed
    assert directory.entries.names[index] == NAMES[row]


def test_a_row_whose_value_cannot_be_told_either_drops_no_entry():
    start = [match.start() for match in re.finditer(b"PK\1\2", DATA)][1]
    damaged = bytearray(DATA)
    damaged[start + 16 : start + 20] = b"\xff" * 4  # its CRC-32
    damaged[start + 42 : start + 47] = b"\x7f" * 5
    directory = hear(bytes(damaged))
    assert sorted(names(directory)) == sorted(NAMES)
    assert len(directory.lost) == 1
    assert not directory.is_whole


def test_a_deleted_entry_stays_deleted_although_a_row_is_damaged():
    deleted = Member(b"0/c/2", b"deleted").local_record()
    members = [*MEMBERS[:2], Member(b"0/c/1", b"second", after=deleted)]
    data = bytearray(forge(members))
    start = [match.start() for match in re.finditer(b"PK\1\2", bytes(data))][1]
    data[start + 42 : start + 47] = b"\x7f" * 5
    assert sorted(names(hear(bytes(data)))) == sorted(NAMES)


def test_an_entry_before_the_archive_proper_may_be_that_of_another_archive():
    directory = hear(MEMBERS[1].local_record() + DATA)
    assert names(directory) == ["0/c/0", *NAMES]
    assert not directory.is_accounted


@pytest.mark.parametrize("offset", [(1 << 63) - 20, 1 << 63, (1 << 64) - 1])
def test_an_offset_beyond_any_file_is_a_lost_entry(tmp_path, offset):
    far = {"central": {"offset": SENTINEL}, "central_extra": zip64_extra(offset), "local": {"signature": bytes(4)}}
    path = tmp_path / "a.zip"
    path.write_bytes(forge([MEMBERS[0], Member(b"0/c/0", b"first", **far)]))
    source = FileSource(str(path))
    directory = merge_directory(source, scan_archive(source))
    assert names(directory) == ["zarr.json"]
    assert [entry.name for entry in directory.lost] == ["0/c/0"]

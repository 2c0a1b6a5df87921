"""End records and central directory: found, believed, or refused."""

import struct
import zipfile
from io import BytesIO

import pytest
from zip_forge import CountingSource, Member, end_record, forge, locator, zip64_end

from ozx.archive.byte_source import MemorySource
from ozx.archive.directory import END_SEARCH_LENGTH, ends_archive, iter_headers, read_directory, read_end
from ozx.errors import FormatError, UnsupportedError

MEMBERS = [Member(b"zarr.json", b"{}"), Member(b"0/c/0", b"pixels" * 5), Member(b"0/c/1", b"")]
DIRECTORY_OFFSET = 30 * 3 + 9 + 5 + 5 + 2 + 30
DIRECTORY_SIZE = 46 * 3 + 9 + 5 + 5
JUNK = b"#!/bin/sh\n"


def names(data):
    source = MemorySource(data)
    return [header.name for header in iter_headers(source, read_end(source))]


def refusal(data, error=FormatError):
    """The error that `data` is refused with."""
    with pytest.raises(error) as caught:
        source = MemorySource(data)
        list(iter_headers(source, read_end(source)))
    assert caught.value.path == "<memory>"
    return caught.value


# --- what is accepted -----------------------------------------------------------------------------


@pytest.mark.parametrize("zip64", [None, {}], ids=["classic", "zip64"])
@pytest.mark.parametrize("prepended", [b"", JUNK, bytes(70_000)], ids=["", "prepended", "much-prepended"])
@pytest.mark.parametrize("comment", [b"", b"a comment", b"c" * 65_535], ids=["", "comment", "longest-comment"])
def test_end_records_are_found(zip64, prepended, comment):
    data = forge(MEMBERS, zip64=zip64, prepended=prepended, comment=comment)
    source = MemorySource(data)
    end = read_end(source)
    assert (end.entries, end.directory_size) == (3, DIRECTORY_SIZE)
    assert end.directory_offset == DIRECTORY_OFFSET + len(prepended)
    assert end.end_offset == end.directory_offset + DIRECTORY_SIZE
    assert (end.comment, end.prepended, end.trailing) == (comment, len(prepended), 0)
    assert end.has_zip64_end == (zip64 is not None)
    assert read_directory(source, end) == data[end.directory_offset : end.end_offset]
    headers = list(iter_headers(source, end))
    assert [header.name for header in headers] == [member.name for member in MEMBERS]
    assert [data[header.header_offset :][:4] for header in headers] == [b"PK\3\4"] * 3


@pytest.mark.parametrize("zip64", [None, {}], ids=["classic", "zip64"])
@pytest.mark.parametrize("prepended", [b"", JUNK], ids=["", "prepended"])
def test_an_empty_archive(zip64, prepended):
    source = MemorySource(forge([], zip64=zip64, prepended=prepended))
    end = read_end(source)
    assert (end.entries, end.directory_size) == (0, 0)
    assert list(iter_headers(source, end)) == []


@pytest.mark.parametrize("field", ["entries", "entries_here", "size", "offset", "disk", "directory_disk"])
def test_each_sentinel_is_replaced_by_the_zip64_value(field):
    sentinel = 0xFFFFFFFF if field in ("size", "offset") else 0xFFFF
    assert names(forge(MEMBERS, zip64={}, end={field: sentinel})) == [member.name for member in MEMBERS]


def test_a_value_that_looks_like_a_sentinel_stands_for_itself_without_zip64():
    members = [Member(b"%d" % number) for number in range(0xFFFF)]
    assert len(names(forge(members))) == 0xFFFF


def test_more_entries_than_the_classic_record_counts():
    members = [Member(b"%d" % number) for number in range(0x10001)]
    end = {"entries": 0xFFFF, "entries_here": 0xFFFF}
    assert len(names(forge(members, zip64={}, end=end))) == 0x10001


def test_trailing_bytes_are_counted():
    source = MemorySource(forge(MEMBERS, comment=b"note") + bytes(5_000))
    end = read_end(source)
    assert (end.comment, end.trailing) == (b"note", 5_000)


def test_a_locator_that_counts_no_parts_is_believed():
    assert len(names(forge(MEMBERS, zip64={}, locator_changes={"disks": 0}))) == 3


def test_a_zip64_record_with_extensible_data_is_found_by_its_locator():
    # 4.3.14.2: "any data that follows"; the record is then not right before its locator
    data = forge(MEMBERS, zip64={"size_of_rest": 44 + 12})
    position = data.index(b"PK\6\7")
    data = data[:position] + b"twelve bytes" + data[position:]
    assert names(data) == [member.name for member in MEMBERS]


@pytest.mark.parametrize("between", [b"1", b"PK\6\6", bytes(56)])
def test_a_zip64_record_that_does_not_reach_its_locator_is_refused(between):
    data = forge(MEMBERS, zip64={})
    position = data.index(b"PK\6\7")
    assert refusal(data[:position] + between + data[position:]).rule == "zip/end-record"


def test_two_zip64_records_are_refused_where_one_archive_was_appended_to_another():
    # The offset in the second locator fits the first archive, too: a reader that believes it sees the first one.
    archive = forge(MEMBERS, zip64={})
    error = refusal(archive + archive)
    assert error.rule == "zip/end-record"
    assert "readers would find different archives" in str(error)


def test_a_zip64_record_before_the_searched_end_takes_a_second_read():
    data = forge(MEMBERS, zip64={"size_of_rest": 44 + END_SEARCH_LENGTH})
    position = data.index(b"PK\6\7")
    source = CountingSource(data[:position] + bytes(END_SEARCH_LENGTH) + data[position:])
    assert read_end(source).has_zip64_end
    assert source.reads[1] == (position - 56, 56)


def test_a_gap_between_directory_and_end_records_is_read_over():
    source = MemorySource(forge(MEMBERS, gap=b"a gap of bytes"))
    end = read_end(source)
    assert (end.directory_offset, end.prepended) == (DIRECTORY_OFFSET, 0)
    assert end.end_offset == DIRECTORY_OFFSET + DIRECTORY_SIZE + 14


def test_offsets_that_were_adjusted_to_prepended_bytes_are_believed():
    shifted = [Member(member.name, member.data, central={"offset": 0}) for member in MEMBERS]
    body = b"".join(member.local_record() for member in shifted)
    directory, position = b"", len(JUNK)
    for member in shifted:
        member.central["offset"] = position
        directory += member.central_record(0)
        position += len(member.local_record())
    data = JUNK + body + directory + end_record(3, len(directory), position)
    source = MemorySource(data)
    end = read_end(source)
    assert (end.prepended, end.directory_offset) == (0, position)
    assert data[next(iter_headers(source, end)).header_offset :].startswith(b"PK\3\4")


@pytest.mark.parametrize(
    "comment",
    [
        b"PK\5\6",
        b"PK\5\6" + bytes(17),  # one byte too short
        b"PK\5\6" * 500,
        end_record(1, 46, 0),  # no directory stands there
        end_record(3, DIRECTORY_SIZE, DIRECTORY_OFFSET),  # nor right before this one
        end_record(0, 5, 0),
        end_record(1, 1 << 31, 0),
        b"PK\6\7" + bytes(16),
    ],
)
def test_the_bytes_of_an_end_record_in_a_comment_deceive_nobody(comment):
    for zip64 in (None, {}):
        data = forge(MEMBERS, comment=comment, zip64=zip64)
        assert names(data) == [member.name for member in MEMBERS]
        assert read_end(MemorySource(data)).comment == comment


@pytest.mark.parametrize("behind", [b"", b"text", bytes(100)])
def test_a_second_end_record_behind_the_first_is_refused(behind):
    # bsdtar and zipfile take the last one, whether or not its comment ends with the file.
    for second in (end_record(0, 0, 0), forge([Member(b"other")])):
        with pytest.raises(FormatError, match="two possible end of central directory records"):
            read_end(MemorySource(forge(MEMBERS, comment=second + behind)))


@pytest.mark.parametrize(
    "members",
    [
        pytest.param([*MEMBERS, Member(b"large", bytes(200_000))], id="directory-within-the-searched-end"),
        pytest.param([Member(b"%d" % number, comment=bytes(1_000)) for number in range(90)], id="directory-before-it"),
    ],
)
def test_nor_do_they_in_a_file_longer_than_what_is_searched(members):
    for comment in (end_record(3, DIRECTORY_SIZE, DIRECTORY_OFFSET), end_record(1, 1 << 31, 0)):
        assert names(forge(members, comment=comment)) == [member.name for member in members]
    error = refusal(forge(members, comment=forge([Member(b"evil")])))
    assert error.rule == "zip/end-record"


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "comment",
    [
        end_record(0, 0, 0),
        forge([Member(b"evil")]),
        forge([Member(b"evil")], zip64={}),
        locator(0) + end_record(0, 0, 0),
    ],
)
def test_two_archives_in_one_file_are_refused(comment):
    error = refusal(forge(MEMBERS, comment=comment))
    assert error.rule == "zip/end-record"
    assert "two possible end of central directory records" in str(error)


def test_one_archive_appended_to_its_like_is_refused():
    # The declared offset finds one central directory, the place right before the end record another.
    first, second = forge([Member(b"a", b"1")]), forge([Member(b"a", b"2")])
    error = refusal(first + second)
    assert error.rule == "zip/directory"
    assert "two possible central directories" in str(error)
    assert refusal(forge(MEMBERS) + second).rule == "zip/leading-entries"


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "zip/not-a-zip"),
        (b"P", "zip/not-a-zip"),
        (b"\x89PNG" + bytes(100), "zip/not-a-zip"),
        (bytes(200_000), "zip/not-a-zip"),
        (b"PK\5\6" + bytes(17), "zip/not-a-zip"),
        (b"PK\3\4", "zip/truncated"),
        (forge(MEMBERS)[:-1], "zip/truncated"),
        (forge(MEMBERS, comment=b"note")[:-1], "zip/truncated"),
        (forge(MEMBERS, zip64={})[: DIRECTORY_OFFSET + 10], "zip/truncated"),
    ],
)
def test_what_has_no_end_record_is_refused(data, rule):
    assert refusal(data).rule == rule


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("entries", 4),
        ("entries_here", 2),
        ("size", DIRECTORY_SIZE - 1),
        ("offset", DIRECTORY_OFFSET + 1),
        ("disk", 1),
        ("directory_disk", 1),
    ],
)
def test_end_records_that_contradict_each_other_are_refused(field, value):
    error = refusal(forge(MEMBERS, zip64={}, end={field: value}))
    assert error.rule == "zip/end-record"
    assert "contradict each other" in str(error)


@pytest.mark.parametrize(
    "changes",
    [
        {"disk": 1},
        {"directory_disk": 1},
        {"disk": 0xFFFF, "directory_disk": 0xFFFF},
        {"entries_here": 2},
        {"entries_here": 4},
    ],
)
def test_parts_of_a_split_archive_are_refused(changes):
    for data in (
        forge(MEMBERS, end=changes),
        forge(MEMBERS, zip64=changes, end=dict.fromkeys(changes, 0xFFFF)),
    ):
        error = refusal(data, UnsupportedError)
        assert error.rule == "rfc9/not-split"
        assert "zip -s 0" in error.hint


def test_the_first_part_of_a_split_archive_is_refused():
    # 8.5.3: it begins with the signature of a data descriptor; the end records are in the last part.
    assert refusal(b"PK\7\x08" + MEMBERS[0].local_record(), UnsupportedError).rule == "rfc9/not-split"


@pytest.mark.parametrize("changes", [{"disk": 1}, {"disks": 2}])
def test_a_locator_that_speaks_of_parts_is_refused(changes):
    assert refusal(forge(MEMBERS, zip64={}, locator_changes=changes), UnsupportedError).rule == "rfc9/not-split"


@pytest.mark.parametrize("declared", [0, 1, DIRECTORY_OFFSET, 1 << 63, (1 << 64) - 1, (1 << 64) - 56])
def test_a_locator_that_errs_is_forgiven_where_the_record_stands_before_it_and_else_refused(declared):
    data = forge(MEMBERS, zip64={}, locator_changes={"offset": declared})
    assert names(data) == [member.name for member in MEMBERS]
    error = refusal(data.replace(b"PK\6\6", b"PK\6\5"))
    assert error.rule == "zip/end-record"
    assert f"points to an end record at {declared:,}, but there is none" in str(error)


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


@pytest.mark.parametrize(
    "changes",
    [
        {"entries": 4, "entries_here": 4},  # an entry has at least 46 bytes ...
        {"entries": 0, "entries_here": 0},
        {"size": DIRECTORY_SIZE - 1},
        {"size": DIRECTORY_SIZE + 1},
        {"size": 0},
        {"offset": DIRECTORY_OFFSET + 1},
        {"offset": (1 << 32) - 2},
        {"size": (1 << 32) - 1},
    ],
)
def test_directories_that_cannot_be_are_refused(changes):
    assert refusal(forge(MEMBERS, end=changes)).rule == "zip/directory"


@pytest.mark.parametrize("big", [1 << 32, 1 << 62, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize("field", ["size", "offset", "entries"])
def test_sizes_beyond_the_file_are_refused_before_anything_is_read_for_them(field, big):
    sentinels = {"entries": 0xFFFF, "entries_here": 0xFFFF, "size": 0xFFFFFFFF, "offset": 0xFFFFFFFF}
    changes = {field: big, "entries_here": big} if field == "entries" else {field: big}
    source = CountingSource(forge(MEMBERS, zip64=changes, end=sentinels))
    with pytest.raises(FormatError) as caught:
        read_end(source)
    assert caught.value.rule == "zip/directory"
    assert len(source.reads) == 1


def test_a_directory_longer_than_its_entries_can_be_is_refused():
    # ... and at most 46 + 3 * 65,535: a sparse file would cost its whole length in memory.
    size = 46 + 3 * 65_535 + 1
    data = Member(b"a").central_record(0) + bytes(size - 47)
    with pytest.raises(FormatError) as caught:
        read_end(MemorySource(data + end_record(1, size, 0)))
    assert caught.value.rule == "zip/directory"
    assert read_end(MemorySource(data[:-1] + end_record(1, size - 1, 0))).directory_size == size - 1


@pytest.mark.parametrize("changes", [{"name_length": 0xFFFF}, {"signature": 0}, {"comment_length": 1}])
def test_a_header_that_is_none_is_refused_where_it_stands(changes):
    members = [MEMBERS[0], Member(b"b", central=changes), MEMBERS[2]]
    source = MemorySource(forge(members))
    headers = iter_headers(source, read_end(source))
    assert next(headers).name == b"zarr.json"
    with pytest.raises(FormatError) as caught:
        list(headers)
    assert (caught.value.rule, caught.value.path) == ("zip/directory", "<memory>")


def test_bytes_after_the_last_header_are_refused():
    members = [MEMBERS[0], Member(b"b", comment=b"4444", central={"comment_length": 0})]
    assert "4 bytes after its 2 entries" in str(refusal(forge(members)))


# --- how much is read -----------------------------------------------------------------------------


@pytest.mark.parametrize("zip64", [None, {}], ids=["classic", "zip64"])
@pytest.mark.parametrize("prepended", [b"", JUNK], ids=["", "prepended"])
def test_one_read_finds_everything_at_the_end(zip64, prepended):
    source = CountingSource(forge(MEMBERS, zip64=zip64, prepended=prepended, comment=b"c" * 5_000))
    read_end(source)
    # Where bytes were prepended, one look at the declared place more, and one at these bytes.
    assert len(source.reads) == (3 if prepended else 1)


def test_one_read_finds_the_zip64_records_before_the_longest_comment():
    source = CountingSource(forge(MEMBERS, zip64={}, comment=b"c" * 65_535))
    assert read_end(source).has_zip64_end
    assert source.reads == [(len(source.data) - 65_633, 65_535 + 22 + 20 + 56)]


def test_a_directory_before_the_searched_end_is_looked_at_once_more():
    source = CountingSource(forge([Member(b"%06d" % number) for number in range(3_000)]))
    assert read_end(source).entries == 3_000
    assert [length for _, length in source.reads] == [END_SEARCH_LENGTH, 4]


def test_headers_are_read_as_far_as_they_are_asked_for():
    members = [Member(b"%06d" % number, comment=bytes(1_000)) for number in range(1_000)]
    source = CountingSource(forge(members))
    end = read_end(source)
    source.reads.clear()
    headers = iter_headers(source, end)
    assert source.reads == []
    assert next(headers).name == b"000000"
    assert len(source.reads) == 1
    assert source.reads[0][1] < 200_000
    rest = [header.name for header in headers]
    assert rest == [member.name for member in members[1:]]
    assert sum(length for _, length in source.reads) == end.directory_size


def test_the_longest_headers_are_read():
    members = [Member(b"%d" % n + b"n" * 65_000, central_extra=bytes(65_535), comment=bytes(65_535)) for n in range(9)]
    assert names(forge(members)) == [member.name for member in members]


# --- whether a value is an archive ----------------------------------------------------------------


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


def test_what_zipfile_writes_ends_like_an_archive():
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", b"b")
        archive.comment = b"comment"
    assert ends_archive(file.getvalue())


def test_the_forge_makes_what_zipfile_reads():
    for zip64 in (None, {}):
        with zipfile.ZipFile(BytesIO(forge(MEMBERS, zip64=zip64))) as archive:
            assert {name.encode(): archive.read(name) for name in archive.namelist()} == {
                member.name: member.data for member in MEMBERS
            }
    assert zip64_end(1, 2, 3)[4:12] == (44).to_bytes(8, "little")

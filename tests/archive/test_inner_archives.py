"""Archives in a value: their end records are not those of the file."""

import pytest
from zip_forge import Member, forge

from ozx.archive.byte_source import MemorySource
from ozx.archive.directory import check_leading, read_end
from ozx.errors import FormatError

INNER = forge([Member(b"zarr.json", b"{}"), Member(b"0/c/0", b"inner")])
OUTER = forge([Member(b"zarr.json", b"{}"), Member(b"a.zip", INNER), Member(b"0/c/0", b"outer")])


def rule_of(data):
    with pytest.raises(FormatError) as caught:
        read_end(MemorySource(data))
    assert "ozx recover" in caught.value.hint
    return caught.value.rule


def outer_without_end():
    start = OUTER.index(INNER) + len(INNER)
    return [OUTER[:start], OUTER[: start + 20], OUTER[: OUTER.rindex(b"PK\5\6")]]


@pytest.mark.parametrize("data", outer_without_end(), ids=["cut behind it", "cut later", "without its end record"])
def test_an_archive_in_a_value_does_not_pass_for_the_file(data):
    assert rule_of(data) == "zip/leading-entries"
    # Nor does it where the signature at the file's beginning is lost, too.
    assert rule_of(b"QK" + data[2:]) == "zip/leading-entries"
    if OUTER.startswith(data) and b"PK\1\2" in data[data.rindex(b"PK\5\6") :]:
        with pytest.raises(FormatError, match="another header is at"):  # of the outer archive
            read_end(MemorySource(data), allow_leading_entries=True)
    else:
        assert read_end(MemorySource(data), allow_leading_entries=True).entries == 2


def test_one_that_is_the_first_value():
    data = forge([Member(b"a.zip", INNER)])
    cut = data[: data.index(INNER) + len(INNER)]
    assert rule_of(cut) == "zip/leading-entries"


def test_bytes_that_were_inserted_behind_the_first_header():
    assert rule_of(OUTER[:30] + b"xyz" + OUTER[30:]) == "zip/leading-entries"


def test_an_archive_behind_another_one():
    assert rule_of(forge([Member(b"a", b"1"), Member(b"b", b"1")]) + INNER) == "zip/leading-entries"


@pytest.mark.parametrize("program", [b"#!/bin/sh\n", b"MZ" + bytes(200_000), b"MZ PK\3\4 of an unzipping program" * 3])
def test_a_self_extracting_file_is_read(program):
    assert read_end(MemorySource(program + OUTER)).prepended == len(program)


def test_what_is_read():
    class Counting(MemorySource):
        reads = 0

        def read_at(self, offset, length):
            self.reads += 1
            return super().read_at(offset, length)

    source = Counting(b"MZ" + bytes(1 << 20))
    check_leading(source, 0)
    assert source.reads == 0
    check_leading(source, 1 << 20)
    assert source.reads == 2

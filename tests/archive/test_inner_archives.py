"""Archives in a value: their end records are not those of the file."""

import pytest
from cases.archive_builder import Member, forge

from ozx.archive.directory import read_end
from ozx.errors import FormatError
from ozx.places.byte_source import MemorySource

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


@pytest.mark.parametrize("program", [b"#!/bin/sh\n", b"MZ" + bytes(200_000), b"MZ PK\3\4 of an unzipping program" * 3])
def test_a_self_extracting_file_is_read(program):
    assert read_end(MemorySource(program + OUTER)).prepended == len(program)

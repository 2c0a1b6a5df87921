"""The layouts of the records, against bytes packed by hand."""

import pytest
from cases.archive_builder import Member

from ozx.archive.records import CentralHeader, LocalHeader
from ozx.errors import FormatError

MEMBER = Member(
    b"0/c/0",
    b"pixels",
    method=8,
    flags=0x808,
    local={"version": 45, "crc32": 0x01020304, "compressed": 6, "uncompressed": 77},
    central={"made_by": 0x031E, "crc32": 0x01020304, "compressed": 6, "uncompressed": 77, "external": 0x81A40000},
    local_extra=b"\x55\x54\x01\x00\x01",
    central_extra=b"\x55\x54\x00\x00",
    comment=b"note",
)


def test_headers_that_are_cut_off_anywhere_are_refused():
    local = MEMBER.local_record()[: 30 + 5 + 5]
    for length in range(len(local)):
        with pytest.raises(FormatError) as caught:
            LocalHeader.from_bytes(local[:length])
        assert caught.value.rule == "zip/truncated"
    central = MEMBER.central_header(0)
    for length in range(len(central)):
        with pytest.raises(FormatError) as caught:
            CentralHeader.from_bytes(central[:length])
        assert caught.value.rule == "zip/directory"


def test_a_position_past_the_end_is_refused():
    with pytest.raises(FormatError, match="needs 30 bytes; found 0"):
        LocalHeader.from_bytes(b"PK", 5)
    with pytest.raises(FormatError, match="ends within a header"):
        CentralHeader.from_bytes(b"PK", 5)

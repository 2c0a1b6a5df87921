"""ZIP64 fields that fit their headers, and others."""

import struct

import numpy as np
import pytest

from ozx.archive.extra_fields import ExtraCensus

TIME = struct.pack("<HHBI", 0x5455, 5, 1, 0)
TRUE = (7, 5, 90)


def zip64(*values, rest=b""):
    return struct.pack(f"<2H{len(values)}Q", 1, 8 * len(values) + len(rest), *values) + rest


def census_of(extra, asked, *, may_be_zero=False):
    census = ExtraCensus(2)
    widened = np.array([asked]), np.array([TRUE], np.uint64), np.array([may_be_zero])
    data = b"head" + extra + bytes(64)
    census.count(data, np.array([4]), np.array([4 + len(extra)]), np.array([1]), widened)
    return census


ASKED = {
    "none": (False, False, False),
    "the original size": (True, False, False),
    "the offset": (False, False, True),
    "all": (True, True, True),
}


@pytest.mark.parametrize(
    ("asked", "extra"),
    [
        ("none", b""),
        ("none", zip64()),
        ("none", zip64(7)),
        ("none", zip64(*TRUE)),
        ("none", zip64(*TRUE, rest=b"disk")),
        ("the original size", zip64(7)),
        ("the original size", TIME + zip64(7)),
        ("the original size", zip64(7) + zip64(7)),
        ("the offset", zip64(90)),
        ("the offset", zip64(90, rest=b"disk")),
        ("all", zip64(*TRUE)),
    ],
)
def test_what_fits(asked, extra):
    census = census_of(extra, ASKED[asked])
    assert census.contradicts.tolist() == [False, False]
    assert census.has_zip64.tolist() == [False, b"\1\0" in extra[:2] or TIME in extra]


@pytest.mark.parametrize(
    ("asked", "extra"),
    [
        ("none", zip64(8)),
        ("none", zip64(7, 6)),
        ("none", zip64(7, 5, 0)),
        ("the original size", zip64(7, 6)),
        ("the original size", zip64(7) + zip64(8)),
        ("the offset", zip64(90, 7)),
        ("all", zip64(*TRUE) + TIME + zip64(7, 5, 91)),
    ],
)
def test_what_does_not_fit(asked, extra):
    assert census_of(extra, ASKED[asked]).contradicts.tolist() == [False, True]

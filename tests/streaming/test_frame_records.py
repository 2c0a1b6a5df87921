"""The records of frames: what is refused, what is written, and when."""

import pytest

from ozx.errors import UsageError
from ozx.streaming.frame_records import FrameRecords
from ozx.streaming.open_chunks import OpenChunks


@pytest.fixture
def begin(tmp_path):
    return lambda *given: FrameRecords(*given, OpenChunks(str(tmp_path / "chunks"), 1 << 20))


def add(records, index, **record):
    return list(records.add(index, records.check(record)))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([1], "a record of fields by name"),
        ({"": 1}, "a field name of letters and digits; got ''"),
        ({"a/b": 1}, "a field name"),
        ({"zarr.json": 1}, "a field name"),
        ({"1a": 1}, "a field name"),
        ({1: 1}, "a field name"),
        ({"a": [1]}, "a number or a text in the field a"),
        ({"a": 1j}, "a number or a text"),
        ({"a": 10**400}, "a number that fits into 64 bits"),
        ({"a": "x" * 1001}, "at most 1,000 bytes of text"),
        ({"a": "\ud800"}, "expected Unicode in the field a"),
        ({"time": "1"}, "a number for the field time, as in earlier records; got '1'"),
        ({"state": 1}, "a text for the field state"),
        ({"a": 1, "A": 1}, "differ by more than case; got a and A"),
        ({"Time": 1}, "differ by more than case; got time and Time"),
        ({f"f{number}": 1 for number in range(257)}, "at most 256 fields"),
    ],
)
def test_what_is_refused(begin, record, message):
    records = begin("", "t", "t", (None,))
    add(records, (0,), time=1, state="idle")
    with pytest.raises(UsageError, match=message):
        records.check(record)
    assert len(records.documents(1)) == 3

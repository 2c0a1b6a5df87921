"""The records of frames: what is refused, what is written, and when."""

import math

import numpy as np
import pytest
import zarr
from zarr.storage import MemoryStore

from ozx.errors import UsageError
from ozx.flow.entry import read_part
from ozx.images.streaming import frame_records
from ozx.images.streaming.chunk_store import ChunkStore
from ozx.images.streaming.frame_records import FrameRecords


@pytest.fixture
def begin(tmp_path):
    return lambda *given: FrameRecords(*given, ChunkStore(str(tmp_path / "chunks"), 1 << 20))


def read(records, length, values, path="frames"):
    """Return the arrays by name, as zarr-python reads them."""
    found = records.documents(length)
    found |= {entry.key: b"".join(read_part(part) for part in entry.parts) for _, entry, _ in values if entry}
    store = MemoryStore({key: zarr.core.buffer.cpu.Buffer.from_bytes(bytes(value)) for key, value in found.items()})
    group = zarr.open_group(store, path=path, mode="r")
    return {name: group[name] for name in group}


def add(records, index, **record):
    return list(records.add(index, records.check(record)))


def test_arrays_have_the_axes_of_the_image(begin):
    # c changes most slowly, then z and t: the file has t, c, z.
    records = begin("", "tcz", "czt", (2, 3, 4))
    values = []
    for index in np.ndindex(2, 3, 4):
        values += add(records, index, time=index[2] + index[1] / 10, name=f"é{index}")
    arrays = read(records, 2, values)
    assert list(records.finish()) == []
    assert sorted(arrays) == ["name", "time"]
    assert arrays["time"].metadata.dimension_names == ("t", "c", "z")
    assert arrays["time"].shape == arrays["time"].chunks == (4, 2, 3)
    for c, z, t in np.ndindex(2, 3, 4):
        assert arrays["time"][t, c, z] == t + z / 10
        assert arrays["name"][t, c, z] == f"é{(c, z, t)}"


@pytest.mark.parametrize(
    ("order", "length", "shard", "early"),
    [("tc", None, (4, 2), 2), ("tc", 10, (4, 2), 3), ("ct", 10, (2, 4), 3), ("tc", 13, (4, 2), 2)],
)
def test_many_frames_are_written_block_by_block(begin, monkeypatch, order, length, shard, early):
    monkeypatch.setattr(frame_records, "_MOST_TOGETHER", 4)
    monkeypatch.setattr(frame_records, "_BLOCKS_PER_SHARD", 2)
    records = begin("A/1/0", "tc", order, (length, 2))
    values, expected = [], np.full((10, 2), math.nan)
    for number, place in enumerate(np.ndindex(10, 2)):
        if number % 3:
            values += add(records, place, number=number)
            expected[place] = number
        else:
            values += records.add(place, None)
    last = list(records.finish())
    assert (len(values), len(last)) == (early, 3 - early)
    found = read(records, 10, [*values, *last], "A/1/0/frames")["number"]
    assert (found.shards, np.prod(found.chunks)) == (shard, 4)
    np.testing.assert_array_equal(found[...], expected if order == "tc" else expected.T)


def test_a_field_that_begins_late_finishes_its_shards(begin, monkeypatch):
    monkeypatch.setattr(frame_records, "_MOST_TOGETHER", 4)
    monkeypatch.setattr(frame_records, "_BLOCKS_PER_SHARD", 2)
    records = begin("", "t", "t", (None,))
    values = [value for number in range(12) for value in add(records, (number,), a=number)]
    for number in range(12, 16):
        values += add(records, (number,), b=0)
    assert [entry and entry.key for _, entry, _ in values] == ["frames/a/c/0", None, "frames/a/c/1", "frames/b/c/1"]
    arrays = read(records, 16, values)
    np.testing.assert_array_equal(arrays["a"][...], [*range(12), *[math.nan] * 4])
    np.testing.assert_array_equal(arrays["b"][...], [*[math.nan] * 12, 0, 0, 0, 0])


def test_frames_that_did_not_come_and_fields_that_begin_late(begin):
    records = begin("", "t", "t", (None,))
    assert records.documents(3) == {}
    for index, record in [(0, {}), (3, {"a": 1}), (1, {"b": "x", "a": None}), (5, {"a": np.float32(0.5), "c": True})]:
        add(records, (index,), **record)
    assert sorted(name for name, _ in records.drafts()) == ["frames/a/0", "frames/b/0", "frames/c/0"]
    arrays = read(records, 7, records.finish())
    nan = math.nan
    np.testing.assert_array_equal(arrays["a"][...], [nan, nan, nan, 1, nan, 0.5, nan])
    assert arrays["b"][...].tolist() == ["", "x", "", "", "", "", ""]
    assert arrays["c"][5] == 1


def test_a_single_frame(begin):
    records = begin("", "", "", ())
    values = add(records, (), time=3, state="idle")
    arrays = read(records, 1, values)
    assert (arrays["time"].shape, arrays["time"][()], arrays["state"][()]) == ((), 3, "idle")


def test_chunks_beyond_the_memory_are_in_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(frame_records, "_MOST_TOGETHER", 8)
    store = ChunkStore(str(tmp_path / "chunks"), 100)
    records = FrameRecords("", "t", "t", (None,), store)
    for number in range(400):
        assert add(records, (number,), a=number) == []
    assert store.in_memory <= 100
    assert (tmp_path / "chunks").stat().st_size > 0
    np.testing.assert_array_equal(read(records, 400, list(records.finish()))["a"][...], range(400))


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

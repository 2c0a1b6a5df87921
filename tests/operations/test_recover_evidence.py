"""Headers that contradict each other: what the bytes prove comes back, and `complete` is said of nothing else."""

import os
import struct
import zlib
from pathlib import Path

import pytest
from cases.archive_builder import ArchiveBuilder, array, group

from ozx.archive.reader import ArchiveReader

CHUNKS = {f"0/c/{n // 2}/{n % 2}": letter * 4 for n, letter in enumerate((b"A", b"B", b"C", b"D"))}
VALUES = {"zarr.json": group(), "0/zarr.json": array([4, 4], [2, 2]), **CHUNKS}
SAMPLES = Path(os.environ.get("OZX_SAMPLES", "/nonexistent")) / "zip"


def build(values=VALUES):
    return ArchiveBuilder.of(values).classic()


@pytest.mark.parametrize("deflated", [False, True])
def test_a_streamed_entry_without_its_flag_is_not_empty(attempt, deflated):
    builder = build()
    for name in VALUES:
        if deflated:
            builder.deflate(name)
        builder.stream(name)
    data = builder.set("0/c/0/1", local={"flags": 0}).build()
    result, values = attempt(data)
    assert values == VALUES
    assert (result.complete, result.lost) == (True, ())
    result, values = attempt(data[: data.index(b"PK\1\2")])  # the descriptor alone says where the value ends
    assert values == VALUES
    assert not result.complete


@pytest.mark.parametrize("fields", [("crc32", "compressed", "uncompressed"), ("crc32", "compressed")])
def test_zeroed_numbers_do_not_make_a_value_empty(attempt, fields):
    zeros = dict.fromkeys(fields, 0)
    for where in ({"local": zeros}, {"central": zeros}):
        result, values = attempt(build().set("0/c/0/1", **where).build())
        assert values == VALUES
        assert (result.complete, result.lost) == (True, ())
    data = build().set("0/c/0/1", local=zeros).build()
    result, values = attempt(data[: data.index(b"PK\1\2")])
    assert values == {name: value for name, value in VALUES.items() if name != "0/c/0/1"}
    assert [entry.name for entry in result.lost] == ["0/c/0/1"]
    result, values = attempt(build().set("0/c/0/1", local=zeros, central=zeros).build())
    assert values == {name: value for name, value in VALUES.items() if name != "0/c/0/1"}
    assert [entry.name for entry in result.lost] == ["0/c/0/1"]


def test_a_size_beyond_the_file_loses_its_value_alone(attempt):
    for size in ("compressed", "uncompressed"):
        data = build().set("0/c/0/1", local={size: 1 << 30, "crc32": 1}).build()
        result, values = attempt(data[: data.index(b"PK\1\2")])
        assert values == {name: value for name, value in VALUES.items() if name != "0/c/0/1"}
        assert [entry.name for entry in result.lost] == ["0/c/0/1"]


def test_two_names_of_a_lost_value_are_both_lost(attempt):
    # The directory's name is that of another entry, so that the value seems to be one that was replaced.
    data = build().set("0/c/0/1", central={"name": b"0/c/1/0"}).build().replace(b"BBBB", b"BB\0B")
    result, values = attempt(data)
    assert values == {name: value for name, value in VALUES.items() if name != "0/c/0/1"}
    assert not result.complete
    assert [entry.name for entry in result.lost] == ["0/c/0/1"]


def test_what_seems_to_be_replaced_by_a_damaged_header_is_not_complete(attempt):
    values = {**VALUES, "OME/x": b"free"}
    headers = build(values).build()
    places = [*directory_headers(headers), headers.rindex(b"PK\5\6")]
    second, third = headers[places[3] : places[4]], headers[places[4] : places[5]]
    # The header of 0/c/1/0 is overwritten by that of 0/c/0/1, of which the first copy leads elsewhere.
    data = headers[: places[3]] + second[:42] + b"\1\0\0\0" + second[46:] + second + headers[places[5] :]
    assert len(second) == len(third)
    result, found = attempt(data)
    assert not result.complete
    assert found.items() <= values.items()
    # Two local headers are exchanged, and the directory's name of one is that of another entry.
    builder = build(values).set("0/c/0/0", central={"name": b"0/c/1/0"})
    data = bytearray(builder.build())
    first, last = (data.index(b"PK\3\4", data.index(value) - 40) for value in (b"AAAA", b"DDDD"))
    data[first : first + 37], data[last : last + 37] = data[last : last + 37], data[first : first + 37]
    result, found = attempt(bytes(data))
    assert not result.complete
    assert found.items() <= values.items()


def test_a_second_value_of_a_key_beside_a_damaged_directory_is_not_complete(attempt):
    data = bytearray(build().build())
    first, second = (data.index(b"PK\3\4", data.index(value) - 40) for value in (b"BBBB", b"CCCC"))
    name = first + 30
    data[name : name + 7] = data[second + 30 : second + 37]  # 0/c/0/1 is called 0/c/1/0
    header = data.rindex(b"PK\1\2", 0, data.index(b"0/c/0/1", data.index(b"PK\1\2")))
    data[header : header + 12] = bytes(12)
    result, _ = attempt(bytes(data))
    assert not result.complete


def test_an_empty_value_comes_back(attempt):
    values = {**VALUES, "OME/empty": b""}
    for builder in (build(values), build(values).stream("OME/empty"), build(values).deflate("OME/empty")):
        result, found = attempt(builder.build())
        assert found == values
        assert result.complete
    data = build(values).set("OME/empty", local={"signature": b"XXXX"}).build()
    result, found = attempt(data)  # between its name and the directory there is no room for a value
    assert found == values
    result, found = attempt(build(values).set("OME/empty", local={"signature": b"XXXX"}, after=b"more").build())
    assert "OME/empty" not in found
    assert [entry.name for entry in result.lost] == ["OME/empty"]


def in_value(value=b"abcd"):
    """Return a value that begins with a value, the descriptor of that, and what looks like the next entry."""
    descriptor = b"PK\7\x08" + struct.pack("<3I", zlib.crc32(value), len(value), len(value))
    inner = build({"evil": b"E"})["evil"]
    return value + descriptor + inner.local_header(zip64=False) + b"E"


@pytest.mark.parametrize("central", [{}, {"crc32": 1}])
def test_a_value_that_looks_like_its_own_descriptor_is_whole(attempt, central):
    values = {**VALUES, "OME/x": in_value()}
    result, found = attempt(build(values).stream("OME/x").set("OME/x", central=central).build())
    assert found == values
    assert result.complete


def test_a_part_of_a_value_is_not_the_value(attempt):
    values = {**VALUES, "OME/x": in_value()}
    result, found = attempt(build(values).stream("OME/x").set("OME/x", central={"crc32": 1}, after=b"?" * 16).build())
    assert found == VALUES
    assert [entry.name for entry in result.lost] == ["OME/x"]


def test_a_header_of_the_directory_in_a_value_does_not_end_the_value(attempt):
    # The soak found it: behind the descriptor in the value, damage wrote a header that belongs into the directory.
    values = {**VALUES, "OME/x": in_value() + bytes(20)}
    data = build(values).stream("OME/x").build()
    start = data.index(b"abcdPK") + 4 + 16
    misplaced = data[data.index(b"PK\1\2") :][:53]
    data = data[:start] + misplaced + data[start + len(misplaced) :]
    result, found = attempt(data)
    assert found == VALUES
    assert [entry.name for entry in result.lost] == ["OME/x"]


def test_the_equal_value_of_the_next_entry_is_not_taken_for_a_damaged_one(attempt):
    # The soak found it: the row of the second of two equal values is gone, and the first value is damaged.
    values = {**VALUES, "0/c/0/0": b"same", "0/c/0/1": b"same"}
    data = bytearray(build(values).build())
    data[data.index(b"same")] ^= 2
    row = data.rindex(b"PK\1\2", 0, data.rindex(b"0/c/0/1"))
    end = data.index(b"PK\1\2", row + 4)
    result, found = attempt(bytes(data[:row] + data[end:]))
    assert found.get("0/c/0/1", b"same") == b"same"
    assert not result.complete


def test_a_value_with_the_descriptor_of_another_entry_is_not_confirmed(attempt):
    # The soak found it: damage put the end of the second value behind the local header of the first.
    first, second = b"0/c/0/0", b"0/c/0/1"
    data = build().stream(first.decode()).stream(second.decode()).build()
    place, other = (data.index(name) + len(name) for name in (first, second))
    data = data[:place] + data[other : other + 20] + data[place + 20 : other - 37] + bytes(37) + data[other:]
    result, found = attempt(data)
    assert not result.complete
    assert found.get(first.decode(), VALUES[first.decode()]) == VALUES[first.decode()] or result.unconfirmed


def test_exchanged_local_headers_exchange_no_values(attempt):
    first, last = (
        {"name": name.encode(), "crc32": zlib.crc32(VALUES[name]), "compressed": 4, "uncompressed": 4}
        for name in ("0/c/0/0", "0/c/1/1")
    )
    result, found = attempt(build().set("0/c/0/0", local=last).set("0/c/1/1", local=first).build())
    assert found == VALUES
    assert (result.complete, result.lost) == (True, ())


def test_an_exchanged_local_header_takes_no_value_when_the_directory_is_damaged_too(attempt):
    # The headers of streamed entries have no numbers, so that nothing but the directory ties a name to its value.
    values = {**VALUES, "OME/x": b"file"}
    builder = build(values).stream("0/c/1/1").stream("OME/x")
    builder.set("0/c/1/1", local={"name": b"OME/x"}, central={"name": b"\x1f/c/1/1"})
    result, found = attempt(builder.set("OME/x", local={"name": b"0/c/1/1"}).build())
    assert not result.complete
    assert found["OME/x"] == b"file"
    assert found.get("0/c/1/1", b"DDDD") == b"DDDD"


def test_a_key_that_one_header_says_is_confirmed_by_a_full_grid_alone(attempt):
    sparse = {name: value for name, value in VALUES.items() if name != "0/c/1/0"}
    builder = build(sparse).set("0/c/1/1", local={"name": b"0/c/1/9", "crc32": 1})
    result, found = attempt(builder.set("0/c/1/1", central={"name": b"0/c/1/0"}).build())
    assert not result.complete
    assert "0/c/1/0" not in found or result.unconfirmed


def directory_headers(data):
    places, at = [], data.index(b"PK\1\2")
    while data.startswith(b"PK\1\2", at):
        places.append(at)
        at += 46 + sum(struct.unpack_from("<3H", data, at + 28))
    return places


@pytest.mark.parametrize("values", [VALUES, {name: VALUES[name] for name in VALUES if name != "0/c/1/0"}])
def test_a_header_of_the_directory_that_was_overwritten_by_another_hides_no_value(attempt, values):
    data = build(values).build()
    places = directory_headers(data)
    length = 46 + len("0/c/0/0")
    header = data[places[2] : places[2] + length]
    result, found = attempt(data[: places[3]] + header + data[places[3] + length :])
    assert found == values
    assert result.complete == (len(values) == len(VALUES)), "a full grid leaves no other key"


def test_a_cut_directory_and_a_damaged_name_are_not_all(attempt):
    data = build().set("0/c/1/0", local={"name": b"0/c/1/7"}).build()
    for place in directory_headers(data)[1:5]:
        result, found = attempt(data[: place + 20])
        assert not result.complete
        assert all(VALUES[name] == value for name, value in found.items())


def test_an_archive_behind_the_comment_of_a_header_is_another_one(attempt):
    first, second = build().build(), build({**VALUES, "0/c/0/0": b"EVIL"}).build()
    last = directory_headers(first)[-1]
    data = bytearray(first[: last + 46 + len("0/c/1/1")]) + second
    struct.pack_into("<H", data, last + 32, len(second) - 22 - 75)
    result, found = attempt(bytes(data))
    assert not result.complete
    assert "several listed values" in result.notes[0]
    assert found["0/c/0/0"] == b"EVIL", "what the end records lead to"


def test_no_node_is_made_that_a_whole_directory_does_not_list(attempt):
    values = {**VALUES, "labels/a/zarr.json": array([2], [2]), "labels/a/c/0": b"ab"}
    result, found = attempt(build(values).build())
    assert found == values
    assert result.made == ()
    data = build(values).build()
    result, found = attempt(data[: data.index(b"PK\1\2")])
    assert result.made == ("labels/zarr.json",), "two keys below it say that it was there"


def test_one_damaged_name_makes_no_node(attempt):
    values = {**VALUES, "labels/zarr.json": group(None)}
    data = build(values).set("labels/zarr.json", local={"name": b"lab/ls/zarr.json"}).build()
    result, found = attempt(data[: data.index(b"PK\1\2")])
    assert result.made == ()
    assert found == VALUES
    assert [entry.name for entry in result.lost] == ["lab/ls/zarr.json"]


SAMPLE = {
    "r1_own": True,
    "r1_own_deflate": True,
    "r1_zeroed": True,
    "dd_in_value": True,
    "r2_image_swap": True,
    "r3_overwritten": True,
    "r4_pack_name": False,
    "c5_12": False,
    "c2_long": False,
    "appended": False,
    "u1_empty_nosig": True,
}


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="OZX_SAMPLES is not set")
@pytest.mark.parametrize("name", SAMPLE)
def test_samples(attempt, name):
    result, found = attempt((SAMPLES / f"{name}.ozx").read_bytes())
    assert result.complete == SAMPLE[name]
    assert result.lost == () or name == "r4_pack_name"
    if name.startswith("r1"):
        assert {key: found[key] for key in CHUNKS} == CHUNKS
    if name == "dd_in_value":
        assert len(found["OME/x"]) == 55
    if name.startswith(("r2", "r3")):
        reader = ArchiveReader(os.fspath(SAMPLES / f"{name}.ozx"))
        columns = reader.columns
        numbers = zip(columns.names(), columns.crc32s.tolist(), strict=True)
        assert all(zlib.crc32(found[key]) == checksum for key, checksum in numbers)
        assert len(found) == 71

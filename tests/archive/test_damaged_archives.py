"""Archives cut off, flipped and forged: right bytes or a refusal, in bounded memory, and no other exception."""

import itertools
import os
import random
import zlib

import pytest
from cases.archive_builder import DESCRIPTOR, SENTINEL, Member, deflate, end_record, forge, zip64_extra
from hypothesis import given, settings
from hypothesis import strategies as st
from memory import traced_memory

from ozx.archive.reader import ArchiveReader
from ozx.archive.writer import CentralDirectory, local_header
from ozx.errors import OzxError
from ozx.places.byte_source import MemorySource


def ours(values):
    """As `ArchiveWriter` would write it."""
    body, directory = bytearray(), CentralDirectory()
    for name, value in values.items():
        directory.add(name, 0, zlib.crc32(value), len(value), len(body))
        body += local_header(name, 0, zlib.crc32(value), len(value)) + value
    return bytes(body + directory.finish(len(body), b'{"ome":{}}'))


STORED = [Member(b"zarr.json", b"{}"), Member(b"0/c/0", b"pixels")]
DEFLATED = [
    Member(b"zarr.json", deflate(b"{}" * 9), b"{}" * 9, method=8),
    Member(
        b"0/c/0",
        deflate(b"pixels" * 3),
        b"pixels" * 3,
        method=8,
        flags=DESCRIPTOR,
        local={"crc32": 0, "compressed": 0, "uncompressed": 0},
        after=b"PK\7\x08" + bytes(12),
    ),
]
WIDE = {"compressed": SENTINEL, "uncompressed": SENTINEL}
ZIP64 = [Member(b"a", b"v", central=WIDE | {"offset": SENTINEL}, local=WIDE), Member(b"b", b"w", local=WIDE)]
ZIP64[0].local_extra = ZIP64[1].local_extra = zip64_extra(1, 1)
ZIP64[0].central_extra = zip64_extra(1, 1, 0)

ARCHIVES = {
    "ours": ours({b"zarr.json": b"{}", b"0/c/0": b"pixels"}),
    "stored": forge(STORED, comment=b"note"),
    "deflated": forge(DEFLATED),
    "zip64": forge(ZIP64, zip64={}, end={"entries": 0xFFFF, "here": 0xFFFF, "size": SENTINEL, "offset": SENTINEL}),
    "prepended": forge(STORED, prefix=b"#!/bin/sh\n"),
    "empty": forge([], zip64={}),
}


def contents(data):
    reader = ArchiveReader(MemorySource(data))
    reader.check()
    names = reader.columns.names()
    parts = [reader.read(index, 1, 3) for index in range(len(names))]
    values = {name: reader.read(index) for index, name in enumerate(names)}
    assert parts == [value[1:4] for value in values.values()]
    assert [reader.find(name) for name in names] == list(range(len(names)))
    return values


def refused_or(expected, data):
    """Whether `data` is refused; else it holds what is expected."""
    try:
        found = contents(data)
    except OzxError as error:
        refusal = error
    else:
        assert found == expected
        return False
    assert refusal.path == "<memory>"
    assert refusal.rule is not None
    return True


@pytest.mark.parametrize("name", ARCHIVES)
def test_cut_off_anywhere(name):
    data = ARCHIVES[name]
    assert all(refused_or({}, data[:length]) for length in range(len(data)))


@pytest.mark.parametrize("name", ARCHIVES)
def test_cut_off_at_its_beginning(name):
    # What is left may be whole: then offsets are taken as those of an archive with bytes prepended or taken away.
    data = ARCHIVES[name]
    expected = contents(data)
    for start in range(1, len(data)):
        refused_or(expected if name == "prepended" else {}, data[start:])


# Every value; fewer where fewer damages are asked for.
STEP = max(1, 1000 // int(os.environ.get("OZX_DAMAGES", "1000")))


@pytest.mark.ci
@pytest.mark.parametrize("name", ARCHIVES)
def test_each_byte_with_every_value(name):
    data, passed = ARCHIVES[name], set()
    expected = contents(data)
    for position, value in itertools.product(range(len(data)), range(0, 256, STEP)):
        damaged = data[:position] + bytes([value]) + data[position + 1 :]
        if damaged != data and not refused_or(expected, damaged):
            passed.add(position)
    # Fields that no reader goes by may have any value; the others are refused.
    assert len(passed) < len(data) / 2


@pytest.mark.parametrize("name", ARCHIVES)
def test_bytes_taken_away_doubled_and_put_in(name):
    data = ARCHIVES[name]
    expected = contents(data)
    rng = random.Random(name)
    for position in range(len(data)):
        length = rng.choice([1, 2, 4, 22, 46])
        refused_or(expected, data[:position] + data[position + length :])
        refused_or(expected, data[:position] + data[position : position + length] + data[position:])
        refused_or(expected, data[:position] + rng.randbytes(length) + data[position:])


@given(st.sampled_from(sorted(ARCHIVES)), st.data())
@settings(max_examples=150)
def test_several_fields_replaced_at_once(name, data):
    archive = bytearray(ARCHIVES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        width = data.draw(st.sampled_from([1, 2, 4, 8]))
        position = data.draw(st.integers(0, len(archive) - width))
        extreme = st.sampled_from(
            [0, 1, 22, 0x7F, 0x7FFF, 0x7FFFFFFF, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0x06054B50]
        )
        value = data.draw(extreme) % (1 << 8 * width)
        archive[position : position + width] = value.to_bytes(width, "little")
    try:
        found = contents(bytes(archive))
    except OzxError:
        return
    # Several changes may agree with each other; what has a name and a CRC-32 of before has its bytes of before.
    expected = contents(ARCHIVES[name])
    assert all(
        expected.get(key, value) == value or zlib.crc32(value) != zlib.crc32(expected[key])
        for key, value in found.items()
    )


@given(st.binary(max_size=200))
def test_noise_before_an_end_record(noise):
    refused_or({}, noise)
    for entries in {1, max(1, len(noise) // 46)}:
        refused_or({}, noise + end_record(entries, len(noise), 0))


HUGE = [1 << 31, (1 << 32) - 2, 1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


@pytest.mark.parametrize("huge", HUGE)
@pytest.mark.parametrize(
    "field", ["uncompressed", "compressed", "both", "offset", "size", "directory", "entries", "locator"]
)
def test_forged_numbers_are_refused_in_little_memory(field, huge):
    members = [Member(b"a", b"value"), Member(b"b", deflate(bytes(50_000)), bytes(50_000), method=8)]
    options = {"zip64": {}}
    sentinels = {"entries": 0xFFFF, "here": 0xFFFF, "size": SENTINEL, "offset": SENTINEL}
    if field in ("uncompressed", "compressed", "both"):
        true = (50_000, len(members[1].data))
        values = (true[0] if field == "compressed" else huge, true[1] if field == "uncompressed" else huge)
        members[1].central, members[1].local = dict(WIDE), dict(WIDE)
        members[1].central_extra = members[1].local_extra = zip64_extra(*values)
    elif field == "offset":
        members[1].central, members[1].central_extra = {"offset": SENTINEL}, zip64_extra(huge)
    elif field == "locator":
        options |= {"locator": {"offset": huge}}
    else:
        changed = {"size": "size", "directory": "offset", "entries": "entries"}[field]
        options |= {"zip64": {changed: huge} | ({"here": huge} if field == "entries" else {}), "end": sentinels}
    data = forge(members, **options)
    with traced_memory() as memory:
        reader = ArchiveReader(MemorySource(data))
        if field == "locator":  # the record stands right before it all the same
            reader.check(allow_bombs=True)
        else:
            with pytest.raises(OzxError):
                reader.check()
            with pytest.raises(OzxError):
                for _ in reader.iter_blocks(1):
                    pass
    assert memory.peak < 4 << 20


def test_a_small_file_cannot_declare_many_entries_by_overlapping_headers():
    # One header of 46 bytes for each entry at least, so that memory is bounded by the file.
    for entries in (2, 0xFFFF):
        data = forge([Member(b"a", b"v")], end={"entries": entries, "here": entries})
        assert refused_or({}, data)

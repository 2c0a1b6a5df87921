"""Data descriptors of every form, right and wrong."""

import struct
import zlib

import pytest
from cases.archive_builder import DESCRIPTOR, ArchiveBuilder

from ozx.archive.audit.facts import audit
from ozx.archive.byte_source import MemorySource
from ozx.archive.reader import ArchiveReader

SIGNATURE = b"PK\x07\x08"


def layout_of(builder):
    return audit(ArchiveReader(MemorySource(builder.build()))).layout


def with_descriptor(after, **local):
    return ArchiveBuilder.valid().stream("0/zarr.json").set("0/zarr.json", after=after, local=local)


def descriptor(*, wide, signature=True, **changes):
    entry = ArchiveBuilder.valid().stream("0/zarr.json")["0/zarr.json"]
    checksum, size = struct.unpack_from("<IQ", entry.after, 4)
    numbers = {"crc32": checksum, "stored": size, "original": size} | changes
    return SIGNATURE * signature + struct.pack("<IQQ" if wide else "<III", *numbers.values())


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("signature", [True, False])
@pytest.mark.parametrize("gap", [b"", b"left over", bytes(40)])
def test_every_form_is_known_by_what_it_says(wide, signature, gap):
    layout = layout_of(with_descriptor(descriptor(wide=wide, signature=signature) + gap))
    assert layout.bad_descriptors.tolist() == []
    assert layout.gap_lengths.tolist() == [len(gap)] * bool(gap)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("signature", [True, False])
@pytest.mark.parametrize("change", [{"crc32": 1}, {"stored": 1}, {"original": 1}])
def test_one_number_is_wrong(wide, signature, change):
    layout = layout_of(with_descriptor(descriptor(wide=wide, signature=signature, **change)))
    assert layout.bad_descriptors.tolist() == [1]
    assert layout.gap_lengths.tolist() == []


@pytest.mark.parametrize("after", [b"", b"PK\x07\x08", bytes(11)])
def test_there_is_none(after):
    assert layout_of(with_descriptor(after)).bad_descriptors.tolist() == [1]


def test_none_is_announced_by_the_local_header():
    builder = ArchiveBuilder.valid().set("0/c/0", central={"flags": DESCRIPTOR})
    assert layout_of(builder).bad_descriptors.tolist() == []


def test_a_checksum_may_look_like_a_signature():
    value = b"\xac\nz\xd5"
    assert zlib.crc32(value) == int.from_bytes(SIGNATURE, "little")
    builder = ArchiveBuilder.valid(**{"0/c/0": value}).stream("0/c/0", signature=False)
    assert layout_of(builder).bad_descriptors.tolist() == []


def test_the_last_of_many():
    builder = ArchiveBuilder()
    for number in range(300):
        builder.add(f"0/c/{number}", bytes(number)).stream(f"0/c/{number}", signature=number % 2 == 0)
    builder.set("0/c/299", after=bytes(24))
    assert layout_of(builder).bad_descriptors.tolist() == [299]

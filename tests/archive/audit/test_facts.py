"""Facts about archives: each is seen where it is, and nowhere else."""

import zlib

import numpy as np
from cases.archive_builder import DESCRIPTOR, ArchiveBuilder

from ozx.archive.audit.facts import ArchiveFacts
from ozx.archive.entry_reading import header_contradiction, read_local_header
from ozx.archive.reader import ArchiveReader
from ozx.places.byte_source import MemorySource


def facts_of(archive):
    data = archive.build() if isinstance(archive, ArchiveBuilder) else archive
    return ArchiveFacts(ArchiveReader(MemorySource(data)))


def valid():
    return ArchiveBuilder.valid()


def test_a_sentinel_without_its_field_is_a_contradiction():
    builder = valid().classic().set("0/c/0", local={"compressed": 0xFFFFFFFF})
    assert [entry for entry, *_ in facts_of(builder).local.faults] == [2]


def test_block_wise_and_one_by_one_say_the_same():
    generator = np.random.default_rng(9)
    builder = ArchiveBuilder()
    for number in range(300):
        builder.add(f"{'é' if number % 7 == 0 else 'e'}/{number}", bytes(int(generator.integers(0, 50))))
        entry = builder.entries[-1]
        choice = int(generator.integers(0, 12))
        if choice == 0:
            entry.local = {"crc32": int(generator.integers(0, 5))}
        elif choice == 1:
            entry.local = {"flags": int(generator.integers(0, 0xFFFF))}
        elif choice == 2:
            entry.flags |= DESCRIPTOR
            entry.local = {"uncompressed": int(generator.integers(0, 2))}
    data = builder.build()
    facts = facts_of(data)
    reader = ArchiveReader(MemorySource(data))
    expected = [
        (index, found)
        for index in range(300)
        if (
            found := header_contradiction(
                header := reader.columns.header(index), read_local_header(reader.source, header)
            )
        )
        is not None
    ]
    assert [(entry, message.rpartition(" (")[0]) for entry, message, _ in facts.local.faults] == expected


def test_a_header_whose_name_would_reach_beyond_the_file():
    data = bytearray(valid().build())
    start = data.index(b"0/c/0") - 30
    data[start + 26 : start + 28] = b"\xff\xff"
    ((entry, message, rule),) = facts_of(bytes(data)).local.faults
    assert (entry, rule) == (2, "zip/truncated")
    assert message.startswith(f"local file header at {start:,}: a local file header needs bytes")


def test_a_checksum_may_look_like_the_signature_of_a_descriptor():
    value = b"\xac\nz\xd5"
    assert zlib.crc32(value) == int.from_bytes(b"PK\7\x08", "little")
    builder = ArchiveBuilder.valid(**{"0/c/0": value}).stream("0/c/0", signature=False)
    assert facts_of(builder).layout.bad_descriptors.tolist() == []

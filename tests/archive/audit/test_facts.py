"""Facts about archives: each is seen where it is, and nowhere else."""

import zlib

import numpy as np
from cases.archive_builder import DESCRIPTOR, ArchiveBuilder

from ozx.archive import coalesced_reads as scattered_reading
from ozx.archive.audit.facts import ArchiveFacts
from ozx.archive.byte_source import MemorySource
from ozx.archive.entry_reading import header_contradiction, read_local_header
from ozx.archive.reader import ArchiveReader


def facts_of(archive):
    data = archive.build() if isinstance(archive, ArchiveBuilder) else archive
    return ArchiveFacts(ArchiveReader(MemorySource(data)))


def valid():
    return ArchiveBuilder.valid()


def test_a_sentinel_without_its_field_is_a_contradiction():
    builder = valid().classic().set("0/c/0", local={"compressed": 0xFFFFFFFF})
    assert [entry for entry, *_ in facts_of(builder).local.faults] == [2]


def test_gaps_prefixes_and_orders():
    builder = valid()
    builder["0/c/0"].before = b"left over"
    facts = facts_of(builder.with_(tail_gap=b"signature"))
    assert facts.layout.gap_lengths.tolist() == [9, 9]
    assert facts.layout.begins_as_entry
    facts = facts_of(valid().with_(prefix=b"#!/bin/sh\n"))
    assert facts.end.prepended == facts.layout.leading == 10
    assert not facts.layout.begins_as_entry
    builder = valid().with_(file_order=["0/c/0", "0/zarr.json", "zarr.json"])
    facts = facts_of(builder)
    assert facts.layout.order.tolist() == [2, 1, 0]


def test_embedded_archives_are_known_by_both_their_ends():
    inner = valid().build()
    facts = facts_of(valid().add("a", inner).add("b", inner[:-100]).add("c", b"x" + inner).add("d", b"PK\x03\x04"))
    assert facts.embedded.tolist() == [3]


def test_bombs():
    builder = valid().deflate("0/c/0")
    size = 64 << 20
    builder.set("0/c/0", local={"uncompressed": size}, central={"uncompressed": size})
    assert not len(facts_of(builder).bombs)
    builder.set("0/c/0", local={"uncompressed": size + 1}, central={"uncompressed": size + 1})
    assert facts_of(builder).bombs.tolist() == [2]


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


def test_batches_of_any_size_say_the_same(monkeypatch):
    builder = ArchiveBuilder()
    for number in range(200):
        builder.add(f"0/c/{number}", bytes(number))
    builder.set("0/c/77", local={"crc32": 1}, before=bytes(40_000))
    data = builder.build()
    expected = facts_of(data).local
    for gap, read, batch in ((0, 1, 1), (1, 300, 2000), (1 << 14, 1 << 20, 1 << 10)):
        for name, value in (("_GAP", gap), ("_READ", read), ("_BATCH", batch)):
            monkeypatch.setattr(scattered_reading, name, value)
        found = facts_of(data).local
        assert found.lengths.tolist() == expected.lengths.tolist()
        assert found.faults == expected.faults
        assert [entry for entry, *_ in found.faults] == [77]
        assert found.extras.counts == expected.extras.counts == {1: 200}


def test_a_checksum_may_look_like_the_signature_of_a_descriptor():
    value = b"\xac\nz\xd5"
    assert zlib.crc32(value) == int.from_bytes(b"PK\7\x08", "little")
    builder = ArchiveBuilder.valid(**{"0/c/0": value}).stream("0/c/0", signature=False)
    assert facts_of(builder).layout.bad_descriptors.tolist() == []

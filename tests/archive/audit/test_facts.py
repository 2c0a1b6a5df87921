"""Facts about archives: each is seen where it is, and nowhere else."""

import io
import struct
import zipfile

import numpy as np
import pytest
from cases.archive_builder import DESCRIPTOR, PADDING_FIELD, TIME_FIELD, ArchiveBuilder

from ozx.archive import coalesced_reads as scattered_reading
from ozx.archive.audit.facts import audit
from ozx.archive.byte_source import MemorySource
from ozx.archive.entry_reading import header_contradiction, read_local_header
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError


def facts_of(archive):
    data = archive.build() if isinstance(archive, ArchiveBuilder) else archive
    return audit(ArchiveReader(MemorySource(data)))


def valid():
    return ArchiveBuilder.valid()


def test_a_valid_archive_has_no_remarkable_facts():
    facts = facts_of(valid())
    assert facts.zip64.end_record
    assert (facts.zip64.local_extras, facts.zip64.central_extras) == (3, 0)
    assert facts.local.faults == []
    assert facts.local.extras.counts == {1: 3}
    assert facts.local.lengths.tolist() == [50 + len(name) for name in ("zarr.json", "0/zarr.json", "0/c/0")]
    assert facts.layout.order.tolist() == [0, 1, 2]
    assert facts.layout.overlaps == ()
    assert facts.layout.leading == 0
    for found in (
        facts.layout.gap_lengths,
        facts.layout.into_directory,
        facts.out_of_bounds,
        facts.names.faulty,
        facts.names.unmarked,
        facts.names.directories,
        facts.names.archives,
        facts.names.duplicates,
        facts.kinds.symlinks,
        facts.kinds.special,
        facts.kinds.directories,
        facts.encrypted,
        facts.unreadable_methods,
        facts.compressed,
        facts.uneven,
        facts.bombs,
        facts.on_other_disk,
        facts.commented,
        facts.embedded,
    ):
        assert len(found) == 0
    assert not facts.is_bomb


def test_an_empty_archive():
    facts = facts_of(ArchiveBuilder())
    assert len(facts.columns) == 0
    assert facts.layout.leading == 0
    assert len(facts.layout.gap_lengths) == 0


def test_zip64_use_is_told_apart():
    facts = facts_of(valid().classic())
    assert not facts.zip64
    assert facts_of(valid().with_(zip64_end=False)).zip64.local_extras == 3
    assert facts_of(valid().with_(zip64_local=False)).zip64
    wide = struct.pack("<2H2Q", 1, 16, 4, 4)
    central = {"compressed": 0xFFFFFFFF, "uncompressed": 0xFFFFFFFF, "extra": wide}
    facts = facts_of(valid().classic().set("0/c/0", central=central))
    assert facts.zip64.central_extras == 1
    assert facts.local.faults == []


def test_a_foreign_archive_is_taken_as_it_is():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zarr.json", b"{}" * 100)
        archive.writestr("é", b"")
        archive.mkdir("folder")
    facts = facts_of(file.getvalue())
    assert not facts.zip64
    assert facts.compressed.tolist() == [0, 1]
    assert facts.kinds.directories.tolist() == facts.names.directories.tolist() == [2]
    assert facts.local.faults == []
    assert facts.inflated_total == 200


@pytest.mark.parametrize("signature", [True, False])
@pytest.mark.parametrize("classic", [True, False])
def test_data_descriptors_are_neither_contradictions_nor_gaps(signature, classic):
    builder = valid()
    if classic:
        builder.classic()
    builder.stream("0/zarr.json", signature=signature).stream("0/c/0", signature=signature)
    facts = facts_of(builder)
    assert facts.local.faults == []
    assert facts.layout.gap_lengths.tolist() == []
    builder["0/c/0"].before = b"x" * 40
    facts = facts_of(builder)
    assert facts.layout.gap_lengths.tolist() == [40]


@pytest.mark.parametrize(
    "local",
    [
        {"name": b"1/c/0"},
        {"name": b"0/c/00"},
        {"method": 8},
        {"crc32": 1},
        {"compressed": 3},
        {"uncompressed": 5},
        {"compressed": 0},
        {"flags": 1},
        {"signature": b"PK\x05\x06"},
    ],
)
@pytest.mark.parametrize("zip64", [True, False])
def test_contradictions_are_those_that_the_reader_refuses(local, zip64):
    builder = valid().with_(zip64_local=zip64).set("0/c/0", local=local)
    facts = facts_of(builder)
    assert [fault.entry for fault in facts.local.faults] == [2]
    assert facts.local.faults[0].rule == "zip/local-header"
    reader = ArchiveReader(MemorySource(builder.build()))
    with pytest.raises(FormatError, match="local file header at") as caught:
        reader.data_offset(2)
    assert facts.local.faults[0].message.split(" (")[0].removeprefix("local file header at") in str(caught.value)


def test_a_sentinel_without_its_field_is_a_contradiction():
    builder = valid().classic().set("0/c/0", local={"compressed": 0xFFFFFFFF})
    assert [fault.entry for fault in facts_of(builder).local.faults] == [2]


def test_unusual_but_right_headers_are_no_contradiction():
    # The ZIP64 field behind another one, one sentinel alone, an extra field beyond what is guessed.
    builder = valid().with_(zip64_local=False)
    builder.set("zarr.json", local={"extra": struct.pack("<2H", 0xCAFE, 4000) + bytes(4000)})
    wide = struct.pack("<2HQ", 1, 8, 4)
    builder.set("0/c/0", local={"compressed": 0xFFFFFFFF, "extra": TIME_FIELD + wide})
    facts = facts_of(builder)
    assert facts.local.faults == []
    assert facts.local.extras.counts == {0xCAFE: 1, 0x5455: 1, 1: 1}
    assert facts.local.lengths.tolist() == [30 + 9 + 4004, 30 + 11, 30 + 5 + len(TIME_FIELD) + 12]
    assert facts.layout.gap_lengths.tolist() == []


def test_extra_fields_are_counted_on_both_sides():
    builder = valid().set("0/c/0", local={"extra": PADDING_FIELD}, central={"extra": TIME_FIELD + TIME_FIELD})
    facts = facts_of(builder)
    assert facts.local.extras.counts == {1: 3, 0xD935: 1}
    assert facts.local.extras.first == {1: 0, 0xD935: 2}
    assert facts.central_extras.counts == {0x5455: 2}


def test_a_tail_that_is_no_extra_field_is_passed_over():
    facts = facts_of(valid().set("0/c/0", central={"extra": b"\x01\x00\xff\xff\x00"}))
    assert facts.central_extras.counts == {}


def test_overlaps_are_exact():
    builder = valid()
    inner = builder["0/c/0"].local_header(zip64=True)
    # An entry whose value is another entry, in the form of a bomb.
    builder.add("twin", inner + b"abcd")
    offset = builder.build().index(inner, builder.build().index(b"twin"))
    builder.set("0/c/0", central={"offset": offset})
    facts = facts_of(builder)
    assert facts.layout.overlaps == ((3, 2),)
    # Without its extra field the first header would not reach the second entry.
    builder = valid().set("0/zarr.json", local={"extra": PADDING_FIELD})
    assert facts_of(builder).layout.overlaps == ()


def test_two_entries_at_one_place():
    facts = facts_of(valid().set("0/c/0", central={"offset": 0}))
    assert facts.layout.overlaps
    assert [fault.entry for fault in facts.local.faults] == [2]


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


def test_entries_outside_the_file_are_named_and_not_read():
    facts = facts_of(valid().set("0/c/0", central={"compressed": 1 << 20, "uncompressed": 1 << 20}))
    assert facts.out_of_bounds.tolist() == [2]
    facts = facts_of(valid().set("0/c/0", central={"offset": 1 << 30}))
    assert facts.out_of_bounds.tolist() == [2]
    assert facts.local.lengths[2] == -1


def test_an_entry_that_runs_into_the_directory():
    sizes = {"compressed": 20, "uncompressed": 20}
    facts = facts_of(valid().set("0/c/0", local=sizes, central=sizes))
    assert facts.layout.into_directory.tolist() == [2]


def test_kinds_of_files():
    builder = valid().add("link", b"0").add("pipe").add("folder").add("dos").add("mac", b"0")
    builder.set("link", central={"external": 0o120777 << 16})
    builder.set("pipe", central={"external": 0o010644 << 16})
    builder.set("folder", central={"external": 0o040755 << 16})
    builder.set("dos", central={"external": 0x18, "made_by": 20})
    builder.set("mac", central={"external": 0o120777 << 16, "made_by": 19 << 8})
    kinds = facts_of(builder).kinds
    assert kinds.symlinks.tolist() == [3, 7]
    assert kinds.special.tolist() == [4]
    assert kinds.directories.tolist() == []
    assert kinds.folder_values.tolist() == [5, 6]
    assert kinds.volume_labels.tolist() == [6]


@pytest.mark.parametrize("system", [0, 2, 3, 5, 16, 19, 30])
def test_links_of_any_system(system):
    builder = valid().add("link", b"0").set("link", central={"external": 0o120777 << 16, "made_by": system << 8 | 20})
    assert facts_of(builder).kinds.symlinks.tolist() == [3]


def test_names():
    builder = (
        valid().add("a/../b").add("é").add("ü".encode(), flags=0).add("x/").add("in.ZIP").add("in.ozx/").add("a b")
    )
    names = facts_of(builder).names
    assert names.faulty.tolist() == [3]
    assert names.unmarked.tolist() == [5]
    assert names.directories.tolist() == [6, 8]
    assert names.archives.tolist() == [7]


def test_duplicates_go_by_text():
    facts = facts_of(valid().duplicate("0/c/0"))
    assert facts.names.duplicates == [[2, 3]]
    # The same name in code page 437 and in UTF-8.
    facts = facts_of(valid().add("é").add(b"\x82", flags=0))
    assert facts.names.duplicates == [[3, 4]]
    facts = facts_of(valid().add("é").add("É"))
    assert facts.names.duplicates == []


def test_embedded_archives_are_known_by_both_their_ends():
    inner = valid().build()
    facts = facts_of(valid().add("a", inner).add("b", inner[:-100]).add("c", b"x" + inner).add("d", b"PK\x03\x04"))
    assert facts.embedded.tolist() == [3]


def test_bombs():
    builder = valid().deflate("0/c/0")
    size = 64 << 20
    builder.set("0/c/0", local={"uncompressed": size}, central={"uncompressed": size})
    assert not facts_of(builder).is_bomb
    builder.set("0/c/0", local={"uncompressed": size + 1}, central={"uncompressed": size + 1})
    assert facts_of(builder).bombs.tolist() == [2]


def test_many_entries_are_read_in_few_reads():
    class Counting(MemorySource):
        reads = 0

        def read_at(self, offset, length):
            self.reads += 1
            return super().read_at(offset, length)

    builder = ArchiveBuilder()
    for number in range(20_000):
        builder.add(f"0/c/{number}", b"%d" % number)
    builder.set("0/c/19999", local={"crc32": 0})
    source = Counting(builder.build())
    facts = audit(ArchiveReader(source))
    assert [fault.entry for fault in facts.local.faults] == [19_999]
    assert source.reads < 30


def test_far_entries_are_not_read_with_what_lies_between():
    class Measuring(MemorySource):
        bytes_read = 0

        def read_at(self, offset, length):
            data = super().read_at(offset, length)
            self.bytes_read += len(data)
            return data

    builder = ArchiveBuilder()
    for number in range(20):
        builder.add(f"0/c/{number}", bytes(1 << 20))
    source = Measuring(builder.build())
    facts = audit(ArchiveReader(source))
    assert facts.local.faults == []
    assert source.bytes_read < 200_000


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
    assert [(fault.entry, fault.message.rpartition(" (")[0]) for fault in facts.local.faults] == expected


def test_a_header_whose_name_would_reach_beyond_the_file():
    data = bytearray(valid().build())
    start = data.index(b"0/c/0") - 30
    data[start + 26 : start + 28] = b"\xff\xff"
    (fault,) = facts_of(bytes(data)).local.faults
    assert (fault.entry, fault.rule) == (2, "zip/truncated")
    assert fault.message.startswith(f"local file header at {start:,}: a local file header needs bytes")


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
        assert [fault.entry for fault in found.faults] == [77]
        assert found.extras.counts == expected.extras.counts == {1: 200}

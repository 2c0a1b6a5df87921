"""Archives of writers without ZIP64, such as the Finder of macOS: counts modulo 65,536, offsets and sizes modulo 2**32.

The archives above 4 GiB consist of a few records and of runs of zeros that are neither in memory nor on a disk.
"""

import random
from bisect import bisect_right
from itertools import accumulate

import pytest
from cases.archive_builder import DESCRIPTOR, ArchiveBuilder, Member, end_record, zip64_extra

from ozx.archive.columns import iter_resolved_headers
from ozx.archive.directory import read_end
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError
from ozx.places.byte_source import MemorySource

GIB = 1 << 30
MODULUS = 4 * GIB


class SparseSource:
    """A source of the pieces of `ArchiveBuilder`: bytes, and lengths of runs of zeros."""

    name = "sparse.zip"

    def __init__(self, pieces):
        self.pieces = pieces
        self.starts = [0, *accumulate(piece if isinstance(piece, int) else len(piece) for piece in pieces)]
        self.reads = 0

    def size(self):
        return self.starts[-1]

    def read_at(self, offset, length):
        self.reads += 1
        result, stop = b"", min(offset + length, self.size())
        while offset < stop:
            number = bisect_right(self.starts, offset) - 1
            piece, last = self.pieces[number], min(stop, self.starts[number + 1])
            first = offset - self.starts[number]
            result += bytes(last - offset) if isinstance(piece, int) else piece[first : first + last - offset]
            offset = last
        return result

    def check_unchanged(self):
        pass


def opened(builder):
    return ArchiveReader(SparseSource(builder.pieces()))


def built(*holes):
    """Return an archive without ZIP64 whose values are runs of zeros of these lengths, and some bytes."""
    builder = ArchiveBuilder()
    for number, hole in enumerate(holes):
        builder.add(f"0/c/{number}", b"%d" % number, hole=hole)
    return builder.classic()


def many(count):
    """Return an archive of empty entries, whose records differ only in name and offset."""
    empty = Member(b"00000", flags=DESCRIPTOR)
    local, central = empty.local_record()[:-5], empty.central_header(0)[:-9]
    names = [b"%05d" % number for number in range(count)]
    offsets = range(0, count * (len(local) + 5), len(local) + 5)
    body = b"".join(local + name for name in names)
    directory = b"".join(
        central + offset.to_bytes(4, "little") + name for name, offset in zip(names, offsets, strict=True)
    )
    return body + directory, len(body), len(directory)


def sizes(reader):
    return reader.columns.compressed_sizes.tolist()


def check_reads(builder):
    """Check that every way to read the directory gives the true offsets and sizes, and finds the local headers."""
    reader, pieces = opened(builder), builder.pieces()
    reader.check()
    expected = [len(entry.data) + entry.hole for entry in builder.entries]
    assert sizes(reader) == reader.columns.uncompressed_sizes.tolist() == expected
    assert len(reader) == len(expected)
    headers = list(iter_resolved_headers(SparseSource(pieces), read_end(SparseSource(pieces))))
    assert [header.header_offset for header in headers] == reader.columns.header_offsets.tolist()
    assert [header.compressed_size for header in headers] == expected
    for index, entry in enumerate(builder.entries):
        assert reader.read(index, 0, len(entry.data)) == entry.data
    return reader


@pytest.fixture(scope="module")
def wrapped_count():
    records, offset, size = many((1 << 16) + 3)
    return records + end_record(3, size, offset)


def test_a_count_modulo_65536(wrapped_count):
    source = MemorySource(wrapped_count)
    reader, end = ArchiveReader(source), read_end(source)
    reader.check()
    assert (end.entries, end.may_wrap, end.is_wrapped) == (3, True, False)
    assert len(reader) == len(reader.columns) == (1 << 16) + 3
    assert reader.read(reader.find("65538")) == b""
    assert [header.name for header in iter_resolved_headers(source, end)] == list(reader.columns.iter_raw_names())


@pytest.mark.parametrize("declared", [2, 65_535])
def test_a_count_that_does_not_agree_modulo_65536_is_refused(wrapped_count, declared):
    count = declared.to_bytes(2, "little")
    data = wrapped_count[: wrapped_count.rindex(b"PK\5\6") + 8] + 2 * count
    data += wrapped_count[len(data) :]
    source = MemorySource(data)
    for read in (lambda: ArchiveReader(source).columns, lambda: list(iter_resolved_headers(source, read_end(source)))):
        with pytest.raises(FormatError, match=f"declares {declared:,} entries") as caught:
            read()
        assert (caught.value.rule, "ozx recover" in caught.value.hint) == ("zip/directory", True)


@pytest.mark.parametrize(
    "holes",
    [
        (3 * GIB, 3 * GIB),
        (0, 3 * GIB, 0, 3 * GIB, 0),
        (MODULUS - 40,),
        (MODULUS,),
        (MODULUS + 5, 0, 0),
        (0, 0, MODULUS + 5),
        (0, MODULUS - 1, 0, 0),
        (0, 5 * GIB, 0, 0, 9 * GIB, 0, 0, 2 * GIB, 13 * GIB, 0),
    ],
    ids=str,
)
def test_offsets_and_sizes_modulo_4_gib(holes):
    check_reads(built(*holes))


def test_offsets_and_sizes_behind_data_descriptors():
    builder = built(0, 5 * GIB, 2 * GIB, 3 * GIB, 0)
    for entry in builder.entries:
        entry.flags |= DESCRIPTOR
        entry.local |= {"crc32": 0, "compressed": 0, "uncompressed": 0, "extra": b"UX\4\0abcd"}
        entry.after = b"PK\7\x08" + bytes(12)
    assert check_reads(builder).end.prepended == 0


def test_random_sizes():
    rng = random.Random(8)
    for _ in range(60):
        holes = [rng.choice((0, 9, GIB, MODULUS - 60, MODULUS, 7 * GIB, rng.randrange(9 * GIB))) for _ in range(12)]
        check_reads(built(*holes, MODULUS))


def test_few_local_headers_show_which_values_exceed_4_gib():
    builder = built(*[0] * 1000, 5 * GIB, *[0] * 1000)
    reader = opened(builder)
    assert sizes(reader)[1000] == 5 * GIB + 4
    assert reader.source.reads < 40


def test_sizes_of_a_deflated_value_above_4_gib():
    builder = built(0, 5 * GIB, 0)
    builder.set("0/c/1", method=8, local={"uncompressed": 1}, central={"uncompressed": 1})
    assert int(opened(builder).columns.uncompressed_sizes[1]) == 2 * MODULUS + 1


def test_two_places_of_one_entry_are_refused():
    """The local header of entry 2 is at its offset modulo 2**32, and 4 GiB later."""
    builder = built(0, MODULUS + 999, 0, 0)
    pieces = builder.pieces()
    place = pieces.index(MODULUS + 999)
    copy = builder.entries[2].local_header(zip64=False) + builder.entries[2].data
    pieces[place : place + 1] = [999, copy, MODULUS - len(copy)]
    with pytest.raises(FormatError, match="do not determine the places") as caught:
        _ = ArchiveReader(SparseSource(pieces)).columns
    assert "ozx recover" in caught.value.hint


SPOILED = {
    "order": lambda builder: builder.with_(file_order=[f"0/c/{number}" for number in (0, 2, 1, 3, 4)]),
    "gap": lambda builder: builder.set("0/c/3", before=bytes(70_000)),
    "start": lambda builder: builder.set("0/c/0", before=builder["0/c/0"].local_header(zip64=False) + b"0"),
    "offset": lambda builder: builder.set("0/c/3", central={"offset": 5}),
    "header": lambda builder: builder.set("0/c/2", local={"name": b"0/c/9"}),
}


@pytest.mark.parametrize("spoil", SPOILED)
def test_entries_that_do_not_fill_the_file_in_order_are_refused(spoil):
    builder = SPOILED[spoil](built(0, MODULUS + 7, 5, 2 * GIB, 8))
    with pytest.raises(FormatError) as caught:
        reader = opened(builder)
        for index in range(len(reader)):
            reader.read(index, 0, 1)
    assert "ozx recover" in (caught.value.hint or "")


def test_zip64_fields_that_agree_with_the_other_numbers():
    builder = built(0, 3 * GIB, 3 * GIB, 0)
    offset = int(opened(builder).columns.header_offsets[3])
    assert offset > MODULUS
    builder.set("0/c/3", central={"offset": 0xFFFFFFFF, "extra": zip64_extra(offset)})
    assert int(opened(builder).columns.header_offsets[3]) == offset
    builder.set("0/c/3", central={"extra": zip64_extra(offset + MODULUS)})
    with pytest.raises(FormatError, match="do not determine"):
        _ = opened(builder).columns

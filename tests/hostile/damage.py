"""Small archives of many writers with known values, damage in one or two places, and checks of the results.

The damage comes from a random generator: the same seed makes the same mutants. Everything happens in memory.
"""

import io
import random
import struct
import tempfile
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from unittest import mock

from cases import archive_builder
from cases.archive_builder import PADDING_FIELD, ArchiveBuilder, array, group
from hierarchies import multiscales
from packed import write_archive, zip_bytes
from stores import put

import ozx
from ozx.archive import columns, directory, entry_reading
from ozx.archive.audit import gaps
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import FLAG_DATA_DESCRIPTOR, LocalHeader
from ozx.archive.recovery import values as recovered_values
from ozx.archive.recovery.directory import TWO
from ozx.archive.recovery.scan import iter_found_value
from ozx.errors import OzxError
from ozx.flow.repair.salvage import salvage
from ozx.operations.recover import _find as find_entries
from ozx.places.byte_source import MemorySource
from ozx.progress import NO_PROGRESS
from ozx.zarr.keys import is_metadata_key

Values = dict[str, bytes]
#: Offset, number of removed bytes, and inserted bytes.
Edit = tuple[int, int, bytes]

# Offset and width of each field (APPNOTE 4.3.7, 4.3.12, 4.3.9, 4.3.14, 4.3.15, 4.3.16).
LOCAL = ((0, 4), (4, 2), (6, 2), (8, 2), (10, 4), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2))
CENTRAL = ((0, 4), (4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2))
CENTRAL += ((34, 2), (36, 2), (38, 4), (42, 4))
END = ((0, 4), (4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2))
WIDE_END = ((0, 4), (4, 8), (12, 2), (14, 2), (16, 4), (20, 4), (24, 8), (32, 8), (40, 8), (48, 8))
LOCATOR = ((0, 4), (4, 4), (8, 8), (16, 4))
FIXED = {b"PK\3\4": 30, b"PK\1\2": 46, b"PK\5\6": 22, b"PK\6\6": 56, b"PK\6\7": 20}
FIELDS = {b"PK\3\4": LOCAL, b"PK\1\2": CENTRAL, b"PK\5\6": END, b"PK\6\6": WIDE_END, b"PK\6\7": LOCATOR}


@dataclass
class Record:
    """A header or an end record: its signature, its position, and the offset and width of each field in the file."""

    kind: bytes
    start: int
    length: int
    fields: list[tuple[int, int]]

    @property
    def stop(self) -> int:
        return self.start + self.length


@dataclass
class Base:
    """An archive before it is damaged."""

    name: str
    data: bytes
    values: Values
    records: list[Record] = field(default_factory=list)
    #: Other values with the same keys: replaced values, or values of an archive inside a value.
    others: Values = field(default_factory=dict)
    #: Whether its numbers are modulo 8 and modulo 512, as those of the Finder are modulo 65,536 and 2**32.
    wraps: bool = False

    def __post_init__(self) -> None:
        """Find the records through the directory, and the data descriptors after the values."""
        with small_fields(self):
            self.records = self.records or list(_records(self.data))


_COUNTS, _NUMBERS = 8, 512


@contextmanager
def small_fields(base: Base | None = None) -> Iterator[None]:
    """Let ozx expect numbers that wrap early, so that a small archive stands for a large one without ZIP64."""
    with ExitStack() as stack:
        masked = (archive_builder, "_MASK_32"), *((module, "MASK_32") for module in _MODULES)
        others = ((columns, "_MODULUS", _NUMBERS), (columns, "_MOST_MORE", 60), (columns, "MASK_16", _COUNTS - 1))
        changes = [*others, (directory, "MASK_16", _COUNTS - 1), *((*place, _NUMBERS - 1) for place in masked)]
        for module, name, value in changes if base is None or base.wraps else ():
            stack.enter_context(mock.patch.object(module, name, value))
        yield


_MODULES = (directory, entry_reading, gaps, recovered_values)


def _records(data: bytes) -> list[Record]:
    reader = ArchiveReader(MemorySource(data))
    columns, end = reader.columns, reader.end
    found = []
    for index in range(len(columns)):
        start = int(columns.header_offsets[index])
        found.append(_record(data, start))
        stop = reader.data_offset(index) + int(columns.compressed_sizes[index])
        if int.from_bytes(data[start + 6 : start + 8], "little") & 8:
            skipped = 4 if data.startswith(b"PK\7\x08", stop) else 0
            width = 8 if data[stop + skipped + 8 : stop + skipped + 12] == bytes(4) else 4
            fields = [(stop, skipped)] * bool(skipped) + [(stop + skipped, 4)]
            fields += [(stop + skipped + 4, width), (stop + skipped + 4 + width, width)]
            found.append(Record(b"PK\7\x08", stop, skipped + 4 + 2 * width, fields))
    at = end.directory_offset
    while data[at : at + 4] in FIXED:
        found.append(_record(data, at))
        at = found[-1].stop
    return found


def _record(data: bytes, start: int) -> Record:
    kind = data[start : start + 4]
    fields, length = [(start + at, width) for at, width in FIELDS[kind]], FIXED[kind]
    if kind in (b"PK\3\4", b"PK\1\2"):
        name, extra = struct.unpack_from("<2H", data, start + length - (4 if kind == b"PK\3\4" else 18))
        comment = 0 if kind == b"PK\3\4" else struct.unpack_from("<H", data, start + 32)[0]
        fields.append((start + length, name))
        at = start + length + name
        while at + 4 <= start + length + name + extra:
            size = struct.unpack_from("<H", data, at + 2)[0]
            fields += [(at, 2), (at + 2, 2)]
            fields += [(at + 4 + place, 8) for place in range(0, size - 7, 8)]
            at += 4 + size
        length += name + extra + comment
    return Record(kind, start, length, fields)


# --- archives ---------------------------------------------------------------------------------------------------------


def _pixels(seed: int, size: int = 24) -> bytes:
    return random.Random(seed).randbytes(size)


def image_group(*paths: str) -> bytes:
    """Return the root of an image whose levels are at these paths."""
    return group(None, attributes={"ome": {"version": "0.5", "multiscales": multiscales("yx", *paths)}})


def full(size: int = 24) -> Values:
    """Two levels without missing chunks."""
    values = {"zarr.json": image_group("0", "1"), "0/zarr.json": array([4, 4], [2, 2]), "1/zarr.json": array([2], [1])}
    values |= {f"0/c/{n // 2}/{n % 2}": _pixels(n, size) for n in range(4)}
    return values | {f"1/c/{n}": _pixels(10 + n, size) for n in range(2)}


def sparse() -> Values:
    """An image and labels with missing chunks; some chunks have equal values."""
    values = {"zarr.json": image_group("0"), "labels/zarr.json": group(None, attributes={"ome": {"version": "0.5"}})}
    values |= {"0/zarr.json": array([20, 2], [1, 1]), "labels/a/zarr.json": array([9], [1])}
    values |= {f"0/c/{n}/{n % 2}": _pixels(n) for n in (0, 1, 3, 4, 7, 12)}
    values |= {f"0/c/{n}/0": bytes(24) for n in (11, 15)}
    return values | {f"labels/a/c/{n}": _pixels(20 + n) for n in (0, 2, 5)} | {"OME/METADATA.ome.xml": b"<OME/>" * 5}


def _streamed(values: Values, *, deflated: bool = False, signature: bool = True, classic: bool = True) -> bytes:
    builder = ArchiveBuilder.of(values)
    if classic:
        builder.classic()
    for name in values:
        if deflated:
            builder.deflate(name)
        builder.stream(name, signature=signature)
    return builder.build()


def wrapped_archive(values: Values, *, deflated: Iterable[str] = (), streamed: bool = False) -> bytes:
    """Write as the Finder does (`streamed`) or old versions of minizip: without ZIP64, with numbers that wrap early."""
    builder = ArchiveBuilder.of(values).classic()
    for name in deflated:
        builder.deflate(name)
    for name in values if streamed else ():
        builder.stream(name)
    with small_fields():
        return builder.set_end(entries=len(values) % _COUNTS, here=len(values) % _COUNTS).build()


def _rewritten(values: Values) -> bytes:
    """Write with zipfile, which lists the two versions of a replaced value; delete another entry from the directory."""
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("zarr.json", values["zarr.json"])
        archive.writestr("0/c/1/1", _pixels(99))
        for name, value in values.items():
            if name != "zarr.json":
                archive.writestr(name, value)
            if name == "0/zarr.json":
                archive.writestr("0/c/deleted", _pixels(98))
        archive.filelist = [info for info in archive.filelist if info.filename != "0/c/deleted"]
    return stream.getvalue()


def _with_gaps(values: Values) -> bytes:
    """Leave space between entries, partly in padding fields, like stores that write in place."""
    builder = ArchiveBuilder.of(values)
    for number, name in enumerate(values):
        if number % 3 == 1:
            builder.set(name, local={"extra": PADDING_FIELD})
        elif number % 3 == 2:
            builder[name].before = bytes(7 * number)
    return builder.build()


def _by_store(values: Values, folder: Path) -> bytes:
    """Write with `OzxStore`, which leaves gaps in the place of values that were replaced by longer values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = ozx.OzxStore(folder / "store.ozx", "w")
        for name, value in values.items():
            if name.startswith("0/c/"):
                put(store, name, value[: len(value) // 2])
            put(store, name, value)
        store.close()
    return (folder / "store.ozx").read_bytes()


def _like_a_descriptor() -> bytes:
    """A value that contains bytes like its own descriptor and like another entry."""
    value = b"abcd" + b"PK\7\x08" + struct.pack("<3I", zlib.crc32(b"abcd"), 4, 4)
    return (
        value + ArchiveBuilder.of({"0/c/1/1": b"evil"})["0/c/1/1"].local_header(zip64=False) + b"evil" + _pixels(77, 9)
    )


@cache
def bases() -> tuple[Base, ...]:
    values, holes, odd = full(), sparse(), full() | {"OME/empty": b"", "OME/x": _like_a_descriptor()}
    long = values | {"0/c/0/1": _pixels(5, 700), "OME/METADATA.ome.xml": _pixels(6, 2_500), "OME/x": b"x"}
    # Nothing but inflating shows how often the size of a compressible value wrapped.
    pixels = [name for name in long if not is_metadata_key(name)]
    small = {"zarr.json": group(), "0/c/0/0": b"inner"}
    inner = zip_bytes(small, zipfile.ZIP_STORED)
    nested = values | {"OME/a.zip": inner}
    with tempfile.TemporaryDirectory(prefix="ozx-damage-") as name:
        folder = Path(name)
        packed = [write_archive(folder / "a.ozx", each).read_bytes() for each in (values, holes)]
        stored = [_by_store(each, folder) for each in (values, holes)]
    return (
        Base("packed", packed[0], values),
        Base("packed, sparse", packed[1], holes),
        Base("by OzxStore", stored[0], values),
        Base("by OzxStore, sparse", stored[1], holes),
        Base("streamed, stored", _streamed(odd), odd),
        Base("streamed, stored, sparse", _streamed(holes, signature=False), holes),
        Base("streamed, deflated", _streamed(odd, deflated=True), odd),
        Base("streamed, ZIP64", _streamed(values, classic=False), values),
        Base("by zipfile, stored", zip_bytes(holes, zipfile.ZIP_STORED), holes),
        Base("by zipfile, deflated", zip_bytes(odd, zipfile.ZIP_DEFLATED), odd),
        Base("by zipfile, rewritten", _rewritten(values), values, others={"0/c/1/1": _pixels(99)}),
        Base("built, an archive in a value", ArchiveBuilder.of(nested).build(), nested, others=small),
        Base("built, with free space", _with_gaps(holes), holes),
        Base(
            "built, classic, with a prefix",
            ArchiveBuilder.of(holes).classic().with_(prefix=b"#!/bin/sh\n" * 3).build(),
            holes,
        ),
        Base("wrapped, by the Finder", wrapped_archive(long, deflated=pixels, streamed=True), long, wraps=True),
        Base("wrapped, by minizip", wrapped_archive(long), long, wraps=True),
    )


# --- damage -----------------------------------------------------------------------------------------------------------


def mutate(base: Base, rng: random.Random, kind: str | None = None) -> tuple[bytes, str]:
    """Return the archive with one or two damages, and their names; `kind` names the first damage."""
    chosen = [rng.choice(DAMAGES) for _ in range(rng.choice((1, 2)))]
    if kind is not None:
        chosen[0] = END_DAMAGES[kind]
    edits = [edit for damage in chosen for edit in damage(base, rng)]
    return edited(base.data, edits), " and ".join(damage.__name__.strip("_") for damage in chosen)


def edited(data: bytes, edits: list[Edit]) -> bytes:
    before = len(data) + 1
    for start, length, new in sorted(edits, reverse=True):
        if start + length <= before:  # otherwise damages overlap: the one at the higher offset counts
            data = data[:start] + new + data[start + length :]
            before = start
    return data


def _field(base: Base, rng: random.Random) -> list[Edit]:
    """Change the number in a field of a record, or a character of a name."""
    record = rng.choice(base.records)
    start, width = rng.choice(record.fields)
    old = base.data[start : start + width]
    if width > 8 or width not in (2, 4, 8):
        return [(start, width, _other_name(old, rng))]
    number, top = int.from_bytes(old, "little"), (1 << 8 * width) - 1
    others = [other for other in base.records if other.kind == record.kind]
    place = record.fields.index((start, width))
    other = rng.choice(others)
    near = other.fields[place] if place < len(other.fields) and other.fields[place][1] == width else (start, width)
    choices = (0, top, 1, number + 1, number - 1, number ^ 1 << rng.randrange(8 * width), rng.randrange(top))
    choices += (int.from_bytes(base.data[near[0] : near[0] + width], "little"), number ^ 8, rng.randrange(64))
    return [(start, width, (rng.choice(choices) & top).to_bytes(width, "little"))]


def _other_name(old: bytes, rng: random.Random) -> bytes:
    if not old:
        return old
    new, at = bytearray(old), rng.randrange(len(old))
    digits = [place for place, byte in enumerate(old) if chr(byte).isdigit()]
    if digits and rng.random() < 0.7:
        new[rng.choice(digits)] = ord(rng.choice("0123456789"))
    else:
        new[at] = rng.randrange(256)
    return bytes(new)


def _numbers(base: Base, rng: random.Random) -> list[Edit]:
    """Set CRC-32 and sizes of a header to zero, as an interrupted writer leaves them."""
    record = rng.choice([record for record in base.records if record.kind in (b"PK\3\4", b"PK\1\2")])
    start = record.start + (14 if record.kind == b"PK\3\4" else 16)
    return [(start, 12, bytes(12))]


def _two_records(base: Base, rng: random.Random) -> tuple[Record, Record]:
    kind = rng.choice((b"PK\3\4", b"PK\1\2", b"PK\7\x08"))
    records = [record for record in base.records if record.kind == kind] or base.records[:2]
    first = rng.choice(records)
    alike = [record for record in records if record.length == first.length]
    return first, rng.choice(alike if rng.random() < 0.7 else records)


def _swap(base: Base, rng: random.Random) -> list[Edit]:
    first, second = _two_records(base, rng)
    if first is second:
        return []
    parts = [base.data[record.start : record.stop] for record in (first, second)]
    return [(first.start, first.length, parts[1]), (second.start, second.length, parts[0])]


def _overwrite(base: Base, rng: random.Random) -> list[Edit]:
    """Write a record over another record of its kind, or over any bytes."""
    first, second = _two_records(base, rng)
    new = base.data[first.start : first.stop]
    if rng.random() < 0.2:
        at = rng.randrange(len(base.data))
        return [(at, min(len(new), len(base.data) - at), new)]
    return [(second.start, rng.choice((second.length, len(new))), new)]


def _double(base: Base, rng: random.Random) -> list[Edit]:
    first, second = _two_records(base, rng)
    return [(rng.choice((second.start, second.stop)), 0, base.data[first.start : first.stop])]


def _remove_record(base: Base, rng: random.Random) -> list[Edit]:
    record = rng.choice(base.records)
    return [(record.start, record.length, b"")]


def _cut(base: Base, rng: random.Random) -> list[Edit]:
    near = rng.choice(base.records)
    at = rng.choice((near.start, near.stop, rng.randrange(len(base.data)), near.start + rng.randrange(near.length)))
    return [(0, at, b"")] if rng.random() < 0.15 else [(at, len(base.data) - at, b"")]


def _block(base: Base, rng: random.Random) -> list[Edit]:
    """Fill a block with zeros or with other bytes of the file."""
    at = rng.choice((rng.randrange(len(base.data)), rng.choice(base.records).start))
    length = min(rng.choice((4, 12, 30, 46, 100, 512)), len(base.data) - at)
    other = rng.randrange(len(base.data) - length + 1)
    return [(at, length, bytes(length) if rng.random() < 0.7 else base.data[other : other + length])]


def _flip(base: Base, rng: random.Random) -> list[Edit]:
    at = rng.randrange(len(base.data))
    return [(at, 1, bytes([base.data[at] ^ 1 << rng.randrange(8)]))]


def _insert(base: Base, rng: random.Random) -> list[Edit]:
    at = rng.choice((rng.randrange(len(base.data)), rng.choice(base.records).start, rng.choice(base.records).stop))
    return [(at, 0, rng.choice((bytes(rng.randrange(1, 40)), rng.randbytes(rng.randrange(1, 40)))))]


def _delete(base: Base, rng: random.Random) -> list[Edit]:
    at = rng.randrange(len(base.data))
    return [(at, min(rng.choice((1, 2, 4, 16, 60)), len(base.data) - at), b"")]


# End records that are wrong and agree with each other.


def leave_out(base: Base, first: int, last: int) -> list[Edit]:
    """Change all end records: they leave out the `first` headers at the directory's start and the `last` at its end."""
    headers = [record for record in base.records if record.kind == b"PK\1\2"]
    kept = headers[first : len(headers) - last]
    size = sum(record.length for record in kept)
    moved = sum(record.length for record in headers[:first])
    edits = []
    for record in base.records:
        if record.kind in (b"PK\6\6", b"PK\5\6"):
            start, layout = (record.start + 24, "<4Q") if record.kind == b"PK\6\6" else (record.start + 8, "<2H2I")
            offset = struct.unpack_from(layout, base.data, start)[3] + moved
            new = struct.pack(layout, len(kept), len(kept), size, offset)
            edits.append((start, len(new), new))
    return edits


def _how_many(base: Base, rng: random.Random) -> int:
    return rng.choice((1, 1, 1, 2, 3, rng.randrange(1, sum(record.kind == b"PK\1\2" for record in base.records) + 1)))


def _fewer_at_the_end(base: Base, rng: random.Random) -> list[Edit]:
    return leave_out(base, 0, _how_many(base, rng))


def _fewer_at_the_start(base: Base, rng: random.Random) -> list[Edit]:
    return leave_out(base, _how_many(base, rng), 0)


def _fewer_at_both_ends(base: Base, rng: random.Random) -> list[Edit]:
    return leave_out(base, rng.randrange(1, 4), rng.randrange(1, 4))


def _fewer_and_overwritten(base: Base, rng: random.Random) -> list[Edit]:
    """Overwrite the headers that the end records leave out, too."""
    headers = [record for record in base.records if record.kind == b"PK\1\2"]
    first, last = rng.choice(((0, 1), (0, 2), (1, 0), (2, 0), (1, 1)))
    left_out = [*headers[:first], *headers[len(headers) - last :]]
    fill = rng.choice((bytes, rng.randbytes))
    return leave_out(base, first, last) + [(record.start, record.length, fill(record.length)) for record in left_out]


def _early_end(base: Base, rng: random.Random) -> list[Edit]:
    """Write end records between two headers, for the headers before them; keep or remove the old end records."""
    last = _how_many(base, rng)
    header = [record for record in base.records if record.kind == b"PK\1\2"][-last]
    ends = [record for record in base.records if record.kind in (b"PK\6\6", b"PK\6\7", b"PK\5\6")]
    data, start = edited(base.data, leave_out(base, 0, last)), ends[0].start
    new = bytearray(data[start : ends[-1].stop])
    for record in ends:
        if record.kind == b"PK\6\7":
            struct.pack_into("<Q", new, record.start - start + 8, header.start)
    behind = len(data) - header.start if rng.random() < 0.5 else start - header.start
    struct.pack_into("<H", new, len(new) - 2, rng.choice((0, behind)))  # in the comment, or behind the file
    return [(header.start, 0, bytes(new))] + (
        [(start, len(data) - start, b"")] if behind == start - header.start else []
    )


END_DAMAGES: dict[str, Callable[[Base, random.Random], list[Edit]]] = {
    damage.__name__.strip("_").replace("_", "-"): damage
    for damage in (_fewer_at_the_end, _fewer_at_the_start, _fewer_at_both_ends, _fewer_and_overwritten, _early_end)
}
DAMAGES: tuple[Callable[[Base, random.Random], list[Edit]], ...] = (
    *[_field] * 8,
    _numbers,
    _numbers,
    _swap,
    _swap,
    _overwrite,
    _overwrite,
    _double,
    _remove_record,
    _cut,
    _block,
    _block,
    _flip,
    _flip,
    _insert,
    _delete,
    *END_DAMAGES.values(),
)


# --- what has to hold -------------------------------------------------------------------------------------------------


def check(base: Base, data: bytes) -> tuple[Counter[str], list[str]]:
    """Recover and read a mutant; return the outcomes, and the faults of ozx."""
    with small_fields(base):
        outcome, wrong = _check_recovered(base, data)
        stored, more = _check_store(base, data)
    return Counter([outcome, stored]), wrong + more


def _check_recovered(base: Base, data: bytes) -> tuple[str, list[str]]:
    source = MemorySource(data)
    try:
        evidence = find_entries(source, NO_PROGRESS)
    except OzxError:
        return "recover: refused", []
    found = salvage(source, evidence)
    if "" not in found.hierarchy.nodes:
        return "recover: refused", []
    values, wrong, outcome = {}, [], "recover: in part"
    for index in found.indices:
        key, entry = found.key(index), found.entry(index)
        values[key] = b"".join(iter_found_value(source, entry))
        if values[key] == base.values.get(key) or evidence.names_by[index] < TWO:
            continue
        if values[key] == base.others.get(key) and not found.is_complete:
            outcome = "recover: in part, with a value that was replaced or is part of another one"
        else:
            wrong.append(f"recover: {key!r} is confirmed and wrong: {values[key][:20]!r}")
    if not found.is_complete:
        return outcome, wrong
    if values != base.values:
        different = [key for key in values.keys() | base.values.keys() if values.get(key) != base.values.get(key)]
        wrong.append(f"recover: complete, but {sorted(different)[:5]} differ")
    return "recover: complete", wrong


def read_all(data: bytes) -> Values:
    """Return all values in the way that the store reads them."""
    reader = ArchiveReader(MemorySource(data))
    reader.check(allow_duplicates=True)
    return {name: reader.read(index) for index, name in enumerate(reader.columns.names()) if not name.endswith("/")}


def _check_store(base: Base, data: bytes) -> tuple[str, list[str]]:
    try:
        values = read_all(data)
    except OzxError:
        return "store: refused", []
    different = [key for key in values if values[key] != base.values.get(key)]
    wrong = [key for key in different if not (base.values.get(key) and _is_undecidable(base.values[key], data, key))]
    outcome = "store: read, with zeros that both headers call empty" if len(wrong) < len(different) else "store: read"
    return outcome, [f"store: {key!r} is {values[key][:20]!r}" for key in wrong]


def _is_undecidable(value: bytes, data: bytes, key: str) -> bool:
    """Return whether no evidence of a value is left: it was all zeros, and both headers say that it is empty."""
    reader = ArchiveReader(MemorySource(data))
    index = reader.find(key)
    if index is None or any(value):
        return False
    start = int(reader.columns.header_offsets[index])
    header = LocalHeader.from_bytes(data, start)
    numbers = header.crc32, header.compressed_size, header.uncompressed_size, int(reader.columns.crc32s[index])
    return not any(numbers) and not header.flags & FLAG_DATA_DESCRIPTOR and reader.columns.compressed_sizes[index] == 0

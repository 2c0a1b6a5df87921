"""Write the made parts of docs/explanation/format.md, and its pictures: ``python -m docs.make_format``.

The script packs two of the fixtures, and reads every shown offset and byte from the packed files.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path

import ozx
from docs.made_parts import DOCS, Card, with_parts, write_files
from ozx.archive import records
from ozx.archive.reader import ArchiveReader
from ozx.places.byte_source import MemorySource
from ozx.zarr.layout import index_size, parse_index

FIXTURES = DOCS.parent / "fixtures"
#: A pixel of sharded.ome.zarr, level 0: t, c, z, y, x. The shard of this pixel holds four planes of both channels.
PIXEL = (0, 1, 3, 10, 40)

_METADATA, _VALUE, _DIRECTORY, _END, _COMMENT = "#dbe9f6", "#e3f1df", "#fdf0d5", "#f3e3f1", "#fff6c9"

# APPNOTE 4.3.7, 4.3.12, 4.3.14 to 4.3.16: each field and its size.
_LOCAL = [
    *[("signature", 4), ("version needed: 4.5, ZIP64", 2), ("flags", 2), ("method: 0, stored", 2), ("time", 2)],
    *[("date: 1980-01-01", 2), ("CRC-32 of the value", 4), ("compressed size: “see the ZIP64 field”", 4)],
    *[("uncompressed size: “see the ZIP64 field”", 4), ("length of the name", 2), ("length of extra fields", 2)],
]
_ZIP64_FIELD = [
    *[("extra field 1, ZIP64", 2), ("its length", 2), ("uncompressed size", 8), ("compressed size", 8)],
]
_CENTRAL = [
    *[("signature", 4), ("made by: Unix, 4.5", 2), ("version needed", 2), ("flags", 2), ("method", 2), ("time", 2)],
    *[("date", 2), ("CRC-32", 4), ("compressed size", 4), ("uncompressed size", 4), ("length of the name", 2)],
    *[("length of extra fields", 2), ("length of a comment", 2), ("part of a split archive", 2)],
    *[("internal attributes", 2), ("external attributes: a file, mode 0644", 4), ("offset of the local header", 4)],
]
_ZIP64_END = [
    *[
        ("signature", 4),
        ("size of the rest of this record", 8),
        ("made by", 2),
        ("version needed", 2),
        ("number of this part", 4),
    ],
    *[("part where the directory begins", 4), ("entries in this part", 8), ("entries", 8)],
    *[("size of the directory", 8), ("offset of the directory", 8)],
]
_LOCATOR = [("signature", 4), ("part with the ZIP64 end record", 4), ("offset of that record", 8), ("parts", 4)]
_CLASSIC_END = [
    *[("signature", 4), ("number of this part", 2), ("part where the directory begins", 2)],
    *[("entries in this part", 2), ("entries", 2), ("size of the directory", 4), ("offset of the directory", 4)],
    *[("length of the comment", 2)],
]


@dataclass(frozen=True)
class Archive:
    """A packed fixture: its bytes, and a reader for these bytes."""

    data: bytes
    reader: ArchiveReader

    @classmethod
    def of(cls, fixture: str) -> Archive:
        """Pack a fixture, and return the packed file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "packed.ozx")
            ozx.pack(FIXTURES / fixture, path)
            data = path.read_bytes()
        return cls(data, ArchiveReader(MemorySource(data)))

    @property
    def names(self) -> list[str]:
        """Names of all entries, in the order of the file."""
        return self.reader.columns.names()

    def span(self, name: str) -> tuple[int, int, int]:
        """Return the offsets of an entry's local header, and of the start and the end of its value."""
        entry = self.reader.find(name)
        if entry is None:
            raise KeyError(name)
        start = self.reader.data_offset(entry)
        columns = self.reader.columns
        return int(columns.header_offsets[entry]), start, start + int(columns.compressed_sizes[entry])


def made_files() -> dict[str, str]:
    """Return the files that this script writes: texts by their paths below ``docs/``."""
    image, sharded = Archive.of("image.ome.zarr"), Archive.of("sharded.ome.zarr")
    parts = {
        "records": records_markdown(image),
        "local-header": "\n".join(_fields(image.data, 0, [*_LOCAL, ("name", 9), *_ZIP64_FIELD])),
        "central-header": "\n".join(
            _fields(image.data, image.reader.end.directory_offset, [*_CENTRAL, ("name", 9)]),
        ),
        "end-records": "\n".join(
            _fields(image.data, _end_of_directory(image), [*_ZIP64_END, *_LOCATOR, *_CLASSIC_END]),
        ),
        "chunk": chunk_markdown(sharded),
    }
    return {
        "explanation/format.md": with_parts("explanation/format.md", parts),
        "pictures/file.svg": file_svg(image),
        "pictures/opening.svg": opening_svg(image),
        "pictures/shard.svg": shard_svg(sharded),
    }


def records_markdown(archive: Archive) -> str:
    """Return a table of the records of a file: offset, length, kind."""
    lines = ["| offset | bytes | what |", "|--:|--:|---|"]
    names = archive.names
    metadata = [name for name in names if name.rpartition("/")[2] == "zarr.json"]
    first_chunk = names[len(metadata)]
    for name in (*metadata[:2], first_chunk):
        header, start, end = archive.span(name)
        lines.append(f"| {header:,} | {start - header} | local header of `{name}` |")
        lines.append(f"| {start:,} | {end - start:,} | its value |")
        if name == metadata[1]:
            lines.append(f"| … | | {len(metadata) - 2} more `zarr.json` |")
    lines.append(f"| … | | {len(names) - len(metadata) - 1} more chunks |")
    offset = archive.reader.end.directory_offset
    rest = [
        (archive.reader.end.directory_size, f"central directory: {len(names)} headers"),
        (records.ZIP64_END_RECORD.size, "ZIP64 end record"),
        (records.ZIP64_LOCATOR.size, "ZIP64 locator"),
        (records.END_RECORD.size, "classic end record"),
        (len(archive.reader.end.comment), "comment"),
    ]
    for length, what in rest:
        lines.append(f"| {offset:,} | {length:,} | {what} |")
        offset += length
    return "\n".join([*lines, f"| {offset:,} | | the end |"])


def chunk_markdown(archive: Archive) -> str:
    """Return a numbered list of the steps that find the chunk with `PIXEL`."""
    found = _Found.at(archive, PIXEL)
    where = ", ".join(f"{axis} = {place}" for axis, place in zip("tczyx", PIXEL, strict=True))
    count, last = math.prod(found.grid), found.start + found.offset + found.length - 1
    return f"""
1. The pixel {where} of level 0 lies in the shard {found.shard}. Each number is a coordinate of the
   pixel, divided by the length of a shard along this axis and rounded down.
2. The key of this shard is `{found.key}`. The central directory gives the offset of the local header, {found.header:,}.
   The value has {found.end - found.start:,} bytes and begins at {found.start:,}.
3. The shard holds {" × ".join(map(str, found.grid))} = {count} inner chunks. The pixel is in the inner chunk
   {found.inner}, which is number {found.number} in C order, counted from 0.
4. The index is the last 16 × {count} + 4 = {found.index_size} bytes of the value. Pair {found.number} of the index
   gives the offset {found.offset:,} in the value and the length {found.length:,}.
5. So the chunk is bytes {found.start + found.offset:,} to {last:,} of the file. The codecs inside the shard
   (`zstd`, then `bytes`) decode these bytes to the pixels.
"""


@dataclass(frozen=True)
class _Found:
    """The place of a chunk: its shard, the entry of the shard, its number in the index, its bytes in the shard."""

    shard: tuple[int, ...]
    key: str
    header: int
    start: int
    end: int
    grid: tuple[int, ...]
    inner: tuple[int, ...]
    number: int
    index_size: int
    offset: int
    length: int
    spans: list[tuple[int, int]]

    @classmethod
    def at(cls, archive: Archive, pixel: tuple[int, ...]) -> _Found:
        shard_shape, inner_shape = (1, 2, 4, 64, 64), (1, 1, 2, 32, 32)
        grid = tuple(outer // inner for outer, inner in zip(shard_shape, inner_shape, strict=True))
        shard = tuple(place // length for place, length in zip(pixel, shard_shape, strict=True))
        inner = tuple(
            place % outer // length for place, outer, length in zip(pixel, shard_shape, inner_shape, strict=True)
        )
        key = f"0/c/{'/'.join(map(str, shard))}"
        header, start, end = archive.span(key)
        size = index_size(math.prod(grid))
        index = parse_index(archive.data[end - size : end], grid, end - start, key)
        number = int(sum(place * math.prod(grid[axis + 1 :]) for axis, place in enumerate(inner)))
        spans = [
            (int(offset), int(length))
            for offset, length in zip(index.offsets.ravel(), index.lengths.ravel(), strict=True)
        ]
        return cls(shard, key, header, start, end, grid, inner, number, size, *spans[number], spans)


def _end_of_directory(archive: Archive) -> int:
    return archive.reader.end.directory_offset + archive.reader.end.directory_size


def _fields(data: bytes, offset: int, fields: list[tuple[str, int]]) -> Iterator[str]:
    """Yield a table of consecutive fields: offset, bytes, name and value of each field."""
    yield "| offset | bytes | field | value |"
    yield "|--:|---|---|---|"
    ends = list(accumulate((size for _, size in fields), initial=offset))
    found = [(at, data[at:end], what) for (what, _), at, end in zip(fields, ends, ends[1:], strict=False)]
    for is_zero, run in groupby(found, lambda field: not any(field[1])):
        those = list(run)
        if is_zero:
            size, names = sum(len(value) for _, value, _ in those), "; ".join(what for _, _, what in those)
            yield f"| {those[0][0]:,} | `00` × {size} | {names} | 0 |"
        else:
            yield from (
                f"| {at:,} | `{value.hex(' ')}` | {what} | {_reading(what, value)} |" for at, value, what in those
            )


def _reading(what: str, value: bytes) -> str:
    if what == "name":
        return f"`{value.decode()}`"
    if what == "signature":
        return f"`PK`, {value[2]}, {value[3]}"
    if what in ("date", "date: 1980-01-01"):
        return ""
    number = int.from_bytes(value, "little")
    if value == b"\xff" * len(value):
        return "2³² − 1"
    return f"`{number:08x}`" if what.startswith(("CRC", "external")) else f"{number:,}"


def file_svg(archive: Archive) -> str:
    """Return the picture of a file, from the first local header to the comment."""
    names = archive.names
    metadata = [name for name in names if name.rpartition("/")[2] == "zarr.json"]
    first, second, chunk = (archive.span(name) for name in (metadata[0], metadata[1], names[len(metadata)]))
    end = archive.reader.end
    zip64 = _end_of_directory(archive)
    locator, classic = zip64 + records.ZIP64_END_RECORD.size, zip64 + records.ZIP64_END_RECORD.size + 20
    comment = classic + records.END_RECORD.size
    rows = [
        (first[0], 26, _METADATA, "local header", metadata[0]),
        (first[1], 34, _METADATA, "value", "the root’s metadata"),
        (second[0], 26, _METADATA, "local header", metadata[1]),
        (second[1], 34, _METADATA, "value", f"and {len(metadata) - 2} more zarr.json"),
        (chunk[0], 26, _VALUE, "local header", names[len(metadata)]),
        (chunk[1], 60, _VALUE, "value", f"and {len(names) - len(metadata) - 1} more chunks"),
        (
            end.directory_offset,
            52,
            _DIRECTORY,
            "central directory",
            f"{len(names)} headers: name, size, CRC-32, offset",
        ),
        (zip64, 26, _END, "ZIP64 end record", "where the directory is"),
        (locator, 26, _END, "ZIP64 locator", "where that record is"),
        (classic, 26, _END, "classic end record", "the same, in 32 bits"),
        (comment, 34, _COMMENT, "comment", "OME-Zarr 0.5, jsonFirst"),
    ]
    card = Card(640, sum(row[1] for row in rows) + 60, f"The bytes of image.ozx, {len(archive.data):,} of them")
    top = 30
    for offset, height, fill, what, detail in rows:
        card.text(92, top + 5, f"{offset:,}", anchor="end", size=12, code=True)
        card.box(104, top, 500, height, fill)
        card.text(116, top + height / 2 + 5, what)
        card.text(592, top + height / 2 + 5, detail, anchor="end", size=12)
        top += height
    card.text(92, top + 5, f"{len(archive.data):,}", anchor="end", size=12, code=True)
    card.text(104, 20, "offset, not to scale; image.ozx, made of fixtures/image.ome.zarr", size=12)
    return card.svg()


def opening_svg(archive: Archive) -> str:
    """Return the picture of opening a file by URL: two requests."""
    names = archive.names
    metadata = [name for name in names if name.rpartition("/")[2] == "zarr.json"]
    head = archive.span(metadata[-1])[2]
    card = Card(720, 190, "Opening a file by URL takes two requests")
    parts = [(150, _METADATA, "metadata"), (310, _VALUE, "chunks"), (130, _DIRECTORY, "directory"), (90, _END, "end")]
    left = 20
    for width, fill, what in parts:
        card.box(left, 70, width, 40, fill)
        card.text(left + width / 2, 95, what, anchor="middle")
        left += width
    card.text(20, 62, "0", size=12, code=True)
    card.text(170, 62, f"{head:,}", size=12, code=True, anchor="end")
    card.text(480, 62, f"{archive.reader.end.directory_offset:,}", size=12, code=True)
    card.text(700, 62, f"{len(archive.data):,}", size=12, code=True, anchor="end")
    card.line((330, 118), (330, 124), (700, 124), (700, 118))
    card.text(515, 142, "1  the last MiB: end records, comment, directory", anchor="middle", size=13)
    card.line((20, 118), (20, 124), (170, 124), (170, 118))
    card.text(20, 142, "2  the head: all zarr.json", size=13)
    card.text(20, 170, "then one request for each chunk", size=13)
    card.arrow(238, 166, 300, 114)
    card.text(20, 30, "image.ozx behind a URL (a file this small comes whole with the first request)", size=12)
    return card.svg()


def shard_svg(archive: Archive) -> str:
    """Return the picture of a shard: inner chunks, then the index."""
    found = _Found.at(archive, PIXEL)
    card = Card(720, 200, "How a chunk in a shard is found")
    scale = 600 / (found.end - found.start - found.index_size)
    card.text(20, 28, f"the value of {found.key}: {found.end - found.start:,} bytes, from {found.start:,} on", size=12)
    for number, (offset, length) in enumerate(found.spans):
        is_it = number == found.number
        card.box(20 + offset * scale, 50, length * scale, 46, "#f6c177" if is_it else _VALUE)
        if length * scale > 16:
            card.text(20 + (offset + length / 2) * scale, 78, str(number), anchor="middle", size=12)
    card.box(622, 50, 78, 46, _DIRECTORY)
    card.text(661, 78, "index", anchor="middle")
    middle = 20 + (found.offset + found.length / 2) * scale
    card.line((661, 96), (661, 126), (middle, 126))
    card.arrow(middle, 126, middle, 100)
    card.text(
        middle - 8,
        146,
        f"pair {found.number}: offset {found.offset:,}, {found.length:,} bytes",
        anchor="middle",
        size=12,
    )
    card.text(
        20, 178, f"index: {len(found.spans)} × (offset, length) of 8 bytes each, and a CRC-32C of 4 bytes", size=12
    )
    return card.svg()


if __name__ == "__main__":
    write_files(made_files())

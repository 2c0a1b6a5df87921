"""Copy stored entries from one archive to another in runs of adjacent entries, without decoding them.

Entries in the form that `ozx.archive.writer` writes move with their local headers; a run of adjacent entries is copied
at once. Entries of another form get a new header; compressed entries are inflated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ozx.archive.byte_source import FileSource
from ozx.archive.names.decoding import encode_name
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import STORED
from ozx.archive.writer import ArchiveWriter, local_header

# File systems share whole blocks, or copy them faster: a long run is moved by a multiple of this length.
_ALIGNMENT = 4096
_ALIGNED_FROM = 1 << 20


@dataclass(frozen=True, slots=True)
class _Moved:
    """An entry with its header fields and offsets, ready to be written."""

    raw_name: bytes
    flags: int
    crc32: int
    size: int
    offset: int
    data_offset: int

    @property
    def end(self) -> int:
        return self.data_offset + self.size


def move_entries(reader: ArchiveReader, indices: Iterable[int], writer: ArchiveWriter) -> None:
    """Append entries of one archive to another archive."""
    source, columns = reader.source, reader.columns
    if not isinstance(source, FileSource):
        raise TypeError("expected an archive in a local file")
    run: list[_Moved] = []
    for index in sorted(indices, key=columns.header_offsets.__getitem__):
        raw_name, flags = encode_name(columns.name(index))
        size, checksum = int(columns.uncompressed_sizes[index]), int(columns.crc32s[index])
        header = local_header(raw_name, flags, checksum, size)
        start = int(columns.header_offsets[index])
        is_own = columns.methods[index] == STORED and source.read_at(start, len(header)) == header
        if run and not (is_own and start == run[-1].end):
            _move_run(run, source, writer)
            run = []
        if is_own:
            run.append(_Moved(raw_name, flags, checksum, size, start, start + len(header)))
        elif columns.methods[index] == STORED:
            data_offset = reader.data_offset(index)
            writer.add_copied(raw_name, flags, checksum, size, source.descriptor(), data_offset)
        else:
            writer.add_blocks(columns.name(index), size, reader.iter_blocks(index))
    if run:
        _move_run(run, source, writer)
    source.check_unchanged()


def _move_run(run: list[_Moved], source: FileSource, writer: ArchiveWriter) -> None:
    """Copy a run of adjacent entries; before a large run, insert padding so that both files can share disk blocks."""
    start, end = run[0].offset, run[-1].end
    if end - start >= _ALIGNED_FROM and writer.offset:
        writer.add_unused((start - writer.offset) % _ALIGNMENT)
    shift = writer.offset - start
    writer.copy(source.descriptor(), start, end - start)
    for entry in run:
        writer.directory.add(entry.raw_name, entry.flags, entry.crc32, entry.size, entry.offset + shift)

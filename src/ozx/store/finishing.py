"""Finish a new archive: write the metadata at its start and the central directory at its end, then rename it.

If the metadata fits into the room kept for it and free bytes are few, written values stay in place: white space at the
end of metadata fills the room, zeros fill each gap between values. Otherwise the file is written a second time, without
gaps; or, with `metadata_last`, metadata that does not fit goes behind the values, and gaps stay. RFC-9 (R2) would also
allow padding in extra fields, but its revision of 2026 forbids such padding.

Entries of an archive that is added to move undecoded: those in the form that `ozx.archive.writer` writes, with their
local headers, in runs of adjacent entries; those of another form get a new header; compressed ones are inflated.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping

from ozx.archive.names.decoding import encode_name
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import STORED
from ozx.archive.writer import ArchiveWriter, CentralDirectory, local_header
from ozx.atomic.new_file import replacing_file
from ozx.errors import FormatError, NotOmeZarrWarning, RewrittenWarning
from ozx.flow.sources.browsing import is_any_metadata_key
from ozx.ome.comment import make_comment
from ozx.places.byte_source import FileSource
from ozx.places.positional_reading import READ, divided
from ozx.places.positional_writing import write_all_at
from ozx.store.growing_file import GrowingFile, Slot, document_room
from ozx.zarr.entry_order import hierarchy_order
from ozx.zarr.json_reading import as_object, as_text, parse_document
from ozx.zarr.keys import ROOT_METADATA, breadth_first, is_metadata_key

# The largest share of unused bytes in a file; above it, the file is written a second time.
MOST_UNUSED = 0.02
# The most white space at the end of one document: each reader of the node reads this white space, too.
_MOST_WHITE_SPACE = 64 << 10
# File systems share whole blocks, or copy them faster: a long run is moved by a multiple of this length.
_ALIGNMENT = 4096
_ALIGNED_FROM = 1 << 20
# A file whose metadata outgrew its room is written a second time; above this size, ozx warns of the time it takes.
_SILENTLY_REWRITTEN = 1 << 20

#: Key and value.
_Document = tuple[str, bytes]
#: An archive that is added to, and the entries kept from it.
Base = tuple[ArchiveReader, list[int]]


def contents_of(reader: ArchiveReader) -> tuple[dict[str, bytes], dict[str, int]]:
    """Return the metadata in an archive, and the indices of all other entries, both by key."""
    documents, others = {}, {}
    for index, key in enumerate(reader.columns.names()):
        if is_any_metadata_key(key):
            documents[key] = reader.read(index).rstrip(b" ")  # without the white space that filled its room
        else:
            others[key] = index
    return documents, others


def finish(
    growing: GrowingFile,
    metadata: Mapping[str, bytes],
    values: Mapping[str, Slot],
    base: Base | None = None,
    *,
    require_ome: bool,
    force: bool,
    sync: bool,
    metadata_last: bool,
) -> int:
    """Complete the file with metadata and values, both by key, and rename it; return its length in bytes.

    `base` is the archive that is added to. The options are those of `OzxStore`, and `force` allows replacing a file.
    """
    target = growing.partial.target
    comment = _comment(metadata, target, b"" if base is None else base[0].end.comment, require_ome=require_ome)
    documents = in_archive_order(metadata)
    slots = sorted(values.values(), key=lambda slot: slot.offset)
    growing.forget_drafts()
    growing.stop_reading()
    # Another program may replace the old archive while the new one is synced.
    check_old = None if base is None else _file_of(base[0]).check_before_replacing
    head = sum(document_room(key, document) for key, document in documents)
    gaps = _gaps(head, slots)
    can_stay = _can_stay(gaps, len(documents), slots)
    late: list[_Document] = []
    if not can_stay and metadata_last:
        early, late = _divide(documents, slots[0].offset)
        # The first local header has to be at offset 0: some document is there.
        if can_stay := bool(early):
            documents, gaps = early, _gaps(sum(document_room(*item) for item in early), slots)
    if can_stay:
        length = _complete(growing.partial.descriptor, documents, slots, gaps, comment, late, base)
        growing.partial.publish(force=force, sync=sync, check_old=check_old)
        return length
    size = slots[-1].end
    if head > slots[0].offset and size > _SILENTLY_REWRITTEN:
        warnings.warn(
            f"{target}: the metadata ({head:,} bytes) exceeds the space reserved for it ({slots[0].offset:,} "
            f"bytes): {size:,} bytes are written a second time. To avoid this, write the metadata before the data.",
            RewrittenWarning,
            stacklevel=2,
        )
    with replacing_file(target, force=force, sync=sync, check_old=check_old) as new:
        length = _rewrite(growing.partial.descriptor, documents, values, ArchiveWriter(new.descriptor), comment, base)
    growing.partial.remove()
    return length


def _comment(metadata: Mapping[str, bytes], target: str, old: bytes, *, require_ome: bool) -> bytes:
    """Return the archive comment; if the root is not OME-Zarr, warn or raise, and return an empty comment."""
    problem = version = None
    root = metadata.get(ROOT_METADATA)
    if root is None:
        problem = "it has no root zarr.json"
    else:
        try:
            attributes = as_object(parse_document(root, ROOT_METADATA).get("attributes"))
        except FormatError as error:
            problem = error.message
        else:
            version = as_text(as_object(attributes.get("ome")).get("version"))
    if version is not None:
        return make_comment(version, json_first=True, old=old)
    problem = problem or "its root zarr.json has no attributes.ome.version"
    if require_ome:
        raise FormatError(
            f"expected an OME-Zarr hierarchy; {problem}",
            path=target,
            rule="rfc9/one-hierarchy",
            hint="Write a root zarr.json with attributes.ome.version, or leave require_ome out.",
        )
    warnings.warn(f"{target}: this is zipped Zarr, but not OME-Zarr: {problem}", NotOmeZarrWarning, stacklevel=2)
    return b""


def in_archive_order(documents: Mapping[str, bytes]) -> list[_Document]:
    """Return the metadata in archive order, with Zarr v2 metadata last."""
    current = sorted((key for key in documents if is_metadata_key(key)), key=breadth_first)
    legacy = sorted((key for key in documents if not is_metadata_key(key)), key=hierarchy_order)
    return [(key, documents[key]) for key in current + legacy]


def _gaps(head: int, slots: list[Slot]) -> list[int]:
    """Return the number of free bytes before each value; negative if the metadata overlaps the first value."""
    ends = [head, *(slot.end for slot in slots)]
    return [slot.offset - end for slot, end in zip(slots, ends, strict=False)]


def _can_stay(gaps: list[int], documents: int, slots: list[Slot]) -> bool:
    """Return whether the values can stay in place.

    The metadata must fill the space before the first value, with at most `_MOST_WHITE_SPACE` bytes of white space for
    each document. The gaps together must not exceed the share `MOST_UNUSED` of the file.
    """
    if not gaps:
        return True
    # Without metadata the first local header has to be at offset 0.
    return 0 <= gaps[0] <= documents * _MOST_WHITE_SPACE and sum(gaps) <= MOST_UNUSED * slots[-1].end


def _divide(documents: list[_Document], room: int) -> tuple[list[_Document], list[_Document]]:
    """Return the documents that fit into the space at the start of the file, and the other documents, both in order."""
    early: list[_Document] = []
    late: list[_Document] = []
    for key, document in documents:
        needed = document_room(key, document)
        (early if needed <= room else late).append((key, document))
        room -= needed if needed <= room else 0
    return early, late


def _complete(
    descriptor: int,
    documents: list[_Document],
    slots: list[Slot],
    gaps: list[int],
    comment: bytes,
    late: list[_Document],
    base: Base | None,
) -> int:
    """Write the metadata, clear gaps, add the entries kept from the old archive, and write the directory.

    The documents in `late` are written behind the data; the directory lists all metadata in archive order.
    """
    writer, values = ArchiveWriter(descriptor), CentralDirectory()
    headers: dict[str, CentralDirectory] = {}
    spare = gaps[0] if gaps else 0
    for number, (key, document) in enumerate(documents, 1):
        # White space goes to the last documents first, because they are read least often.
        white = min(max(0, spare - (len(documents) - number) * _MOST_WHITE_SPACE), _MOST_WHITE_SPACE)
        headers[key] = _add(writer, key, document + b" " * white)
        spare -= white
    writer.flush()
    for slot, gap in zip(slots, [spare, *gaps[1:]], strict=False):
        _clear(descriptor, slot.offset - gap, gap)
        values.add(slot.raw_name, slot.flags, slot.crc32, slot.size, slot.offset)
    if slots:
        writer.skip_to(slots[-1].end)
    headers |= {key: _add(writer, key, document) for key, document in late}
    writer.directory = CentralDirectory()
    for key, _ in in_archive_order(dict(documents + late)):
        writer.directory.extend(headers[key])
    writer.directory.extend(values)
    if base is not None:
        move_entries(*base, writer)
    os.ftruncate(descriptor, writer.flush())
    return writer.finish(comment)


def _add(writer: ArchiveWriter, key: str, document: bytes) -> CentralDirectory:
    """Write a metadata document; return its directory header."""
    writer.directory = CentralDirectory()
    writer.add(key, document)
    return writer.directory


def _clear(descriptor: int, offset: int, length: int) -> None:
    """Overwrite a gap with zeros, because it may contain deleted or replaced values."""
    for start, count in divided(offset, length, READ):
        write_all_at(descriptor, bytes(count), start)


def _rewrite(
    source: int,
    documents: list[_Document],
    values: Mapping[str, Slot],
    writer: ArchiveWriter,
    comment: bytes,
    base: Base | None,
) -> int:
    """Write all entries again, without gaps and in hierarchy order."""
    for key, document in documents:
        writer.add(key, document)
    for key in sorted(values, key=hierarchy_order):
        slot = values[key]
        writer.add_copied(slot.raw_name, slot.flags, slot.crc32, slot.size, source, slot.data_offset)
    if base is not None:
        move_entries(*base, writer)
    return writer.finish(comment)


def move_entries(reader: ArchiveReader, indices: Iterable[int], writer: ArchiveWriter) -> None:
    """Append entries of one archive to another archive."""
    for run in iter_runs(reader, indices):
        move_run(run, reader, writer)
    _file_of(reader).check_unchanged()


def iter_runs(reader: ArchiveReader, indices: Iterable[int]) -> Iterator[list[Slot] | int]:
    """Yield entries in file order: adjacent ones in the form of `ozx.archive.writer` as a run, others as indices."""
    source, columns = _file_of(reader), reader.columns
    run: list[Slot] = []
    for index in sorted(indices, key=columns.header_offsets.__getitem__):
        raw_name, flags = encode_name(columns.name(index))
        size, checksum = int(columns.uncompressed_sizes[index]), int(columns.crc32s[index])
        header = local_header(raw_name, flags, checksum, size)
        start = int(columns.header_offsets[index])
        is_own = columns.methods[index] == STORED and source.read_at(start, len(header)) == header
        if run and not (is_own and start == run[-1].end):
            yield run
            run = []
        if is_own:
            run.append(Slot(raw_name, flags, checksum, size, start, len(header)))
        else:
            yield index
    if run:
        yield run


def run_length(run: list[Slot] | int) -> int:
    """Return the length of a run in bytes; 0 for a single entry of another form."""
    return 0 if isinstance(run, int) else run[-1].end - run[0].offset


def padding_before(run: list[Slot] | int, offset: int) -> int:
    """Return the number of bytes before a large run at `offset` that let both files share disk blocks."""
    if isinstance(run, int) or run_length(run) < _ALIGNED_FROM or not offset:
        return 0
    return (run[0].offset - offset) % _ALIGNMENT


def move_run(run: list[Slot] | int, reader: ArchiveReader, writer: ArchiveWriter) -> None:
    """Append a run of adjacent entries, after padding, or a single entry of another form."""
    source, columns = _file_of(reader), reader.columns
    if isinstance(run, int):
        raw_name, flags = encode_name(columns.name(run))
        size, checksum = int(columns.uncompressed_sizes[run]), int(columns.crc32s[run])
        if columns.methods[run] == STORED:
            writer.add_copied(raw_name, flags, checksum, size, source.descriptor(), reader.data_offset(run))
        else:
            writer.add_blocks(columns.name(run), size, reader.iter_blocks(run))
        return
    if padding := padding_before(run, writer.offset):
        writer.add_unused(padding)
    start = run[0].offset
    shift = writer.offset - start
    writer.copy(source.descriptor(), start, run_length(run))
    for entry in run:
        writer.directory.add(entry.raw_name, entry.flags, entry.crc32, entry.size, entry.offset + shift)


def _file_of(reader: ArchiveReader) -> FileSource:
    if not isinstance(reader.source, FileSource):
        raise TypeError("expected an archive in a local file")
    return reader.source

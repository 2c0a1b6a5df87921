"""Facts about an archive: its records, and contradictions between them. `ozx.validation` judges the facts.

The audit reads the central directory and all local headers. It reads only those values that begin like an archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ozx.archive.audit.gaps import Layout, find_layout, find_unlisted
from ozx.archive.audit.local_headers import LocalHeaders, read_local_headers
from ozx.archive.byte_source import ByteSource
from ozx.archive.columns import Columns, FileKinds, find_kinds, read_columns
from ozx.archive.directory import END_SEARCH_LENGTH, EndOfDirectory, ends_archive
from ozx.archive.extra_fields import ExtraCensus, count_central_extras, iter_other_paths
from ozx.archive.names.decoding import name_fault
from ozx.archive.names.table import NameIndex
from ozx.archive.reader import BOMB_TOTAL, READABLE_METHODS, ArchiveReader, find_bombs, find_out_of_bounds
from ozx.archive.records import (
    DEFLATED,
    DIGITAL_SIGNATURE,
    END_SIGNATURE,
    FLAG_DATA_DESCRIPTOR,
    FLAG_ENCRYPTED,
    FLAG_PATCH,
    FLAG_STRONG_ENCRYPTION,
    FLAG_UTF8,
    FLAGS_OF_DEFLATE,
    LOCAL_HEADER,
    MASK_16,
    STORED,
)

# Detection of ZIP structures that programs interpret differently, although no two records contradict each other.
#
# Tested with zipfile (CPython 3.11), unzip 6.00, 7-Zip 26.02, bsdtar 3.6.2 and java.util.zip 17; the table is in
# ``docs/explanation/ambiguities.md``.

#: unzip 6.00 reads entries that need at most version 4.6 (4.4.3.2).
MOST_NEEDED = 46
_VMS, _MOST_NEEDED_OF_VMS = 2, 42

_KNOWN_FLAGS = (
    FLAG_ENCRYPTED | FLAGS_OF_DEFLATE | FLAG_DATA_DESCRIPTOR | FLAG_PATCH | FLAG_STRONG_ENCRYPTION | FLAG_UTF8
)
# 7-Zip 26.02 skips entries whose two headers differ in a flag other than these (`FlagsAreSame`).
_LOOSE_FLAGS = FLAG_DATA_DESCRIPTOR | FLAG_UTF8 | FLAG_ENCRYPTED | 1 << 15
_LONGEST_SIGNATURE = 4 + 2 + 0xFFFF

_Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ambiguities:
    """Structures that programs interpret differently; an entry is given as its index in the central directory."""

    other_paths: list[tuple[int, bytes]]  # entries whose Unicode Path field contradicts the name, and the field's name
    broken_local_extras: _Indices  # entries whose local header has extra fields that cannot be parsed
    broken_central_extras: _Indices  # entries whose header in the directory has extra fields that cannot be parsed
    # entries whose two headers differ in a flag that no other check compares
    differing_flags: _Indices
    # entries for which only the local header, or only the directory, announces a data descriptor
    differing_descriptors: _Indices
    patched: _Indices  # entries with the flag for patch data (4.4.4, bit 5)
    unknown_flags: _Indices  # entries with flags that APPNOTE reserves or does not define
    versions: NDArray[np.uint16]  # version needed of each entry, without its upper byte
    # entries that unzip 6.00 refuses: the upper byte of the version needed stands for VMS, and the version exceeds 4.2
    needs_vms: _Indices
    leading_entries: int  # bytes before the first entry of the directory if the file begins with a local header; else 0
    end_in_comment: int | None  # offset of the signature of an end record inside the archive comment, or None
    bytes_after_directory: int  # bytes between the central directory and the end records
    is_signed: bool  # whether these bytes are a digital signature of the directory (4.3.13)


def find_ambiguities(
    source: ByteSource,
    end: EndOfDirectory,
    columns: Columns,
    local: LocalHeaders,
    central_extras: ExtraCensus,
    layout: Layout,
) -> Ambiguities:
    """Return the structures of an archive that programs interpret differently."""
    first = int(columns.header_offsets.min()) if len(columns) else 0
    leading = first if layout.begins_as_entry and not end.prepended else 0
    # 4.3.16: zipfile, unzip and bsdtar look for the last signature in the file, also inside the comment.
    in_comment = end.comment.find(END_SIGNATURE)
    comment_offset = source.size() - end.trailing - len(end.comment)
    after = end.end_offset - end.directory_offset - end.directory_size
    needed = columns.field("<u2", 6)
    differing = (local.flags ^ columns.flags) * (local.lengths >= 0).astype(np.uint16)
    # 4.4.4: bits 1 and 2 say how an entry was deflated, which no reader uses.
    loose = np.where(columns.methods == DEFLATED, _LOOSE_FLAGS | FLAGS_OF_DEFLATE, _LOOSE_FLAGS).astype(np.uint16)
    return Ambiguities(
        other_paths=list(iter_other_paths(columns, [*central_extras.unicode_paths, *local.extras.unicode_paths])),
        broken_local_extras=np.flatnonzero(local.extras.is_broken),
        broken_central_extras=np.flatnonzero(central_extras.is_broken),
        differing_flags=np.flatnonzero(differing & ~loose),
        differing_descriptors=np.flatnonzero(differing & FLAG_DATA_DESCRIPTOR),
        patched=np.flatnonzero(columns.flags & FLAG_PATCH),
        unknown_flags=np.flatnonzero(columns.flags & np.uint16(0xFFFF & ~_KNOWN_FLAGS)),
        versions=needed & np.uint16(0xFF),
        needs_vms=np.flatnonzero((needed >> 8 == _VMS) & ((needed & np.uint16(0xFF)) > _MOST_NEEDED_OF_VMS)),
        leading_entries=leading,
        end_in_comment=None if in_comment < 0 else comment_offset + in_comment,
        bytes_after_directory=after if len(columns) else 0,
        is_signed=_is_signature(source.read_at(end.end_offset - after, min(after, _LONGEST_SIGNATURE)), after),
    )


def _is_signature(data: bytes, length: int) -> bool:
    """Return whether the `length` bytes after the central directory are one digital signature (APPNOTE 4.3.13)."""
    return data.startswith(DIGITAL_SIGNATURE) and length == 6 + int.from_bytes(data[4:6], "little")


# Detection of problematic entry names: repeated names, unsafe names, and names without a declared encoding.

_ARCHIVE_ENDINGS = (b".ozx", b".zip")

# Most names have no fault: they are ASCII components that begin with a letter, a digit or an underscore, and have no
# colon, so that none of them is a drive. Every other name is checked closely.
_PLAIN = re.compile(rb"\w[\w.\-]*(?:/\w[\w.\-]*)*")


@dataclass(frozen=True, slots=True)
class NameFacts:
    """Indices of entries with problematic names, with one field for each problem."""

    faulty: NDArray[np.int64]  # names that `ozx.archive.names.decoding.name_fault` does not allow as store keys
    # names that are not ASCII and not declared to be UTF-8 (bit 11): readers differ in how they decode them
    unmarked: NDArray[np.int64]
    directories: NDArray[np.int64]  # names that end in a slash
    archives: NDArray[np.int64]  # names that end in ``.ozx`` or ``.zip``
    # the entries of each repeated name, compared as text: different bytes may stand for the same text
    duplicates: list[list[int]]
    # pairs of entries: the name of the first is also the name of a folder in which the second lies
    also_folders: list[tuple[int, int]]


def audit_names(columns: Columns) -> NameFacts:
    """Return the problematic names in a central directory."""
    faulty, unmarked, directories, archives = [], [], [], []
    others: dict[str, list[int]] = {}
    for index, raw in enumerate(columns.iter_raw_names()):
        if raw.endswith(b"/"):
            directories.append(index)
        elif raw[-4:].lower() in _ARCHIVE_ENDINGS:
            archives.append(index)
        if _PLAIN.fullmatch(raw):
            continue
        name = columns.name(index)
        if not raw.isascii():
            others.setdefault(name, []).append(index)
            if not columns.flags[index] & FLAG_UTF8:
                unmarked.append(index)
        if name_fault(name) is not None:
            faulty.append(index)
    by_bytes = NameIndex(columns)
    return NameFacts(
        faulty=np.array(faulty, np.int64),
        unmarked=np.array(unmarked, np.int64),
        directories=np.array(directories, np.int64),
        archives=np.array(archives, np.int64),
        duplicates=_duplicates(by_bytes, others),
        also_folders=by_bytes.values_and_folders(),
    )


def iter_names(columns: Columns) -> Iterator[str]:
    """Yield all entry names as text, in the order of the central directory, without keeping all names in memory."""
    for index, raw in enumerate(columns.iter_raw_names()):
        yield raw.decode("ascii") if raw.isascii() else columns.name(index)


def _duplicates(by_bytes: NameIndex, others: dict[str, list[int]]) -> list[list[int]]:
    """Return the entries of each repeated name; names are compared as text, not as bytes."""
    groups = [indices for raw, indices in by_bytes.duplicates() if raw.isascii()]
    for name, indices in others.items():
        plain = by_bytes.find(name.encode("ascii")) if name.isascii() else None
        found = indices if plain is None else [plain, *indices]
        groups += [found] if len(found) > 1 else []
    return groups


@dataclass(frozen=True, slots=True)
class ArchiveFacts:
    """The facts that `audit` collects; an entry is given as its index in the central directory."""

    file_size: int  # length of the file in bytes
    end: EndOfDirectory  # the end records
    columns: Columns  # the central directory
    local: LocalHeaders  # the local file headers, their faults and extra fields
    central_extras: ExtraCensus  # the extra fields of the central directory
    names: NameFacts  # noteworthy names
    kinds: FileKinds  # entries that are no plain files
    layout: Layout  # order, gaps and overlaps
    out_of_bounds: _Indices  # entries that would lie outside the file; their local headers were not read
    encrypted: _Indices
    unreadable_methods: _Indices  # entries that are neither stored nor compressed by deflate or Deflate64
    compressed: _Indices  # entries that are not stored
    uneven: _Indices  # stored entries with two different sizes
    bombs: _Indices  # entries that would inflate like a decompression bomb
    inflated_total: int  # sum of the sizes that all compressed entries declare, in bytes
    on_other_disk: _Indices  # entries in another part of a split archive
    commented: _Indices  # entries with a comment
    embedded: _Indices  # stored entries that are archives by their content
    unlisted: dict[str, int]  # name and offset of undamaged entries that the central directory does not list
    ambiguities: Ambiguities  # facts that readers interpret in different ways

    @property
    def is_bomb(self) -> bool:
        """Whether `ArchiveReader.check` would refuse the archive as a decompression bomb."""
        return len(self.bombs) > 0 or self.inflated_total > BOMB_TOTAL


def audit(reader: ArchiveReader) -> ArchiveFacts:
    """Return the facts about an archive, even if `ArchiveReader` refuses the archive."""
    source, end = reader.source, reader.end
    columns = read_columns(source, end)
    out_of_bounds = find_out_of_bounds(columns, end)
    order = np.argsort(columns.header_offsets, kind="stable")
    inside = order[~np.isin(order, out_of_bounds)] if len(out_of_bounds) else order
    local = read_local_headers(source, columns, inside)
    central_extras = count_central_extras(columns, end.prepended)
    names = audit_names(columns)
    stored = columns.methods == STORED
    sizes = columns.uncompressed_sizes
    is_encrypted = (columns.flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION)) != 0
    disks = columns.field("<u2", 34)
    layout = find_layout(source, end, columns, local, inside, order)
    return ArchiveFacts(
        file_size=source.size(),
        end=end,
        columns=columns,
        local=local,
        central_extras=central_extras,
        names=names,
        kinds=find_kinds(columns, names.directories),
        layout=layout,
        out_of_bounds=out_of_bounds,
        encrypted=np.flatnonzero(is_encrypted),
        unreadable_methods=np.flatnonzero(~np.isin(columns.methods, READABLE_METHODS)),
        compressed=np.flatnonzero(~stored),
        # Encryption adds bytes before a stored value.
        uneven=np.flatnonzero(stored & ~is_encrypted & (columns.compressed_sizes != sizes)),
        bombs=find_bombs(columns),
        inflated_total=sum(sizes[~stored].tolist()),
        # 4.5.3: the number behind the placeholder is in a ZIP64 field.
        on_other_disk=np.flatnonzero((disks != 0) & ((disks != MASK_16) | ~central_extras.has_zip64)),
        commented=np.flatnonzero(columns.field("<u2", 32)),
        embedded=_embedded(source, columns, local),
        unlisted=find_unlisted(source, columns, layout),
        ambiguities=find_ambiguities(source, end, columns, local, central_extras, layout),
    )


def _embedded(source: ByteSource, columns: Columns, local: LocalHeaders) -> _Indices:
    """Return the uncompressed entries whose value begins with a local header and ends with an end record."""
    sizes = columns.compressed_sizes
    candidates = np.flatnonzero(local.begins_as_archive & (columns.methods == STORED) & (sizes > LOCAL_HEADER.size))
    found = []
    for index in candidates.tolist():
        end = int(columns.header_offsets[index]) + int(local.lengths[index]) + int(sizes[index])
        length = min(int(sizes[index]), END_SEARCH_LENGTH)
        if ends_archive(source.read_at(end - length, length)):
            found.append(index)
    return np.array(found, np.int64)

"""Facts about an archive: its records, and contradictions between them. `ozx.validation` judges the facts.

The audit reads the central directory and all local headers. It reads only those values that begin like an archive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ozx.archive.audit.gaps import Layout, find_unlisted
from ozx.archive.audit.local_headers import LocalHeaderTable
from ozx.archive.columns import Columns, find_kinds, read_columns
from ozx.archive.directory import END_SEARCH_LENGTH, ends_archive
from ozx.archive.extra_fields import count_central_extras, iter_other_paths
from ozx.archive.names.decoding import name_fault
from ozx.archive.names.table import NameIndex
from ozx.archive.reader import READABLE_METHODS, ArchiveReader, find_bombs, find_out_of_bounds
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
from ozx.places.byte_source import ByteSource

# What programs interpret differently was tested with zipfile (CPython 3.11), unzip 6.00, 7-Zip 26.02, bsdtar 3.6.2 and
# java.util.zip 17; the table is in ``docs/explanation/ambiguities.md``.

#: unzip 6.00 reads entries that need at most version 4.6 (4.4.3.2).
MOST_NEEDED = 46
_VMS, _MOST_NEEDED_OF_VMS = 2, 42

_KNOWN_FLAGS = (
    FLAG_ENCRYPTED | FLAGS_OF_DEFLATE | FLAG_DATA_DESCRIPTOR | FLAG_PATCH | FLAG_STRONG_ENCRYPTION | FLAG_UTF8
)
# 7-Zip 26.02 skips entries whose two headers differ in a flag other than these (`FlagsAreSame`).
_LOOSE_FLAGS = FLAG_DATA_DESCRIPTOR | FLAG_UTF8 | FLAG_ENCRYPTED | 1 << 15
_LONGEST_SIGNATURE = 4 + 2 + 0xFFFF

_ARCHIVE_ENDINGS = (b".ozx", b".zip")


def _duplicates(by_bytes: NameIndex, others: dict[str, list[int]]) -> list[list[int]]:
    """Return the entries of each repeated name; names are compared as text, not as bytes."""
    groups = [indices for raw, indices in by_bytes.duplicates() if raw.isascii()]
    for name, indices in others.items():
        plain = by_bytes.find(name.encode("ascii")) if name.isascii() else None
        found = indices if plain is None else [plain, *indices]
        groups += [found] if len(found) > 1 else []
    return groups


class ArchiveFacts:
    """The facts about an archive, even one that `ArchiveReader` refuses; an entry is its index in the directory."""

    def __init__(self, reader: ArchiveReader) -> None:
        source = self._source = reader.source
        end = self.end = reader.end
        columns = self.columns = read_columns(source, end)
        self.file_size = source.size()
        # entries that would lie outside the file; their local headers are not read
        self.out_of_bounds = find_out_of_bounds(columns, end)
        order = np.argsort(columns.header_offsets, kind="stable")
        inside = order[~np.isin(order, self.out_of_bounds)] if len(self.out_of_bounds) else order
        self.local = LocalHeaderTable(source, columns, inside)
        self.central_extras = count_central_extras(columns, end.prepended)
        self.layout = Layout(source, end, columns, self.local, inside, order)
        # name and offset of undamaged entries that the central directory does not list
        self.unlisted = find_unlisted(source, columns, self.layout)
        self._look_at_names()
        # entries that are no plain files, see `find_kinds`
        self.symlinks, self.special, self.folder_values, self.volume_labels = find_kinds(columns, self.directories)
        self._look_at_methods()
        self._look_at_flags()
        self._look_at_ends()

    def _look_at_names(self) -> None:
        """Find problematic entry names: repeated names, unsafe names, and names without a declared encoding."""
        columns = self.columns
        faulty, unmarked = [], []
        others: dict[str, list[int]] = {}
        for index in columns.suspects().tolist():
            name = columns.name(index)
            if not columns.raw_name(index).isascii():
                others.setdefault(name, []).append(index)
                if not columns.flags[index] & FLAG_UTF8:
                    unmarked.append(index)
            if name_fault(name) is not None:
                faulty.append(index)
        by_bytes = NameIndex(columns)
        self.faulty_names = faulty  # see `name_fault`
        # names that are not ASCII and not declared to be UTF-8 (bit 11): readers differ in how they decode them
        self.unmarked_names = unmarked
        self.directories = np.flatnonzero(columns.are_folders())
        # names that end in ``.ozx`` or ``.zip``
        raw_names = enumerate(columns.iter_raw_names())
        self.archive_names = [index for index, raw in raw_names if raw[-4:].lower() in _ARCHIVE_ENDINGS]
        # the entries of each repeated name, compared as text: different bytes may stand for the same text
        self.duplicates = _duplicates(by_bytes, others)
        # pairs of entries: the name of the first is also the name of a folder in which the second lies
        self.also_folders = by_bytes.values_and_folders()
        # entries whose Unicode Path field contradicts the name, and the field's name
        paths = (*self.central_extras.unicode_paths, *self.local.extras.unicode_paths)
        self.other_paths = dict(iter_other_paths(columns, paths))

    def _look_at_methods(self) -> None:
        """Find entries that cannot be read, or only after decompression."""
        columns, sizes = self.columns, self.columns.uncompressed_sizes
        stored = columns.methods == STORED
        is_encrypted = (columns.flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION)) != 0
        self.encrypted = np.flatnonzero(is_encrypted)
        self.unreadable_methods = np.flatnonzero(~np.isin(columns.methods, READABLE_METHODS))
        self.compressed = np.flatnonzero(~stored)
        # Stored entries with two different sizes. Encryption adds bytes before a stored value.
        self.uneven = np.flatnonzero(stored & ~is_encrypted & (columns.compressed_sizes != sizes))
        self.bombs = find_bombs(columns)
        self.inflated_total = sum(sizes[~stored].tolist())  # as the entries declare it, in bytes
        # Entries in another part of a split archive. 4.5.3: the number behind the placeholder is in a ZIP64 field.
        disks = columns.field("<u2", 34)
        self.on_other_disk = np.flatnonzero((disks != 0) & ((disks != MASK_16) | ~self.central_extras.has_zip64))
        self.commented = np.flatnonzero(columns.field("<u2", 32))
        self.embedded = _embedded(self._source, columns, self.local)  # stored entries that are archives by content

    def _look_at_flags(self) -> None:
        columns, local = self.columns, self.local
        differing = (local.flags ^ columns.flags) * (local.lengths >= 0).astype(np.uint16)
        # 4.4.4: bits 1 and 2 say how an entry was deflated, which no reader uses.
        loose = np.where(columns.methods == DEFLATED, _LOOSE_FLAGS | FLAGS_OF_DEFLATE, _LOOSE_FLAGS).astype(np.uint16)
        # entries whose two headers differ in a flag that no other check compares
        self.differing_flags = np.flatnonzero(differing & ~loose)
        # entries for which only the local header, or only the directory, announces a data descriptor
        self.differing_descriptors = np.flatnonzero(differing & FLAG_DATA_DESCRIPTOR)
        self.patched = np.flatnonzero(columns.flags & FLAG_PATCH)
        # flags that APPNOTE reserves or does not define
        self.unknown_flags = np.flatnonzero(columns.flags & np.uint16(0xFFFF & ~_KNOWN_FLAGS))
        needed = columns.field("<u2", 6)
        self.versions = needed & np.uint16(0xFF)
        # entries that unzip 6.00 refuses: the upper byte of the version needed stands for VMS
        self.needs_vms = np.flatnonzero((needed >> 8 == _VMS) & (self.versions > _MOST_NEEDED_OF_VMS))

    def _look_at_ends(self) -> None:
        """Look at the bytes before the first entry, after the central directory, and in the archive comment."""
        end, columns = self.end, self.columns
        first = int(columns.header_offsets.min()) if len(columns) else 0
        # bytes before the first entry of the directory if the file begins with a local header
        self.leading_entries = first if self.layout.begins_as_entry and not end.prepended else 0
        # The offset of an end record's signature inside the comment. 4.3.16: zipfile, unzip and bsdtar look for the
        # last signature in the file, also inside the comment.
        in_comment = end.comment.find(END_SIGNATURE)
        comment_offset = self.file_size - end.trailing - len(end.comment)
        self.end_in_comment = None if in_comment < 0 else comment_offset + in_comment
        # Bytes between the central directory and the end records, and whether they are one digital signature (4.3.13).
        after = end.end_offset - end.directory_offset - end.directory_size
        self.bytes_after_directory = after if len(columns) else 0
        data = self._source.read_at(end.end_offset - after, min(after, _LONGEST_SIGNATURE))
        self.is_signed = data.startswith(DIGITAL_SIGNATURE) and after == 6 + int.from_bytes(data[4:6], "little")


def _embedded(source: ByteSource, columns: Columns, local: LocalHeaderTable) -> NDArray[np.int64]:
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

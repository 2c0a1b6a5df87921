"""Facts about an archive: its records, and contradictions between them. `ozx.validation` judges the facts.

The audit reads the central directory and all local headers. It reads only those values that begin like an archive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ozx.archive.audit.ambiguities import Ambiguities, find_ambiguities
from ozx.archive.audit.gaps import Layout, find_layout
from ozx.archive.audit.local_headers import LocalHeaders, read_local_headers
from ozx.archive.audit.names import NameFacts, audit_names
from ozx.archive.audit.unlisted import find_unlisted
from ozx.archive.byte_source import ByteSource
from ozx.archive.columns import Columns, read_columns
from ozx.archive.directory import END_SEARCH_LENGTH, EndOfDirectory, ends_archive
from ozx.archive.extra_fields import ExtraCensus
from ozx.archive.file_kinds import FileKinds, central_field, find_kinds
from ozx.archive.reader import BOMB_TOTAL, READABLE_METHODS, ArchiveReader, find_bombs, find_out_of_bounds
from ozx.archive.records import (
    FLAG_ENCRYPTED,
    FLAG_STRONG_ENCRYPTION,
    LOCAL_HEADER,
    MASK_16,
    STORED,
)
from ozx.archive.unicode_paths import count_central_extras

_Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Zip64Use:
    """The ZIP64 structures that an archive uses."""

    end_record: bool  # whether it has the ZIP64 end record and its locator
    local_extras: int  # number of local headers with a ZIP64 field
    central_extras: int  # number of central directory headers with a ZIP64 field

    def __bool__(self) -> bool:
        return self.end_record or self.local_extras > 0 or self.central_extras > 0


@dataclass(frozen=True, slots=True)
class ArchiveFacts:
    """The facts that `audit` collects; an entry is given as its index in the central directory."""

    file_size: int  # length of the file in bytes
    end: EndOfDirectory  # the end records
    columns: Columns  # the central directory
    local: LocalHeaders  # the local file headers, their faults and extra fields
    central_extras: ExtraCensus  # the extra fields of the central directory
    zip64: Zip64Use  # the ZIP64 structures in use
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
    """Return the facts about an archive, even if `ArchiveReader` refuses the archive.

    Examples
    --------
    >>> facts = audit(ArchiveReader("cells.ozx"))
    >>> facts.zip64.end_record, facts.layout.overlaps
    (True, ())
    """
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
    disks = central_field(columns, "<u2", 34)
    layout = find_layout(source, end, columns, local, inside, order)
    return ArchiveFacts(
        file_size=source.size(),
        end=end,
        columns=columns,
        local=local,
        central_extras=central_extras,
        zip64=Zip64Use(end.has_zip64_end, int(local.extras.has_zip64.sum()), int(central_extras.has_zip64.sum())),
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
        commented=np.flatnonzero(central_field(columns, "<u2", 32)),
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

"""Detection of ZIP structures that programs interpret differently, although no two records contradict each other.

Tested with zipfile (CPython 3.11), unzip 6.00, 7-Zip 26.02, bsdtar 3.6.2 and java.util.zip 17; the table is in
``docs/explanation/ambiguities.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ozx.archive.audit.gaps import Layout
from ozx.archive.audit.local_headers import LocalHeaders
from ozx.archive.byte_source import ByteSource
from ozx.archive.columns import Columns
from ozx.archive.directory import EndOfDirectory
from ozx.archive.extra_fields import ExtraCensus
from ozx.archive.file_kinds import central_field
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
)
from ozx.archive.unicode_paths import OtherPath, iter_other_paths

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

    other_paths: list[OtherPath]  # Unicode Path fields that contradict the name
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
    needed = central_field(columns, "<u2", 6)
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

"""Check that no value follows the local header of an entry whose declared size is 0.

The CRC-32 of an empty value is 0. A header whose CRC-32 and sizes were overwritten with zeros therefore looks like the
header of an empty entry. A comparison of both headers may not show the damage: the other header may be overwritten,
too, or its numbers may follow in a data descriptor (APPNOTE 4.4.4, bit 3).
"""

from __future__ import annotations

import struct

from ozx.archive.records import (
    CENTRAL_SIGNATURE,
    EXTRA_ZIP64,
    LOCAL_SIGNATURE,
    MASK_32,
    SPLIT_SIGNATURE,
    CentralHeader,
    iter_extra_fields,
)

# 4.3.9: a data descriptor without its signature, with sizes of 4 bytes or, for ZIP64, of 8 bytes.
_DESCRIPTOR, _WIDE_DESCRIPTOR = struct.Struct("<3I"), struct.Struct("<I2Q")
_NEXT = (LOCAL_SIGNATURE, CENTRAL_SIGNATURE)

#: Number of bytes to look at behind an empty entry's local header: a descriptor, and the next signature.
ROOM_OF_EMPTY = len(SPLIT_SIGNATURE) + _WIDE_DESCRIPTOR.size + len(LOCAL_SIGNATURE)


def says_nothing_of_sizes(extra: bytes) -> bool:
    """Return whether the ZIP64 fields in the local header of an empty entry contain only zeros (APPNOTE 4.5.3)."""
    return not any(any(field.data) for field in iter_extra_fields(extra) if field.identifier == EXTRA_ZIP64)


def follows_empty(header: CentralHeader, behind: bytes, *, is_streamed: bool) -> bool:
    """Return whether an entry can be empty, given the bytes after its local header.

    The entry can be empty if the next record or no bytes follow. With `is_streamed`, the local header announces a data
    descriptor: then the descriptor of an empty value may come first. Without `is_streamed`, unused zeros may follow.
    Any other bytes prove that a value, or the descriptor of a value, follows.
    """
    if not behind or behind.startswith(_NEXT):
        return True
    if not is_streamed:
        return not any(behind)
    for signature in (SPLIT_SIGNATURE, b""):
        for form in (_DESCRIPTOR, _WIDE_DESCRIPTOR):
            descriptor = signature + form.pack(header.crc32, 0, header.uncompressed_size & MASK_32)
            rest = behind[len(descriptor) :]
            # Zeros may also be a value with its own descriptor behind it: so check what follows the zeros.
            if behind.startswith(descriptor) and (not rest or rest.startswith(_NEXT)):
                return True
    return len(behind) < _DESCRIPTOR.size  # too short for a descriptor

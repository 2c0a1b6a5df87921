"""Reading of one entry's value; the local header must agree with the header in the central directory.

This module works without numpy, because the import of numpy takes longer than the reading of a few entries.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ozx.archive.names.decoding import contradicting_path, entry_name
from ozx.archive.records import (
    CENTRAL_SIGNATURE,
    EXTRA_UNICODE_PATH,
    EXTRA_ZIP64,
    FLAG_DATA_DESCRIPTOR,
    FLAG_ENCRYPTED,
    FLAG_STRONG_ENCRYPTION,
    FLAG_UTF8,
    LOCAL_HEADER,
    LOCAL_SIGNATURE,
    MASK_32,
    SPLIT_SIGNATURE,
    STORED,
    CentralHeader,
    LocalHeader,
    iter_extra_fields,
    local_header_length,
    method_name,
    resolve_zip64,
)
from ozx.crc32 import crc32
from ozx.errors import FormatError, UnsupportedError
from ozx.places.byte_source import ByteSource, iter_exactly, keep_span, read_exactly

# Nearly all local file headers are shorter, so that one read suffices.
_HEADER_GUESS = 512

_UNICODE_PATH = EXTRA_UNICODE_PATH.to_bytes(2, "little")


class ReadAheadSource:
    """A source that reads ahead in blocks of at least `block` bytes, so that consecutive entries need few reads.

    The source keeps one block in memory: use it from one thread only.
    """

    def __init__(self, source: ByteSource, block: int = 1 << 17, *, keeps: bool = False) -> None:
        self._source = source
        self._block = block
        self._keeps = keeps  # whether the blocks are metadata, which a remote source keeps for later runs
        self._start = 0
        self._data = b""

    @property
    def name(self) -> str:
        """Name of the source in messages."""
        return self._source.name

    def size(self) -> int:
        """Return the length of the source in bytes."""
        return self._source.size()

    def read_at(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer bytes at the end of the source."""
        position = offset - self._start
        if position < 0 or position + length > len(self._data):
            self._data = self._source.read_at(offset, max(length, self._block))
            if self._keeps:
                keep_span(self._source, offset, self._data)
            self._start, position = offset, 0
        return self._data[position : position + length]

    def check_unchanged(self) -> None:
        """Raise `FormatError` if the source changed after the first read."""
        self._source.check_unchanged()


def read_header_at(source: ByteSource, start: int) -> LocalHeader:
    """Return the local file header at an offset; its ZIP64 values are not resolved."""
    data = source.read_at(start, _HEADER_GUESS)
    needed = LOCAL_HEADER.size
    if len(data) >= needed and data.startswith(LOCAL_SIGNATURE):
        needed = local_header_length(data)
    if needed > len(data):
        data = read_exactly(source, start, needed, "a local file header")
    return LocalHeader.from_bytes(data)


def read_local_header(source: ByteSource, header: CentralHeader) -> LocalHeader:
    """Return an entry's local file header; its ZIP64 values are not resolved."""
    start = header.header_offset
    try:
        return read_header_at(source, start)
    except FormatError as error:
        message = f"entry {entry_name(header)!r}, local file header at {start:,}: {error.message}"
        raise FormatError(message, path=source.name, rule=error.rule) from None


def header_contradiction(header: CentralHeader, local: LocalHeader) -> str | None:
    """Return a description of the first difference between the two headers of an entry, or None.

    Sizes and CRC-32 may be zero in a local header whose bit 3 announces a data descriptor (APPNOTE 4.4.4).
    """
    if local.name != header.name:
        return f"the local header names it {local.name.decode('utf-8', 'replace')!r}"
    if not local.name.isascii() and (local.flags ^ header.flags) & FLAG_UTF8:
        return "its two headers declare different encodings of the name"
    if local.method != header.method:
        here, there = method_name(local.method), method_name(header.method)
        return f"its method is {here} in the local header, {there} in the central directory"
    if (local.flags ^ header.flags) & FLAG_ENCRYPTED:
        return "only one of its two headers declares the entry as encrypted"
    return _path_contradiction(header, local) or _number_contradiction(header, local)


def _path_contradiction(header: CentralHeader, local: LocalHeader) -> str | None:
    """Return a description of a Unicode Path field that contradicts the entry's name (APPNOTE 4.6.9), or None."""
    for place, extra in (("local header", local.extra), ("central directory", header.extra)):
        if _UNICODE_PATH not in extra:
            continue
        for identifier, data in iter_extra_fields(extra):
            if identifier == EXTRA_UNICODE_PATH:
                path = contradicting_path(header.name, header.flags, data)
                if path is not None:
                    return f"a Unicode Path field of the {place} names it {path.decode('utf-8', 'replace')!r}"
    return None


def _number_contradiction(header: CentralHeader, local: LocalHeader) -> str | None:
    try:
        uncompressed, compressed = resolve_zip64((local.uncompressed_size, local.compressed_size), local.extra)
    except FormatError as error:
        return f"in the local header, {error.message}"
    pairs = (
        ("CRC-32", local.crc32, header.crc32),
        ("stored size", compressed, header.compressed_size),
        ("original size", uncompressed, header.uncompressed_size),
    )
    for field, here, there in pairs:
        if here == there or (here == 0 and local.flags & FLAG_DATA_DESCRIPTOR):
            continue
        # `ozx.archive.columns` restores sizes that a writer without ZIP64 wrote modulo 2**32.
        if here != there & MASK_32 or any(
            identifier == EXTRA_ZIP64 for identifier, _ in iter_extra_fields(header.extra)
        ):
            return f"its {field} is {here:,} in the local header, {there:,} in the central directory"
    return None


def check_not_encrypted(source: ByteSource, header: CentralHeader) -> None:
    """Raise an error if an entry is encrypted."""
    if header.flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION):
        raise UnsupportedError(
            f"entry {entry_name(header)!r} is encrypted",
            path=source.name,
            rule="zip/encrypted",
            hint="Enter the password in the program that wrote the file, unpack it, then run ozx pack on the folder.",
        )


def check_stored_size(source: ByteSource, header: CentralHeader) -> None:
    """Raise an error if the compressed and uncompressed sizes of a stored entry differ."""
    if header.method == STORED and header.compressed_size != header.uncompressed_size:
        raise FormatError(
            f"entry {entry_name(header)!r} is not compressed, but declares {header.compressed_size:,} "
            f"compressed and {header.uncompressed_size:,} uncompressed bytes",
            path=source.name,
            rule="zip/stored-size",
        )


def find_data(source: ByteSource, header: CentralHeader, limit: int) -> int:
    """Check the local header of an entry, and return the offset of the data after it.

    The offset in `header` counts from the file's first byte; `limit` is the offset of the next entry or of the central
    directory.
    """
    check_not_encrypted(source, header)
    if header.header_offset + header.compressed_size > source.size():
        raise FormatError(
            f"entry {entry_name(header)!r} declares {header.compressed_size:,} bytes at {header.header_offset:,}, "
            f"but the file ends at {source.size():,}",
            path=source.name,
            rule="zip/bounds",
        )
    local = read_local_header(source, header)
    offset = data_offset_behind(source, header, local, limit)
    if header.compressed_size == 0 and offset < limit:
        check_empty(source, header, local, source.read_at(offset, min(ROOM_OF_EMPTY, limit - offset)))
    return offset


# Check that no value follows the local header of an entry whose declared size is 0.
#
# The CRC-32 of an empty value is 0. A header whose CRC-32 and sizes were overwritten with zeros therefore looks like
# the header of an empty entry. A comparison of both headers may not show the damage: the other header may be
# overwritten, too, or its numbers may follow in a data descriptor (APPNOTE 4.4.4, bit 3).

# 4.3.9: a data descriptor without its signature, with sizes of 4 bytes or, for ZIP64, of 8 bytes.
_DESCRIPTOR, _WIDE_DESCRIPTOR = struct.Struct("<3I"), struct.Struct("<I2Q")
_NEXT = (LOCAL_SIGNATURE, CENTRAL_SIGNATURE)

#: Number of bytes to look at behind an empty entry's local header: a descriptor, and the next signature.
ROOM_OF_EMPTY = len(SPLIT_SIGNATURE) + _WIDE_DESCRIPTOR.size + len(LOCAL_SIGNATURE)


def says_nothing_of_sizes(extra: bytes) -> bool:
    """Return whether the ZIP64 fields in the local header of an empty entry contain only zeros (APPNOTE 4.5.3)."""
    return not any(any(data) for identifier, data in iter_extra_fields(extra) if identifier == EXTRA_ZIP64)


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


def check_empty(source: ByteSource, header: CentralHeader, local: LocalHeader, behind: bytes) -> None:
    """Check that an entry with a declared size of 0 is empty, given the bytes after its local header."""
    is_streamed = bool(local.flags & FLAG_DATA_DESCRIPTOR)
    if not says_nothing_of_sizes(local.extra):
        raise FormatError(
            f"entry {entry_name(header)!r}: it is empty according to the central directory, but its local header at "
            f"{header.header_offset:,} has a ZIP64 field with a size",
            path=source.name,
            rule="zip/local-header",
        )
    if not follows_empty(header, behind, is_streamed=is_streamed):
        expected = "the data descriptor of an empty entry is missing after" if is_streamed else "unused bytes follow"
        raise FormatError(
            f"entry {entry_name(header)!r}: it is empty according to the central directory, but {expected} its "
            f"local header at "
            f"{header.header_offset:,}",
            path=source.name,
            rule="zip/local-header",
        )


def data_offset_behind(source: ByteSource, header: CentralHeader, local: LocalHeader, limit: int) -> int:
    """Check that both headers of an entry agree; return the offset of the entry's data."""
    name = entry_name(header)
    contradiction = header_contradiction(header, local)
    if contradiction is not None:
        raise FormatError(
            f"entry {name!r}: {contradiction} (local file header at {header.header_offset:,})",
            path=source.name,
            rule="zip/local-header",
        )
    check_stored_size(source, header)
    offset = header.header_offset + local.length
    if offset + header.compressed_size > limit:
        raise FormatError(
            f"entry {name!r} extends beyond {limit:,}, where another entry or the central directory begins",
            path=source.name,
            rule="zip/overlap",
        )
    return offset


def iter_value(
    source: ByteSource, header: CentralHeader, limit: int, data_offset: int | None = None
) -> Iterator[bytes]:
    """Yield the value of an entry in blocks of about 1 MiB; check its CRC-32 after the last block.

    Source, header and limit are those of `find_data`, and `data_offset` is its result, if known.
    """
    try:
        offset = find_data(source, header, limit) if data_offset is None else data_offset
        blocks = iter_exactly(source, offset, header.compressed_size, f"entry {entry_name(header)!r}")
        if header.method != STORED:
            from ozx.archive.inflate import iter_inflated  # noqa: PLC0415 (few archives need it)

            blocks = iter_inflated(header.method, blocks, header.uncompressed_size)
        checksum = 0
        for block in blocks:
            checksum = crc32(block, checksum)
            yield block
        check_crc32(source, header, checksum)
    except (FormatError, UnsupportedError) as error:
        if error.path is None:
            error.message = f"entry {entry_name(header)!r}: {error.message}"
        raise error.at(source.name) from None


def check_crc32(source: ByteSource, header: CentralHeader, checksum: int) -> None:
    """Raise `FormatError` if the CRC-32 of a value differs from the CRC-32 in the entry's header."""
    if checksum != header.crc32:
        name = entry_name(header)
        is_root = name == "zarr.json"  # `ozx recover` needs it
        raise FormatError(
            f"entry {name!r}: expected CRC-32 {header.crc32:08x}, found {checksum:08x}; its bytes are damaged",
            path=source.name,
            rule="zip/crc",
            hint="Copy or download the file again; `ozx recover FILE OUT.ozx` "
            + ("shows how to extract the other values." if is_root else "saves the undamaged parts."),
        )

"""The records of a ZIP file (APPNOTE 4.3 to 4.5): conversion between bytes and fields."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ozx.errors import FormatError

LOCAL_SIGNATURE = b"PK\x03\x04"
CENTRAL_SIGNATURE = b"PK\x01\x02"
END_SIGNATURE = b"PK\x05\x06"
# 4.3.13: the beginning of a digital signature of the central directory; two bytes with its length follow.
DIGITAL_SIGNATURE = b"PK\x05\x05"
ZIP64_END_SIGNATURE = b"PK\x06\x06"
ZIP64_LOCATOR_SIGNATURE = b"PK\x06\x07"
# 8.5.3: the beginning of the first part of a split archive. A data descriptor (4.3.9) may begin with the same bytes.
SPLIT_SIGNATURE = b"PK\x07\x08"

# 4.3.7: signature, version needed, flags, method, time, date, crc-32, compressed and uncompressed size,
# lengths of name and extra field.
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
# 4.3.12: signature, version made by, version needed, flags, method, time, date, crc-32, compressed and
# uncompressed size, lengths of name, extra field and comment, disk, internal and external attributes, offset.
CENTRAL_HEADER = struct.Struct("<4s6H3I5H2I")
# 4.3.16: signature, this disk, disk of the directory, entries here, entries in all, size, offset, comment length.
END_RECORD = struct.Struct("<4s4H2IH")
# 4.3.14: signature, size of the rest, version made by, version needed, this disk, disk of the directory,
# entries here, entries in all, size, offset.
ZIP64_END_RECORD = struct.Struct("<4sQ2H2I4Q")
# 4.3.15: signature, disk of the ZIP64 end record, its offset, number of disks.
ZIP64_LOCATOR = struct.Struct("<4sIQI")

MASK_16 = 0xFFFF
MASK_32 = 0xFFFFFFFF

# 4.4.5
STORED, DEFLATED, DEFLATE64 = 0, 8, 9
METHOD_NAMES = {
    STORED: "stored",
    1: "shrunk",
    6: "imploded",
    DEFLATED: "deflated",
    DEFLATE64: "deflate64",
    12: "bzip2",
    14: "lzma",
    93: "zstd",
    95: "xz",
    98: "ppmd",
    99: "aes",
}

# 4.4.4
FLAG_ENCRYPTED = 1 << 0
FLAGS_OF_DEFLATE = 1 << 1 | 1 << 2
FLAG_DATA_DESCRIPTOR = 1 << 3
FLAG_PATCH = 1 << 5
FLAG_STRONG_ENCRYPTION = 1 << 6
FLAG_UTF8 = 1 << 11

EXTRA_ZIP64 = 0x0001  # 4.5.3
EXTRA_UNICODE_PATH = 0x7075  # 4.6.9
EXTRA_TIMES = 0x5455  # 4.6.1
EXTRA_AES = 0x9901  # 4.6.1
EXTRA_UNIX = 0x7875  # Info-ZIP: owner and group


def method_name(method: int) -> str:
    """Return the usual name of a compression method, such as ``"deflated"``, or its number, such as ``"method 42"``."""
    return METHOD_NAMES.get(method, f"method {method}")


def local_header_length(fixed: bytes | memoryview, position: int = 0) -> int:
    """Return the length of a local header, with name and extra field (4.3.7), from its fixed part at `position`."""
    name, extra = struct.unpack_from("<2H", fixed, position + 26)
    return LOCAL_HEADER.size + int(name + extra)


def central_header_length(fixed: bytes | memoryview, position: int = 0) -> int:
    """Return the length of a header of the directory, with all that is in it (4.3.12), from its fixed part."""
    name, extra, comment = struct.unpack_from("<3H", fixed, position + 28)
    return CENTRAL_HEADER.size + int(name + extra + comment)


def iter_extra_fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the id and the data of each extra field in a block (APPNOTE 4.5); ignore too few bytes at its end."""
    position = 0
    while position + 4 <= len(extra):
        identifier, length = struct.unpack_from("<HH", extra, position)
        position += 4
        if position + length > len(extra):
            return
        yield identifier, extra[position : position + length]
        position += length


def resolve_zip64(values: tuple[int, ...], extra: bytes) -> tuple[int, ...]:
    """Replace each 0xFFFFFFFF in `values` by the 64-bit value from the ZIP64 extra field (APPNOTE 4.5.3).

    The values are in the order of that field: uncompressed size, compressed size, header offset.
    """
    if MASK_32 not in values:
        return values
    data = next((data for identifier, data in iter_extra_fields(extra) if identifier == EXTRA_ZIP64), None)
    needed = 8 * values.count(MASK_32)
    if data is None or len(data) < needed:
        found = "no ZIP64 extra field" if data is None else f"a ZIP64 extra field of {len(data)} bytes"
        raise FormatError(
            f"a size or offset of 0xFFFFFFFF needs a ZIP64 extra field of at least {needed} bytes; found {found}",
            rule="zip/zip64-field",
        )
    wide = iter(struct.unpack_from(f"<{needed // 8}Q", data))
    return tuple(next(wide) if value == MASK_32 else value for value in values)


class LocalHeader(NamedTuple):
    """A local file header (APPNOTE 4.3.7), without resolution of its ZIP64 values."""

    version_needed: int
    flags: int
    method: int
    crc32: int
    compressed_size: int
    uncompressed_size: int
    name: bytes
    extra: bytes

    @property
    def length(self) -> int:
        """The length of the header in bytes, including name and extra field."""
        return LOCAL_HEADER.size + len(self.name) + len(self.extra)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, position: int = 0) -> LocalHeader:
        """Parse the header at offset `position` of `data`."""
        end = position + LOCAL_HEADER.size
        if end > len(data):
            raise FormatError(
                f"a local file header needs {LOCAL_HEADER.size} bytes; found {max(0, len(data) - position)}",
                rule="zip/truncated",
            )
        fields = LOCAL_HEADER.unpack_from(data, position)
        if fields[0] != LOCAL_SIGNATURE:
            raise FormatError(
                f"expected the signature of a local file header, {LOCAL_SIGNATURE!r}; found {fields[0]!r}",
                rule="zip/local-header",
            )
        name_end = end + fields[9]
        if name_end + fields[10] > len(data):
            raise FormatError("the name of a local file header runs past the end of the data", rule="zip/truncated")
        name, extra = bytes(data[end:name_end]), bytes(data[name_end : name_end + fields[10]])
        return cls(fields[1], fields[2], fields[3], fields[6], fields[7], fields[8], name, extra)


class CentralHeader(NamedTuple):
    """A central directory header (APPNOTE 4.3.12), with ZIP64 values resolved."""

    version_made_by: int
    flags: int
    method: int
    crc32: int
    compressed_size: int
    uncompressed_size: int
    external_attributes: int
    header_offset: int
    name: bytes
    extra: bytes
    length: int

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, position: int = 0) -> CentralHeader:
        """Parse the header at offset `position` of `data`."""
        end = position + CENTRAL_HEADER.size
        if end > len(data):
            raise FormatError("the central directory ends within a header", rule="zip/directory")
        fields = CENTRAL_HEADER.unpack_from(data, position)
        if fields[0] != CENTRAL_SIGNATURE:
            raise FormatError(
                f"expected the signature of a central directory header, {CENTRAL_SIGNATURE!r}; found {fields[0]!r}",
                rule="zip/directory",
            )
        name_end = end + fields[10]
        extra_end = name_end + fields[11]
        length = extra_end + fields[12] - position
        if position + length > len(data):
            raise FormatError("the last header of the central directory is cut off", rule="zip/directory")
        extra = bytes(data[name_end:extra_end])
        uncompressed, compressed, offset = resolve_zip64((fields[9], fields[8], fields[16]), extra)
        name = bytes(data[end:name_end])
        values = fields[1], fields[3], fields[4], fields[7], compressed, uncompressed, fields[15], offset
        return cls(*values, name, extra, length)


class EndRecord(NamedTuple):
    """The classic end of central directory record (APPNOTE 4.3.16), without resolution of ZIP64 values."""

    disk: int
    directory_disk: int
    entries_on_disk: int
    entries: int
    directory_size: int
    directory_offset: int
    comment_length: int

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, position: int = 0) -> EndRecord:
        """Parse the record at offset `position` of `data`: 22 bytes, including the signature."""
        return cls(*END_RECORD.unpack_from(data, position)[1:])

"""Archives, correct or wrong, made by hand from the tables of APPNOTE, without code of ozx."""

import struct
import zlib
from dataclasses import dataclass, field

SENTINEL = 0xFFFFFFFF
ENCRYPTED, DESCRIPTOR, UTF8 = 0x1, 0x8, 0x800


def record(layout: str, values: dict[str, int], changes: dict[str, int]) -> bytes:
    """Pack `values` with `changes`; a misspelt field is an error."""
    assert changes.keys() <= values.keys(), changes.keys() - values.keys()
    return struct.pack(layout, *(values | changes).values())


def extra_field(identifier: int, data: bytes) -> bytes:
    return struct.pack("<HH", identifier, len(data)) + data


def zip64_extra(*values: int) -> bytes:
    return extra_field(1, struct.pack(f"<{len(values)}Q", *values))


def deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@dataclass
class Member:
    """One entry; `local` and `central` replace header fields by name, `follow` stands after the data."""

    name: bytes
    data: bytes = b""
    value: bytes | None = None  # what the data inflates to
    method: int = 0
    flags: int = 0
    local: dict = field(default_factory=dict)
    central: dict = field(default_factory=dict)
    local_extra: bytes = b""
    central_extra: bytes = b""
    comment: bytes = b""
    follow: bytes = b""

    def common(self) -> dict[str, int]:
        value = self.data if self.value is None else self.value
        return {
            "version": 20,
            "flags": self.flags,
            "method": self.method,
            "time": 0,
            "date": 33,
            "crc": zlib.crc32(value),
            "compressed": len(self.data),
            "uncompressed": len(value),
            "name_length": len(self.name),
        }

    def local_record(self) -> bytes:
        """Return the local header (4.3.7) and the data."""
        values = {"signature": 0x04034B50} | self.common() | {"extra_length": len(self.local_extra)}
        changes = dict(self.local)
        name = changes.pop("name", self.name)
        values["name_length"] = len(name)
        return record("<IHHHHHIIIHH", values, changes) + name + self.local_extra + self.data + self.follow

    def central_record(self, offset: int) -> bytes:
        """Return the header in the directory (4.3.12)."""
        values = {"signature": 0x02014B50, "made_by": 20} | self.common()
        values |= {"extra_length": len(self.central_extra), "comment_length": len(self.comment)}
        values |= {"disk": 0, "internal": 0, "external": 0, "offset": offset}
        changes = dict(self.central)
        name = changes.pop("name", self.name)
        values["name_length"] = len(name)
        return record("<IHHHHHHIIIHHHHHII", values, changes) + name + self.central_extra + self.comment


def end_record(entries: int, size: int, offset: int, comment: bytes = b"", /, **changes: int) -> bytes:
    """Return the classic end record (4.3.16)."""
    values = {"signature": 0x06054B50, "disk": 0, "directory_disk": 0, "entries_here": entries, "entries": entries}
    values |= {"size": size, "offset": offset, "comment_length": len(comment)}
    return record("<IHHHHIIH", values, changes) + comment


def zip64_end(entries: int, size: int, offset: int, /, **changes: int) -> bytes:
    """Return the ZIP64 end record (4.3.14)."""
    values = {"signature": 0x06064B50, "size_of_rest": 44, "made_by": 45, "version": 45, "disk": 0, "directory_disk": 0}
    values |= {"entries_here": entries, "entries": entries, "size": size, "offset": offset}
    return record("<IQHHIIQQQQ", values, changes)


def locator(offset: int, /, **changes: int) -> bytes:
    """Return the ZIP64 locator (4.3.15)."""
    return record("<IIQI", {"signature": 0x07064B50, "disk": 0, "offset": offset, "disks": 1}, changes)


def forge(
    members: list[Member] | tuple[Member, ...] = (),
    *,
    comment: bytes = b"",
    prepended: bytes = b"",
    gap: bytes = b"",
    end: dict | None = None,
    zip64: dict | None = None,
    locator_changes: dict | None = None,
) -> bytes:
    """Return an archive; `gap` is between directory and end records; `zip64`, even if empty, adds ZIP64 records."""
    body, directory = bytearray(), bytearray()
    for member in members:
        directory += member.central_record(len(body))
        body += member.local_record()
    offset, size, entries = len(body), len(directory), len(members)
    result = bytes(body + directory + gap)
    if zip64 is not None:
        wide = zip64_end(entries, size, offset, **zip64)
        result += wide + locator(len(result), **(locator_changes or {}))
    return prepended + result + end_record(entries, size, offset, comment, **(end or {}))


class CountingSource:
    """A source of bytes in memory that counts reads, and fails at the read number `fail_at` (from 0)."""

    def __init__(self, data: bytes, fail_at: int | None = None) -> None:
        self.data = data
        self.name = "<counted>"
        self.reads: list[tuple[int, int]] = []
        self.fail_at = fail_at

    def size(self) -> int:
        return len(self.data)

    def read_at(self, offset: int, length: int) -> bytes:
        assert offset >= 0
        assert length >= 0
        self.reads.append((offset, length))
        if len(self.reads) - 1 == self.fail_at:
            raise OSError(5, "Input/output error")
        return self.data[offset : offset + length]

    def check_unchanged(self) -> None:
        pass

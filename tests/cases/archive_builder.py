"""Builder of test archives: valid archives, and archives with single deviations from the valid form.

The module uses nothing of ozx, so that its archives can test how ozx reads.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMMENT = b'{"ome":{"version":"0.5","zipFile":{"centralDirectory":{"jsonFirst":true}}}}'
ENCRYPTED, DESCRIPTOR, UTF8 = 0x1, 0x8, 0x800
SENTINEL = _MASK_32 = 0xFFFFFFFF
_TEXTS = ("name", "extra", "comment")
_WRAPPING = ("compressed", "uncompressed", "offset")  # in archives without ZIP64
PADDING_FIELD = struct.pack("<3H", 0xD935, 2, 1)
#: The codecs of a shard's index.
INDEX = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
TIME_FIELD = struct.pack("<HHBI", 0x5455, 5, 1, 0)


def group(version: Any = "0.5", **others: Any) -> bytes:
    """Return the ``zarr.json`` of a group, with OME-Zarr metadata unless `version` is None."""
    attributes = {} if version is None else {"ome": {"version": version}}
    return json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes} | others).encode()


def array_document(
    shape: Sequence[int], chunks: Sequence[int], codecs: Sequence[Any] = ({"name": "bytes"},), **fields: Any
) -> dict[str, Any]:
    """Return the metadata of an array of bytes, with some fields replaced or added."""
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": list(codecs),
        "attributes": {},
    }
    return document | fields


def sharding(inner: Sequence[int], codecs: Sequence[Any] = ({"name": "bytes"},), **settings: Any) -> dict[str, Any]:
    """Return the sharding codec for inner chunks of this shape, with some settings replaced."""
    configuration = {"chunk_shape": list(inner), "codecs": list(codecs), "index_codecs": INDEX, "index_location": "end"}
    return {"name": "sharding_indexed", "configuration": configuration | settings}


def array(shape: list[int], chunks: list[int], *, sharded: bool = False) -> bytes:
    codecs = [sharding([1] * len(shape), index_codecs=INDEX[:1]) if sharded else {"name": "bytes"}]
    return json.dumps(array_document(shape, chunks, codecs)).encode()


def extra_field(identifier: int, data: bytes) -> bytes:
    return struct.pack("<HH", identifier, len(data)) + data


def zip64_extra(*values: int) -> bytes:
    return extra_field(1, struct.pack(f"<{len(values)}Q", *values))


def deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def _header(layout: str, fields: dict[str, Any]) -> bytes:
    """Return a header, and what follows it: name, extra field and comment, whose lengths are among its numbers."""
    signature, texts = fields.pop("signature"), [fields[name] for name in _TEXTS if name in fields]
    numbers = [
        fields.get(f"{name}_length", len(value)) if name in _TEXTS else value & _MASK_32 if name in _WRAPPING else value
        for name, value in fields.items()
        if not name.endswith("_length")
    ]
    return b"".join((signature, struct.pack(layout, *numbers), *texts))


@dataclass
class Member:
    """A ZIP entry to build; `local` and `central` are values that replace fields of its two headers."""

    name: bytes
    data: bytes = b""  # as stored in the file
    value: bytes | None = None  # before compression
    method: int = 0
    flags: int = 0
    hole: int = 0  # zeros of a sparse file after `data`
    before: bytes = b""  # bytes that belong to no entry
    after: bytes = b""  # such as a data descriptor
    local: dict[str, Any] = field(default_factory=dict)
    central: dict[str, Any] = field(default_factory=dict)
    local_extra: bytes = b""
    central_extra: bytes = b""
    comment: bytes = b""

    def __post_init__(self) -> None:
        if self.value is None:
            self.value = self.data

    def _fields(self, extra: bytes) -> dict[str, Any]:
        return {
            "flags": self.flags,
            "method": self.method,
            "time": 0,
            "date": 33,
            "crc32": zlib.crc32(self.value),
            "compressed": len(self.data) + self.hole,
            "uncompressed": len(self.value) + self.hole,
            "name": self.name,
            "extra": extra,
        }

    def local_header(self, *, zip64: bool = False) -> bytes:
        """Return a local header (APPNOTE 4.3.7), with or without the ZIP64 field."""
        fields = {"signature": b"PK\3\4", "version": 45 if zip64 else 20} | self._fields(self.local_extra) | self.local
        if zip64:
            fields["extra"] = zip64_extra(fields["uncompressed"], fields["compressed"]) + fields["extra"]
            fields["compressed"] = fields["uncompressed"] = _MASK_32
        return _header("<5H3I2H", fields)

    def local_record(self) -> bytes:
        return self.local_header() + self.data + self.after

    def central_header(self, offset: int) -> bytes:
        """Return the header in the central directory (APPNOTE 4.3.12)."""
        fields = {"signature": b"PK\1\2", "made_by": 3 << 8 | 45, "version": 45} | self._fields(self.central_extra)
        fields |= {"comment": self.comment, "disk": 0, "internal": 0, "external": 0o100644 << 16, "offset": offset}
        return _header("<6H3I5H2I", fields | self.central)


def end_record(entries: int, size: int, offset: int, comment: bytes = b"", /, **changes: int) -> bytes:
    """Return the classic end record (4.3.16)."""
    fields = {"disk": 0, "directory_disk": 0, "here": entries, "entries": entries, "size": size, "offset": offset}
    fields |= {"comment_length": len(comment)} | changes
    return b"PK\5\6" + struct.pack("<4H2IH", *fields.values()) + comment


def zip64_end(entries: int, size: int, offset: int, /, **changes: int) -> bytes:
    """Return the ZIP64 end record (4.3.14)."""
    fields = {"rest": 44, "made_by": 45, "version": 45, "disk": 0, "directory_disk": 0, "here": entries}
    fields |= {"entries": entries, "size": size, "offset": offset} | changes
    return b"PK\6\6" + struct.pack("<Q2H2I4Q", *fields.values())


def locator(offset: int, /, **changes: int) -> bytes:
    """Return the ZIP64 locator (4.3.15)."""
    return b"PK\6\7" + struct.pack("<IQI", *({"disk": 0, "offset": offset, "disks": 1} | changes).values())


class ArchiveBuilder:
    """Builder of an archive: entries in order, and deviations from the valid form.

    If `file_order` is given, entries missing from it are in the central directory only.
    """

    def __init__(self) -> None:
        self.entries: list[Member] = []
        self.file_order: list[str] | None = None
        self.comment = COMMENT
        self.zip64_local = self.zip64_end = True
        self.prefix = self.suffix = self.tail_gap = b""
        self.end: dict[str, int] = {}
        self.wide_end: dict[str, int] = {}
        self.locator: dict[str, int] = {}

    @classmethod
    def of(cls, values: Mapping[str, bytes]) -> ArchiveBuilder:
        builder = cls()
        for name, value in values.items():
            builder.add(name, value)
        return builder

    @classmethod
    def valid(cls, **values: bytes) -> ArchiveBuilder:
        """Return a builder of the smallest valid image: a group, and an array of one chunk."""
        return cls.of({"zarr.json": group(), "0/zarr.json": array([4], [4]), "0/c/0": b"abcd"} | values)

    def names(self) -> list[str]:
        return [entry.name.decode("utf-8", "surrogateescape") for entry in self.entries]

    def __getitem__(self, name: str) -> Member:
        return self.entries[self.names().index(name)]

    def add(self, name: str | bytes, value: bytes = b"", *, at: int | None = None, **fields: Any) -> ArchiveBuilder:
        """Add an uncompressed entry at the end, or at position `at`."""
        raw = name.encode() if isinstance(name, str) else name
        entry = Member(raw, value, value, **({"flags": 0 if raw.isascii() else UTF8} | fields))
        self.entries.insert(len(self.entries) if at is None else at, entry)
        return self

    def set(self, name: str, /, **fields: Any) -> ArchiveBuilder:
        """Set header fields of an entry, in addition to the fields set before."""
        entry = self[name]
        for key, value in fields.items():
            setattr(entry, key, getattr(entry, key) | value if isinstance(value, dict) else value)
        return self

    def value(self, name: str, value: bytes) -> ArchiveBuilder:
        return self.set(name, data=value, value=value)

    def remove(self, name: str) -> ArchiveBuilder:
        self.entries.remove(self[name])
        return self

    def rename(self, name: str, new: str) -> ArchiveBuilder:
        return self.set(name, name=new.encode())

    def deflate(self, name: str) -> ArchiveBuilder:
        return self.set(name, data=deflate(self[name].value), method=8)

    def stream(self, name: str, *, signature: bool = True) -> ArchiveBuilder:
        """Write sizes and CRC-32 of an entry after its data, as streaming writers do (APPNOTE 4.3.9)."""
        entry = self[name]
        entry.flags |= DESCRIPTOR
        mask = -1 if self.zip64_local else _MASK_32
        fields = (zlib.crc32(entry.value), len(entry.data) & mask, len(entry.value) & mask)
        descriptor = struct.pack("<IQQ" if self.zip64_local else "<III", *fields)
        entry.after = (b"PK\x07\x08" if signature else b"") + descriptor
        entry.local |= {"crc32": 0, "compressed": 0, "uncompressed": 0}
        return self

    def duplicate(self, name: str, value: bytes | None = None) -> ArchiveBuilder:
        """Add a second entry of the same name at the end of the archive."""
        return self.add(name, self[name].value if value is None else value)

    def reorder(self, *names: str) -> ArchiveBuilder:
        self.entries = [self[name] for name in names]
        return self

    def set_end(self, **fields: int) -> ArchiveBuilder:
        self.end |= fields
        return self

    def with_(self, **attributes: Any) -> ArchiveBuilder:
        """Set attributes of the builder, such as `comment`, `prefix`, `suffix`, `tail_gap` and `zip64_end`."""
        for key, value in attributes.items():
            getattr(self, key)  # there is such an attribute
            setattr(self, key, value)
        return self

    def classic(self) -> ArchiveBuilder:
        """Write the archive without ZIP64 structures; numbers that do not fit are modulo 2**16 or 2**32."""
        return self.with_(zip64_local=False, zip64_end=False)

    def _pieces(self) -> list[bytes | int]:
        pieces: list[bytes | int] = [self.prefix]
        offsets: dict[int, int] = {}
        position = 0
        in_file = self.entries if self.file_order is None else [self[name] for name in self.file_order]
        for entry in in_file:
            offsets[id(entry)] = position + len(entry.before)
            header = entry.local_header(zip64=self.zip64_local)
            pieces += [entry.before, header, entry.data, entry.hole, entry.after]
            position += sum(map(len, (entry.before, header, entry.data, entry.after))) + entry.hole
        directory = b"".join(entry.central_header(offsets.get(id(entry), 0)) for entry in self.entries)
        return [*pieces, directory, self.tail_gap, self._end(len(self.entries), len(directory), position), self.suffix]

    def _end(self, entries: int, size: int, offset: int) -> bytes:
        if not self.zip64_end:
            return end_record(entries & 0xFFFF, size, offset & _MASK_32, self.comment, **self.end)
        wide = zip64_end(entries, size, offset, **self.wide_end)
        wide += locator(offset + size + len(self.tail_gap), **self.locator)
        return wide + end_record(min(entries, 0xFFFF), size, min(offset, _MASK_32), self.comment, **self.end)

    def pieces(self) -> list[bytes | int]:
        return [piece for piece in self._pieces() if piece]

    def build(self) -> bytes:
        return b"".join(piece if isinstance(piece, bytes) else bytes(piece) for piece in self._pieces())

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the archive to `path`, as a sparse file if the file system supports sparse files."""
        path = Path(path)
        with path.open("wb") as file:
            for piece in self._pieces():
                if isinstance(piece, bytes):
                    file.write(piece)
                else:
                    file.seek(piece, 1)
        return path


def forge(members: Sequence[Member] = (), *, zip64: dict[str, int] | None = None, **attributes: Any) -> bytes:
    """Return an archive without ZIP64 fields of its own; `zip64`, even if empty, adds ZIP64 end records."""
    builder = ArchiveBuilder().classic().with_(entries=list(members), **{"comment": b""} | attributes)
    return builder.with_(zip64_end=zip64 is not None, wide_end=zip64 or {}).build()


def write_tree(root: str | os.PathLike[str], values: Mapping[str, bytes]) -> Path:
    """Write the values of a hierarchy, given by key, as files into the directory `root`."""
    root = Path(root)
    for key, value in values.items():
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value)
    return root

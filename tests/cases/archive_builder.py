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
_MASK_32 = 0xFFFFFFFF
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


@dataclass
class BuiltEntry:
    """A ZIP entry to build; `local` and `central` are values that replace fields of its two headers."""

    name: bytes
    data: bytes  # as stored in the file
    value: bytes  # before compression
    method: int = 0
    flags: int = 0
    hole: int = 0  # zeros of a sparse file after `data`
    before: bytes = b""  # bytes that belong to no entry
    after: bytes = b""  # such as a data descriptor
    local: dict[str, Any] = field(default_factory=dict)
    central: dict[str, Any] = field(default_factory=dict)

    def _fields(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "flags": self.flags,
            "method": self.method,
            "crc32": zlib.crc32(self.value),
            "compressed": len(self.data) + self.hole,
            "uncompressed": len(self.value) + self.hole,
            "extra": b"",
        }

    def local_header(self, *, zip64: bool) -> bytes:
        """Return a local header (APPNOTE 4.3.7), with or without the ZIP64 field."""
        fields = self._fields() | self.local
        extra, compressed, uncompressed = fields["extra"], fields["compressed"], fields["uncompressed"]
        if zip64:
            extra = struct.pack("<2H2Q", 1, 16, uncompressed, compressed) + extra
            compressed = uncompressed = _MASK_32
        header = struct.pack(
            "<4s5H3I2H",
            fields.get("signature", b"PK\x03\x04"),
            45 if zip64 else 20,
            fields["flags"],
            fields["method"],
            0,
            33,
            fields["crc32"],
            compressed & _MASK_32,
            uncompressed & _MASK_32,
            len(fields["name"]),
            len(extra),
        )
        return b"".join((header, fields["name"], extra))

    def central_header(self, offset: int) -> bytes:
        """Return the correct central directory header of an entry (APPNOTE 4.3.12)."""
        fields = self._fields() | {
            "made_by": 3 << 8 | 45,
            "external": 0o100644 << 16,
            "disk": 0,
            "comment": b"",
            "version": 45,
        }
        fields |= {"offset": offset} | self.central
        header = struct.pack(
            "<4s6H3I5H2I",
            fields.get("signature", b"PK\x01\x02"),
            fields["made_by"],
            fields["version"],
            fields["flags"],
            fields["method"],
            0,
            33,
            fields["crc32"],
            fields["compressed"] & _MASK_32,
            fields["uncompressed"] & _MASK_32,
            len(fields["name"]),
            len(fields["extra"]),
            len(fields["comment"]),
            fields["disk"],
            0,
            fields["external"],
            fields["offset"] & _MASK_32,
        )
        return b"".join((header, fields["name"], fields["extra"], fields["comment"]))


class ArchiveBuilder:
    """Builder of an archive: entries in order, and deviations from the valid form.

    If `file_order` is given, entries missing from it are in the central directory only.
    """

    def __init__(self) -> None:
        self.entries: list[BuiltEntry] = []
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

    def __getitem__(self, name: str) -> BuiltEntry:
        return self.entries[self.names().index(name)]

    def add(self, name: str | bytes, value: bytes = b"", *, at: int | None = None, **fields: Any) -> ArchiveBuilder:
        """Add an uncompressed entry at the end, or at position `at`."""
        raw = name.encode() if isinstance(name, str) else name
        entry = BuiltEntry(raw, value, value, **({"flags": 0 if raw.isascii() else UTF8} | fields))
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
        packer = zlib.compressobj(wbits=-15)
        data = packer.compress(self[name].value) + packer.flush()
        return self.set(name, data=data, method=8)

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
        wide = {"disk": 0, "directory_disk": 0, "here": entries, "entries": entries, "size": size, "offset": offset}
        count = min(entries, 0xFFFF) if self.zip64_end else entries & 0xFFFF
        place = min(offset, _MASK_32) if self.zip64_end else offset & _MASK_32
        end = wide | {"here": count, "entries": count, "offset": place} | self.end
        wide |= self.wide_end
        rest = wide.pop("rest", 44)
        locator = {"disk": 0, "offset": offset + size + len(self.tail_gap), "disks": 1} | self.locator
        comment_length = end.pop("comment_length", len(self.comment))
        result = b""
        if self.zip64_end:
            result += struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", rest, 45, 45, *wide.values())
            result += struct.pack("<4sIQI", b"PK\x06\x07", *locator.values())
        return result + struct.pack("<4s4H2IH", b"PK\x05\x06", *end.values(), comment_length) + self.comment

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


def write_tree(root: str | os.PathLike[str], values: Mapping[str, bytes]) -> Path:
    """Write the values of a hierarchy, given by key, as files into the directory `root`."""
    root = Path(root)
    for key, value in values.items():
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value)
    return root

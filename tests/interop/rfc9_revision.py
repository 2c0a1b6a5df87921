"""An independent check of the authors' revision of RFC-9 (autumn 2026), without code of ozx.

The requirements have the numbers of the section "OME-Zarr zip files". The code reads the archive with `struct` only.
"""

import json
import struct
from pathlib import Path
from typing import NamedTuple

ALLOWED_EXTRAS = {0x0001, 0x5455, 0x7875}


class Record(NamedTuple):
    """A central directory record, and the local header that it leads to."""

    name: str
    flags: int
    methods: tuple[int, int]
    size: int
    offset: int
    data_offset: int
    extras: frozenset[int]


class Archive(NamedTuple):
    """The contents of the end records and of the central directory."""

    data: bytes
    records: list[Record]
    comment: bytes
    parts: set[int]
    has_zip64_end: bool


def _extras(block: bytes) -> dict[int, bytes]:
    fields, place = {}, 0
    while place + 4 <= len(block):
        identifier, length = struct.unpack_from("<HH", block, place)
        fields[identifier] = block[place + 4 : place + 4 + length]
        place += 4 + length
    assert place == len(block), "bytes behind the extra fields"
    return fields


def read(path: Path) -> Archive:
    """Read an archive whose comment contains no other end record."""
    data = path.read_bytes()
    end = data.rfind(b"PK\5\6")
    part, start_part, _, count, size, offset, length = struct.unpack_from("<HHHHIIH", data, end + 4)
    comment, parts = data[end + 22 :], {part, start_part} - {0xFFFF}
    assert len(comment) == length
    has_zip64_end = data[end - 20 : end - 16] == b"PK\6\7"
    if has_zip64_end:
        start_part, place, total = struct.unpack_from("<IQI", data, end - 16)
        assert data[place : place + 4] == b"PK\6\6"
        assert total == 1
        part, _, _, count, size, offset = struct.unpack_from("<IIQQQQ", data, place + 16)
        parts |= {part, start_part}
    records, place = [], offset
    for _ in range(count):
        assert data[place : place + 4] == b"PK\1\2"
        flags, method = struct.unpack_from("<HH", data, place + 8)
        stored, original, name_length, extra_length, comment_length, part = struct.unpack_from(
            "<IIHHHH", data, place + 20
        )
        (at,) = struct.unpack_from("<I", data, place + 42)
        name = data[place + 46 : place + 46 + name_length].decode("utf-8")
        extras = _extras(data[place + 46 + name_length : place + 46 + name_length + extra_length])
        wide = list(struct.unpack(f"<{len(extras.get(1, b'')) // 8}Q", extras.get(1, b"")))
        original, stored, at = (wide.pop(0) if value == 0xFFFFFFFF else value for value in (original, stored, at))
        assert data[at : at + 4] == b"PK\3\4"
        local_flags, local_method = struct.unpack_from("<HH", data, at + 6)
        lengths = struct.unpack_from("<HH", data, at + 26)
        local = _extras(data[at + 30 + lengths[0] : at + 30 + sum(lengths)])
        assert data[at + 30 : at + 30 + lengths[0]].decode("utf-8") == name
        extra_ids = frozenset(extras) | frozenset(local)
        begin = at + 30 + sum(lengths)
        records.append(Record(name, flags | local_flags, (method, local_method), stored, at, begin, extra_ids))
        parts.add(part)
        place += 46 + name_length + extra_length + comment_length
    assert place == offset + size
    return Archive(data, records, comment, parts, has_zip64_end)


def breaches(path: Path) -> set[str]:
    archive = read(path)
    names = [record.name for record in archive.records]
    values = {record.name: archive.data[record.data_offset :][: record.size] for record in archive.records}
    nodes = {name.removesuffix("zarr.json").rstrip("/") for name in names if name.split("/")[-1] == "zarr.json"}
    found = {
        "1, one hierarchy": len(set(names)) < len(names)
        or any(node.rpartition("/")[0] not in nodes for node in nodes if node),
        "2, root": "zarr.json" not in names or "ome" not in json.loads(values["zarr.json"])["attributes"],
        "3, not embedded": any(
            name.lower().endswith((".zip", ".ozx")) or values[name].startswith(b"PK\3\4") for name in names
        ),
        "4, not split": archive.parts != {0},
        "5, no encryption": any(record.flags & (1 << 0 | 1 << 6 | 1 << 13) for record in archive.records),
        "6, STORE": any(set(record.methods) != {0} for record in archive.records),
        "7, extra fields": any(record.extras - ALLOWED_EXTRAS for record in archive.records),
        "8, first header at 0": min(record.offset for record in archive.records) != 0,
        "the keys of ome in the comment": _unknown_keys(archive.comment),
        "jsonFirst": _is_json_first(archive.comment) and not _has_metadata_first(names),
    }
    return {number for number, is_broken in found.items() if is_broken}


def missed(path: Path) -> set[str]:
    """Return the SHOULDs that a file breaks, except those that depend on the user: sharding and the file name."""
    archive = read(path)
    names = [record.name for record in archive.records]
    in_file = [record.name for record in sorted(archive.records, key=lambda record: record.offset)]
    metadata = [name for name in names if name.split("/")[-1] == "zarr.json"]
    breadth_first = sorted(metadata, key=lambda name: (name.count("/"), name != "zarr.json"))
    depths = [name.count("/") for name in metadata]
    found = {
        "1, ZIP64": not archive.has_zip64_end or any(0x0001 not in record.extras for record in archive.records),
        "3, root first": names[0] != "zarr.json" or in_file[0] != "zarr.json",
        "3, metadata first": not _has_metadata_first(names) or not _has_metadata_first(in_file),
        "3, breadth-first": depths != sorted(depths) or len(breadth_first) != len(metadata),
        "5, comment": not isinstance(_ome(archive.comment).get("version"), str),
    }
    return {number for number, is_missed in found.items() if is_missed}


def _ome(comment: bytes) -> dict[str, object]:
    try:
        return dict(json.loads(comment.decode("utf-8"))["ome"])
    except (ValueError, KeyError, TypeError):
        return {}


def _unknown_keys(comment: bytes) -> bool:
    ome = _ome(comment)
    zip_file = ome.get("zipFile", {})
    directory = zip_file.get("centralDirectory", {}) if isinstance(zip_file, dict) else {}
    return bool(
        set(ome) - {"version", "zipFile"} or set(zip_file) - {"centralDirectory"} or set(directory) - {"jsonFirst"}
    )


def _is_json_first(comment: bytes) -> bool:
    zip_file = _ome(comment).get("zipFile", {})
    return isinstance(zip_file, dict) and zip_file.get("centralDirectory", {}).get("jsonFirst") is True


def _has_metadata_first(names: list[str]) -> bool:
    """Return whether the metadata come first, apart from entries of folders, which the text allows anywhere."""
    kinds = [name.split("/")[-1] == "zarr.json" for name in names if not name.endswith("/")]
    return kinds == sorted(kinds, reverse=True)

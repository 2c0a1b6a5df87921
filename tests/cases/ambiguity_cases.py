"""Cases of the rules about ZIP structures that programs interpret differently."""

from __future__ import annotations

import struct
import zlib

from .archive_builder import TIME_FIELD, ArchiveBuilder
from .case import Case

_valid = ArchiveBuilder.valid
_UNIX_FILE = 0o100644 << 16
_DOS_FOLDER, _DOS_LABEL = 0x10, 0x08
_OVERRUNNING = struct.pack("<2H3s", 0x1337, 100, b"abc")


def _extra(data: bytes, *places: str) -> ArchiveBuilder:
    """Return an archive in which the headers of the chunk's entry contain the given extra field."""
    return _valid().set("0/c/0", **{place: {"extra": data} for place in places or ("local", "central")})


def _unicode_path(path: str, *, name: str = "0/c/0", checksum_of: str = "") -> bytes:
    data = struct.pack("<BI", 1, zlib.crc32((checksum_of or name).encode())) + path.encode()
    return struct.pack("<2H", 0x7075, len(data)) + data


def _named_twice(name: str, path: str) -> ArchiveBuilder:
    field = _unicode_path(path, name=name)
    return _valid().add(name, b"EVIL").set(name, local={"extra": field}, central={"extra": field})


def _external(attributes: int, system: int) -> ArchiveBuilder:
    return _valid().set("0/c/0", central={"external": attributes, "made_by": system << 8 | 20})


def _flags(flags: int) -> ArchiveBuilder:
    return _valid().set("0/c/0", flags=flags)


def _leading(data: bytes) -> ArchiveBuilder:
    builder = _valid()
    builder["zarr.json"].before = data
    return builder


def _deleted(name: str = "0/c/0") -> bytes:
    builder = ArchiveBuilder().add(name, b"old!")
    return builder[name].local_header(zip64=True) + b"old!"


def _with_unlisted(name: str) -> ArchiveBuilder:
    builder = _valid()
    builder["0/c/0"].before = _deleted(name)
    return builder


def _digital_signature() -> bytes:
    return struct.pack("<4sH", b"PK\5\5", 16) + bytes(16)


AMBIGUITY_CASES = (
    Case(
        "zip/unicode-path",
        "a field with the name of another entry",
        lambda: _named_twice("notes", "0/c/0"),
        "zip/unicode-path zip/extra-field",
    ),
    Case(
        "zip/unicode-path",
        "a field with another name, for a name in UTF-8",
        lambda: _named_twice("é", "ü"),
        "zip/unicode-path zip/extra-field",
    ),
    Case(
        "zip/unicode-path",
        "a field without a name",
        lambda: _named_twice("notes", ""),
        "zip/unicode-path zip/extra-field",
    ),
    Case(
        "zip/unicode-path",
        "a field with another name, in the local header only",
        lambda: _extra(_unicode_path("0/c/9"), "local"),
        "zip/unicode-path zip/extra-field",
    ),
    Case(
        "zip/unicode-path", "a field with the entry's name", lambda: _named_twice("notes", "notes"), "zip/extra-field"
    ),
    Case(
        "zip/unicode-path", "a field with the entry's name in UTF-8", lambda: _named_twice("é", "é"), "zip/extra-field"
    ),
    Case(
        "zip/unicode-path",
        "a field with the checksum of another name",
        lambda: _extra(_unicode_path("0/c/9", checksum_of="0/c/1")),
        "zip/extra-field",
    ),
    Case(
        "zip/extra-block",
        "a field of 3 bytes that declares 100 bytes",
        lambda: _extra(_OVERRUNNING, "central"),
        "zip/extra-block",
    ),
    Case(
        "zip/extra-block",
        "a local field of 3 bytes that declares 100 bytes",
        lambda: _extra(_OVERRUNNING, "local"),
        "zip/extra-block",
    ),
    Case("zip/extra-block", "three bytes", lambda: _extra(b"abc"), "zip/extra-block"),
    Case("zip/extra-block", "an empty time field", lambda: _extra(struct.pack("<2H", 0x5455, 0)), "zip/extra-block"),
    Case("zip/extra-block", "three zeros", lambda: _extra(bytes(3))),
    Case("zip/extra-block", "three bytes after a time field", lambda: _extra(TIME_FIELD + b"abc")),
    Case(
        "zip/attributes", "made by DOS, with the bit of a folder", lambda: _external(_DOS_FOLDER, 0), "zip/attributes"
    ),
    Case(
        "zip/attributes",
        "made by Unix, with the mode of a folder",
        lambda: _external(0o040755 << 16, 3),
        "zip/attributes",
    ),
    Case(
        "zip/attributes",
        "made by DOS, with the bit of a volume label",
        lambda: _external(_DOS_LABEL, 0),
        "zip/attributes",
    ),
    Case(
        "zip/attributes",
        "made by Unix, with the DOS bits of a folder and a volume label",
        lambda: _external(_UNIX_FILE | _DOS_FOLDER | _DOS_LABEL, 3),
    ),
    Case(
        "zip/attributes",
        "made by DOS, with the bit and the name of a folder",
        lambda: _valid().add("0/").set("0/", central={"external": _DOS_FOLDER, "made_by": 20}),
        "zip/directory-entry",
    ),
    Case("zip/flags", "bit 5", lambda: _flags(1 << 5), "zip/flags=error"),
    Case("zip/flags", "bit 12", lambda: _flags(1 << 12), "zip/flags"),
    Case("zip/flags", "bits 1 and 2", lambda: _flags(0b110)),
    Case("zip/version-needed", "6.4", lambda: _valid().set("0/c/0", central={"version": 64}), "zip/version-needed"),
    Case("zip/version-needed", "4.7", lambda: _valid().set("0/c/0", central={"version": 47}), "zip/version-needed"),
    Case(
        "zip/version-needed",
        "4.5 of VMS",
        lambda: _valid().set("0/c/0", central={"version": 2 << 8 | 45}),
        "zip/version-needed",
    ),
    Case("zip/version-needed", "4.6 of Unix", lambda: _valid().set("0/c/0", central={"version": 3 << 8 | 46})),
    Case(
        "zip/leading-entries",
        "another archive",
        lambda: _leading(_valid(**{"0/c/0": b"EVIL"}).build()),
        "zip/leading-entries zip/unreferenced-bytes",
    ),
    Case(
        "zip/leading-entries",
        "a deleted entry and other bytes",
        lambda: _leading(_deleted() + b"more"),
        "zip/leading-entries zip/unreferenced-bytes",
    ),
    Case(
        "zip/leading-entries",
        "a deleted entry",
        lambda: _leading(_deleted()),
        "zip/leading-entries zip/unreferenced-bytes",
    ),
    Case(
        "zip/leading-entries",
        "a prepended entry that the offsets do not count",
        lambda: _valid().with_(prefix=_deleted()),
        "zip/leading-entries",
    ),
    Case(
        "zip/leading-entries",
        "a value that looks like an entry",
        lambda: _valid().add("notes", _deleted()),
    ),
    Case(
        "zip/unlisted-entry",
        "the entry of a chunk that is not in the directory",
        lambda: _with_unlisted("0/c/1"),
        "zip/unlisted-entry zip/unreferenced-bytes",
    ),
    Case("zip/unlisted-entry", "an old value of a chunk", lambda: _with_unlisted("0/c/0"), "zip/unreferenced-bytes"),
    Case("zip/bytes-after-directory", "a byte", lambda: _valid().with_(tail_gap=b"x"), "zip/bytes-after-directory"),
    Case(
        "zip/bytes-after-directory",
        "a digital signature",
        lambda: _valid().with_(tail_gap=_digital_signature()),
        "zip/bytes-after-directory",
    ),
    Case(
        "zip/bytes-after-directory",
        "a byte before the directory",
        lambda: _valid().set("0/c/0", after=b"x"),
        "zip/unreferenced-bytes",
    ),
)

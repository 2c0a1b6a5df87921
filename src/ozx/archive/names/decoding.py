"""Decoding of entry names, and checks for names that ozx refuses (APPNOTE 4.4.17, appendix D)."""

from __future__ import annotations

import re
import struct

from ozx.archive.records import EXTRA_UNICODE_PATH, FLAG_UTF8, MASK_16, CentralHeader, iter_extra_fields
from ozx.crc32 import crc32
from ozx.errors import FormatError

_DRIVE = re.compile(r"[A-Za-z]:")
_TOO_LONG = "it is longer than 65,535 bytes"
_NO_UTF8 = "it is not valid UTF-8"
_LONGEST_SHOWN = 100
# 4.6.9: one byte for the version and four for the CRC-32 precede the path.
_PATH_BEGINS = 5


def entry_name(header: CentralHeader) -> str:
    """Return the name of an entry as text, from its header."""
    return decode_name(header.name, header.flags, header.extra)


def decode_name(raw: bytes, flags: int, extra: bytes = b"") -> str:
    r"""Decode the bytes of an entry's name.

    The name is UTF-8 if bit 11 is set or the bytes are ASCII; else the Info-ZIP Unicode path, if its CRC proves that
    it belongs to this name (APPNOTE 4.6.9); else UTF-8 if the bytes are valid UTF-8, because many writers do not set
    bit 11; else code page 437. If bit 11 is set, bytes that are not valid UTF-8 become surrogates, which `name_fault`
    refuses.
    """
    if raw.isascii():
        return raw.decode("ascii")
    if flags & FLAG_UTF8:
        return raw.decode("utf-8", "surrogateescape")
    for identifier, data in iter_extra_fields(extra):
        if identifier == EXTRA_UNICODE_PATH and len(data) > 5:
            version, checksum = struct.unpack_from("<BI", data)
            if version == 1 and checksum == crc32(raw) and _is_path_of(data[5:], raw):
                return data[5:].decode("utf-8", "surrogateescape")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp437")


def contradicting_path(raw: bytes, flags: int, data: bytes) -> bytes | None:
    """Return the path from a Unicode Path field if it contradicts the entry's name, else None.

    A name in ASCII or declared to be UTF-8 needs no such field. unzip, 7-Zip and bsdtar prefer the field's path;
    zipfile and Java prefer the name. `data` is the data of the field (4.6.9): version, CRC-32 of the name, path.
    """
    if len(data) < _PATH_BEGINS or not (raw.isascii() or flags & FLAG_UTF8):
        return None
    # The version is ignored, as in bsdtar.
    belongs = int.from_bytes(data[1:_PATH_BEGINS], "little") == crc32(raw)
    return data[_PATH_BEGINS:] if belongs and data[_PATH_BEGINS:] != raw else None


def _is_path_of(path: bytes, raw: bytes) -> bool:
    """Return whether the path in a Unicode path field may replace the non-ASCII name `raw`; an ASCII path may not."""
    # A search for an ASCII name compares the raw bytes, and the last raw byte tells whether an entry is a folder.
    return not path.isascii() and path.endswith(b"/") == raw.endswith(b"/")


def encode_name(name: str) -> tuple[bytes, int]:
    r"""Return the bytes of a name and its general purpose flags: bit 11 if the name is not ASCII."""
    try:
        raw = name.encode("utf-8")
    except UnicodeEncodeError:
        raise _refused(name, _NO_UTF8) from None
    if len(raw) > MASK_16:
        raise _refused(name, _TOO_LONG)
    return raw, 0 if raw.isascii() else FLAG_UTF8


def name_fault(name: str) -> str | None:
    """Return the reason why `name` is not allowed as a store key, or None.

    A name is refused if it points out of the folder to which it is unpacked, or if readers take it for different files.
    """
    checks = (
        (not name, "it is empty"),
        (name.startswith("/"), "it is absolute"),
        ("\\" in name, "it has a backslash"),
        ("\0" in name, "it has a NUL character"),
        (_DRIVE.match(name) is not None, "it begins with a drive letter"),
        (len(name.encode("utf-8", "surrogatepass")) > MASK_16, _TOO_LONG),
    )
    for is_wrong, reason in checks:
        if is_wrong:
            return reason
    parts = name.removesuffix("/").split("/")
    for part in ("", ".", ".."):
        if part in parts:
            return f"it has a {part!r} component" if part else "it has an empty component"
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return _NO_UTF8
    return None


def _refused(name: str, fault: str) -> FormatError:
    shown = name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}…"
    return FormatError(f"entry name {shown!r} is refused: {fault}", rule="zip/name")


# Check of entries with equal names: the last of them in the central directory must also be the last in the file.


def check_order(name: str, header_offsets: list[int], path: str) -> None:
    """Raise an error if the last entry of a name in the central directory is not the last one in the file.

    Writers append both the entry and its header in the directory: if the two orders differ, one of them is damaged.
    `header_offsets` are in the order of the directory.
    """
    if header_offsets[-1] < max(header_offsets):
        raise FormatError(
            f"several entries are called {name!r}, and their orders in the central directory and in the file differ, "
            "so it is unknown which entry is valid",
            path=path,
            rule="zip/duplicate-name",
            hint="Copy or download the file again; `ozx recover FILE OUT.ozx` saves the undamaged entries.",
        )

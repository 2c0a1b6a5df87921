"""Generated archives whose headers contradict each other in one or two fields, in all combinations.

A field (size, compressed size, CRC-32, name, method) of one entry is zero, has another value, or is missing: in the
directory, the local header, the data descriptor or the ZIP64 field of either header. The entry is stored or deflated,
in each form that writers use.
"""

import itertools
import struct
import zlib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from cases.archive_builder import COMMENT, DESCRIPTOR, array, deflate, group

NAME = b"0/c/1"
#: The values of each archive before a field is changed. The changed value is longer than its deflated form.
VALUES = {
    "zarr.json": group(),
    "0/zarr.json": array([256], [64]),
    "0/c/0": b"first---" * 8,
    "0/c/1": b"changed-" * 8,
    "0/c/2": b"third---" * 8,
}
FIELDS = ("uncompressed", "compressed", "crc32", "name", "method")
KINDS = ("zero", "other", "missing")
SENTINEL, SENTINEL_16 = 0xFFFFFFFF, 0xFFFF

#: The fields of each part of the entry: its headers, ZIP64 fields and data descriptor.
Parts = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Change:
    """The change of one field in one place: it becomes zero, gets another value, or is removed."""

    place: str
    field: str
    kind: str

    def __str__(self) -> str:
        return f"{self.place}.{self.field}={self.kind}"


@dataclass
class Form:
    """A way to write an entry: which parts exist, and whether the descriptor has a signature."""

    name: str
    method: int
    streamed: bool = False
    local_zip64: bool = False
    central_zip64: bool = False
    signature: bool = True
    parts: Parts = field(default_factory=dict)

    def __post_init__(self) -> None:
        data = self.data()
        true = {"uncompressed": len(VALUES["0/c/1"]), "compressed": len(data), "crc32": zlib.crc32(VALUES["0/c/1"])}
        named = {"name": NAME, "method": self.method}
        here = {"uncompressed": 0, "compressed": 0, "crc32": 0} if self.streamed else true
        sizes = {"uncompressed": true["uncompressed"], "compressed": true["compressed"]}
        self.parts = {"directory": true | named, "local": here | named}
        if self.streamed:
            self.parts["descriptor"] = dict(true)
        if self.local_zip64:
            self.parts["local-zip64"] = {"uncompressed": 0, "compressed": 0} if self.streamed else dict(sizes)
            self.parts["local"] |= {"uncompressed": SENTINEL, "compressed": SENTINEL}
        if self.central_zip64:
            self.parts["directory-zip64"] = dict(sizes)
            self.parts["directory"] |= {"uncompressed": SENTINEL, "compressed": SENTINEL}

    def data(self) -> bytes:
        """The bytes of the value in the file, deflated or not."""
        return deflate(VALUES["0/c/1"]) if self.method else VALUES["0/c/1"]


def forms() -> list[Form]:
    return [
        Form(f"{name}, {'deflated' if method else 'stored'}", method, **options)
        for method in (0, 8)
        for name, options in (
            ("plain", {}),
            ("ZIP64", {"local_zip64": True}),
            ("ZIP64 in both headers", {"local_zip64": True, "central_zip64": True}),
            ("streamed", {"streamed": True}),
            ("streamed without signature", {"streamed": True, "signature": False}),
            ("streamed ZIP64", {"streamed": True, "local_zip64": True}),
        )
    ]


def changes(form: Form) -> list[Change]:
    return [
        Change(place, name, kind)
        for place, fields in form.parts.items()
        for name in FIELDS
        if name in fields
        for kind in KINDS
        if kind != "zero" or fields[name] != 0
    ]


def mutants(most_changes: int = 2) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each archive with one change or two."""
    for form in forms():
        yield form.name, build(form)
        for count in range(1, most_changes + 1):
            for chosen in itertools.combinations(changes(form), count):
                if len({(change.place, change.field) for change in chosen}) == count:
                    yield f"{form.name}: {', '.join(map(str, chosen))}", build(form, *chosen)


def build(form: Form, *chosen: Change) -> bytes:
    """Return an archive with one entry of this form, including its changes."""
    parts = deepcopy(form.parts)
    for change in chosen:
        parts[change.place][change.field] = _changed(parts[change.place][change.field], change)
    body, directory = b"", b""
    for name, value in VALUES.items():
        raw = name.encode()
        if raw == NAME:
            local = _header(parts["local"], _zip64(parts.get("local-zip64")), streamed=form.streamed)
            central = _header(parts["directory"], _zip64(parts.get("directory-zip64")), streamed=form.streamed)
            data = form.data() + _descriptor(parts.get("descriptor"), form)
        else:
            fields = {"name": raw, "method": 0, "crc32": zlib.crc32(value)}
            local = central = _header(
                fields | {"compressed": len(value), "uncompressed": len(value)}, b"", streamed=False
            )
            data = value
        # 4.3.12: the fields that the directory has in addition to those of a local header.
        fixed, tail = central[:26], central[26:]
        directory += b"PK\1\2" + struct.pack("<H", 3 << 8 | 45) + fixed[4:] + tail[:4] + bytes(6)
        directory += struct.pack("<2I", 0o100644 << 16, len(body)) + tail[4:]
        body += local + data
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(VALUES), len(VALUES), len(directory), len(body), len(COMMENT))
    return body + directory + end + COMMENT


def _changed(value: Any, change: Change) -> Any:
    if change.kind == "missing":
        return None
    if change.field == "name":
        return bytes(len(value)) if change.kind == "zero" else b"0/c/3"
    if change.field == "method":
        return 0 if change.kind == "zero" else 8 if value == 0 else 0 if value == 8 else value
    return 0 if change.kind == "zero" else (value + 3) & SENTINEL


def _header(fields: dict[str, Any], extra: bytes, *, streamed: bool) -> bytes:
    """Return a local header; missing numbers become placeholders, even without a ZIP64 field."""
    name = fields["name"] or b""
    method = SENTINEL_16 if fields["method"] is None else fields["method"]
    numbers = [SENTINEL if fields[key] is None else fields[key] for key in ("crc32", "compressed", "uncompressed")]
    flags = DESCRIPTOR if streamed else 0
    return struct.pack("<4s5H3I2H", b"PK\3\4", 45, flags, method, 0, 33, *numbers, len(name), len(extra)) + name + extra


def _zip64(fields: dict[str, Any] | None) -> bytes:
    """Return a ZIP64 field (4.5.3) without the missing numbers."""
    if fields is None:
        return b""
    data = b"".join(struct.pack("<Q", number) for number in fields.values() if number is not None)
    return struct.pack("<2H", 1, len(data)) + data


def _descriptor(fields: dict[str, Any] | None, form: Form) -> bytes:
    """Return a data descriptor (4.3.9) without the missing numbers."""
    if fields is None:
        return b""
    size = "<Q" if form.local_zip64 else "<I"
    numbers = (("<I", fields["crc32"]), (size, fields["compressed"]), (size, fields["uncompressed"]))
    data = b"".join(struct.pack(code, number) for code, number in numbers if number is not None)
    return (b"PK\7\x08" if form.signature else b"") + data

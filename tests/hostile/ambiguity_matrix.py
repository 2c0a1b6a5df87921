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

from cases.archive_builder import COMMENT, DESCRIPTOR, Member, array, deflate, forge, group, zip64_extra

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
    flags = {"flags": DESCRIPTOR if form.streamed else 0}
    changed = Member(
        NAME,
        form.data(),
        after=_descriptor(parts.get("descriptor"), form),
        local=_fields(parts["local"], parts.get("local-zip64")) | flags,
        central=_fields(parts["directory"], parts.get("directory-zip64")) | flags,
    )
    members = [changed if name == "0/c/1" else Member(name.encode(), value) for name, value in VALUES.items()]
    for member in members:
        member.local["version"] = 45
    return forge(members, comment=COMMENT)


def _changed(value: Any, change: Change) -> Any:
    if change.kind == "missing":
        return None
    if change.field == "name":
        return bytes(len(value)) if change.kind == "zero" else b"0/c/3"
    if change.field == "method":
        return 0 if change.kind == "zero" else 8 if value == 0 else 0 if value == 8 else value
    return 0 if change.kind == "zero" else (value + 3) & SENTINEL


def _fields(fields: dict[str, Any], zip64: dict[str, Any] | None) -> dict[str, Any]:
    """Return the fields of a header; missing numbers become placeholders, even without a ZIP64 field (4.5.3)."""
    missing = {"name": b"", "method": SENTINEL_16}
    found = {key: missing.get(key, SENTINEL) if value is None else value for key, value in fields.items()}
    numbers = [number for number in (zip64 or {}).values() if number is not None]
    return found | {"extra": b"" if zip64 is None else zip64_extra(*numbers)}


def _descriptor(fields: dict[str, Any] | None, form: Form) -> bytes:
    """Return a data descriptor (4.3.9) without the missing numbers."""
    if fields is None:
        return b""
    size = "<Q" if form.local_zip64 else "<I"
    numbers = (("<I", fields["crc32"]), (size, fields["compressed"]), (size, fields["uncompressed"]))
    data = b"".join(struct.pack(code, number) for code, number in numbers if number is not None)
    return (b"PK\7\x08" if form.signature else b"") + data

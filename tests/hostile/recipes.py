"""Hostile archives: how to make each, and the answers that every entry point ("door") of ozx must give.

The answers are ids of rules, or

- ``whole``: the door returns all values, and no others;
- ``part``: `recover` returns all values except those that it names as lost, or says that values may be missing;
- ``read``: the door answers, because it does not read the faulty part.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cases.archive_builder import DESCRIPTOR, ENCRYPTED, TIME_FIELD, UTF8, ArchiveBuilder, group

SENTINEL, SENTINEL_16 = 0xFFFFFFFF, 0xFFFF
BOMB = 65 << 20
LATER = b"efgh"
LIKE = b"blofykhb"  # its CRC-32 is the signature of a data descriptor

valid = ArchiveBuilder.valid
VALID = {name: entry.value for name, entry in zip(valid().names(), valid().entries, strict=True)}


@dataclass
class Recipe:
    name: str  # the fault of the archive
    make: Callable[[], ArchiveBuilder | bytes]
    read: str  # the answer of `ozx.open` and `ozx.OzxStore`, which make the same checks, to reading every value
    validate: str  # the ids of all findings
    # The answers of these verbs: by default that of `read`; of `recover` ``whole``, or ``part`` if values are `lost`.
    info: str = "read"
    recover: str = ""
    unpack: str = ""
    repack: str = ""
    lost: tuple[str, ...] = ()  # the keys of lost values; `recover` must name all of them
    names: dict[bytes, str] = field(
        default_factory=dict
    )  # of entries that differ from the UTF-8 names in the directory
    renamed: dict[str, str] = field(default_factory=dict)  # by `repack`; empty for keys that it leaves out
    # The values of an archive that is made byte by byte; empty if no door returns any value.
    holds: dict[str, bytes] = field(default_factory=dict)

    @cached_property
    def made(self) -> ArchiveBuilder | bytes:
        """The archive, made once: a bomb takes a second."""
        return self.make()

    @cached_property
    def archive(self) -> bytes:
        return self.made if isinstance(self.made, bytes) else self.made.build()

    def values(self) -> dict[str, bytes]:
        if isinstance(self.made, bytes):
            return self.holds
        entries = zip(self.made.names(), self.made.entries, strict=True)
        return {self.names.get(entry.name, name): entry.value for name, entry in entries}

    def expected(self, door: str) -> dict[str, bytes]:
        """Return the values that a door returns if it answers ``whole``."""
        values = self.values()
        if door != "repack":
            return values
        return {new: value for key, value in values.items() if (new := self.renamed.get(key, key))}

    def answers(self) -> dict[str, str]:
        """Return the answer that each door must give."""
        read = {"open": self.read, "store": self.read, "info": self.info, "validate": self.validate}
        written = {"unpack": self.unpack or self.read, "repack": self.repack or self.read}
        return read | written | {"recover": self.recover or ("part" if self.lost else "whole")}


def refused(rule: str, name: str, make: Callable[[], ArchiveBuilder | bytes], **answers: Any) -> Recipe:
    """Return the recipe of an archive whose values no door returns, for the one fault that validation finds, too."""
    return Recipe(name, make, rule, rule, **answers)


def closed(rule: str, name: str, make: Callable[[], ArchiveBuilder | bytes], **answers: Any) -> Recipe:
    """Return the recipe of an archive whose directory no door reads."""
    return refused(rule, name, make, info=rule, **answers)


def both(name: str, **fields: int) -> ArchiveBuilder:
    return valid().set(name, local=fields, central=fields)


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, wbits=-15)
    return packer.compress(data) + packer.flush()


def deflated_zeros(length: int) -> ArchiveBuilder:
    return valid().add("0/c/1", bytes(length)).deflate("0/c/1")


# --- bombs ----------------------------------------------------------------------------------------


def many_into_one(entries: int = 50) -> ArchiveBuilder:
    """Every entry of the directory has the same local header: full overlap."""
    builder = deflated_zeros(1 << 20)
    kernel = builder["0/c/1"]
    offset = builder.build().index(kernel.local_header(zip64=True))
    for number in range(2, entries):
        in_directory_only(builder, f"0/c/{number}", kernel.value, offset, method=8, compressed=len(kernel.data))
    return builder


def quoted_in_extra_fields(entries: int = 20) -> bytes:
    """Fifield's quoting by extra fields: each extra field covers the next local header; all share one kernel."""
    value, headers, members = bytes(1 << 20), b"", []
    kernel = deflated(value)
    for number in range(entries):
        numbers = (zlib.crc32(value), len(kernel), len(value))
        extra = struct.pack("<2H", 0xCAFE, len(headers)) if headers else b""
        headers = _local(b"0/c/%d" % number, *numbers, extra, quoted=len(headers)) + headers
        members.append((b"0/c/%d" % number, numbers, len(headers) + len(kernel)))
    return _with_directory(headers + kernel, members)


def quoted_in_deflate(entries: int = 20) -> bytes:
    """Fifield's quoting by deflate: each entry begins with a stored block that contains the next local header."""
    value, header, members = bytes(1 << 20), b"", []
    data = deflated(value)
    for number in range(entries):
        if header:
            data = struct.pack("<B2H", 0, len(header), len(header) ^ 0xFFFF) + header + data
            value = header + value
        numbers = (zlib.crc32(value), len(data), len(value))
        header = _local(b"0/c/%d" % number, *numbers)
        members.append((b"0/c/%d" % number, numbers, len(header) + len(data)))
    return _with_directory(header + data, members)


Numbers = tuple[int, int, int]


def _local(name: bytes, checksum: int, stored: int, size: int, extra: bytes = b"", quoted: int = 0) -> bytes:
    fields = (b"PK\x03\x04", 20, 0, 8, 0, 33, checksum, stored, size, len(name), len(extra) + quoted)
    return struct.pack("<4s5H3I2H", *fields) + name + extra


def _with_directory(body: bytes, members: list[tuple[bytes, Numbers, int]]) -> bytes:
    """Append the directory of deflated entries; `members` gives name, numbers and distance from the end of `body`."""
    directory = b""
    for name, numbers, distance in members:
        fields = (b"PK\x01\x02", 20, 20, 0, 8, 0, 33, *numbers, len(name), 0, 0, 0, 0, 0, len(body) - distance)
        directory += struct.pack("<4s6H3I5H2I", *fields) + name
    count = len(members)
    return body + directory + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(body), 0)


def overlapping() -> ArchiveBuilder:
    """The value of one entry contains another entry with its header, which the directory also lists."""
    builder = valid()
    inner = valid().rename("0/c/0", "0/c/1")["0/c/1"].local_header(zip64=True)
    builder.add("notes", inner + b"abcd")
    return in_directory_only(builder, "0/c/1", b"abcd", builder.build().index(inner))


def in_directory_only(builder: ArchiveBuilder, name: str, value: bytes, offset: int, **fields: int) -> ArchiveBuilder:
    """Add an entry to the central directory; its local header is already at `offset`."""
    builder.file_order = builder.file_order or builder.names()
    builder.add(name, value)
    builder.entries[-1].central = {"offset": offset} | fields
    return builder


def many_honest_bombs() -> ArchiveBuilder:
    """Entries that each inflate to less than the limit of one entry, but together fill any disk."""
    builder, size = valid(), 1 << 40
    for number in range(1, 9):
        name = f"0/c/{number}"
        builder.add(name, bytes(99)).deflate(name)
        extra = struct.pack("<2HQ", 1, 8, size // 4)
        builder.set(name, central={"uncompressed": SENTINEL, "extra": extra})
    return builder


def nested(depth: int = 6, width: int = 4) -> ArchiveBuilder:
    """42.zip: archives in archives; each level multiplies the inflated size."""
    inner = bytes(1 << 20)
    for level in range(depth):
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(width):
                archive.writestr(zipfile.ZipInfo(f"{level}-{number}.zip"), inner, zipfile.ZIP_DEFLATED)
        inner = target.getvalue()
    return valid().add("lib.zip", inner)


# --- sizes ----------------------------------------------------------------------------------------


def lying_deflate(size: int) -> ArchiveBuilder:
    builder = valid().add("notes", b"long " * 200).deflate("notes")
    return builder.set("notes", local={"uncompressed": size}, central={"uncompressed": size})


def deflate_with_tail() -> ArchiveBuilder:
    builder = valid().add("notes", b"long " * 200).deflate("notes")
    return builder.set("notes", data=builder["notes"].data + b"more")


def lying_descriptor() -> ArchiveBuilder:
    return valid().stream("0/c/0").set("0/c/0", after=b"PK\x07\x08" + struct.pack("<IQQ", 1, 2, 3))


# --- end records and directories ------------------------------------------------------------------


def second_archive_in_comment() -> bytes:
    """Two archives in one file; which of them a reader sees depends on where its search for the end record begins."""
    first, second = (valid(**{"0/c/0": value}).with_(comment=b"").classic() for value in (b"abcd", b"EVIL"))
    begin = position = len(first.build())
    for entry in second.entries:  # the offsets of the second count from the beginning of the file
        entry.central = {"offset": position}
        position += len(entry.local_header(zip64=False)) + len(entry.data)
    hidden = second.set_end(offset=position).build()
    archive = first.with_(comment=hidden).build()
    assert archive.endswith(hidden)
    assert archive[begin:] == hidden
    return archive


def end_record_in_comment() -> ArchiveBuilder:
    """A comment that contains an end record without a directory."""
    fake = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, 46, 0, 0)
    return valid().with_(comment=b'{"ome":{"version":"0.5"}}' + fake)


def directory_in_a_value() -> ArchiveBuilder:
    """The end record points to a central directory inside the value of an entry."""
    other = valid(**{"0/c/0": b"EVIL"}).classic().with_(comment=b"")
    whole = other.build()
    size, offset = struct.unpack_from("<2I", whole, len(whole) - 10)
    builder = valid().classic().add("notes", whole[offset : offset + size])
    position = builder.build().index(whole[offset : offset + size])
    count = len(other.entries)
    return builder.set_end(offset=position, size=size, entries=count, here=count)


def two_directories() -> bytes:
    """The directory at the stated offset is not the directory right before the end record."""
    archive = valid().classic().with_(comment=b"").build()
    size, offset = struct.unpack_from("<2I", archive, len(archive) - 10)
    directory = archive[offset : offset + size]
    return archive[: offset + size] + directory.replace(b"0/c/0", b"0/c/9") + archive[offset + size :]


def in_zip64_field(*values: int, **fields: int) -> ArchiveBuilder:
    extra = struct.pack(f"<2H{len(values)}Q", 1, 8 * len(values), *values)
    return valid().set("0/c/0", central={"extra": extra} | fields)


def two_zip64_fields() -> ArchiveBuilder:
    """In ozx, the first field counts; readers that use the last field see 9 bytes."""
    extra = b"".join(struct.pack("<2HQ", 1, 8, size) for size in (4, 9))
    return valid().set("0/c/0", central={"uncompressed": SENTINEL, "extra": extra})


def local_zip64_contradiction() -> ArchiveBuilder:
    """The ZIP64 field of the local header states another size than the directory."""
    extra = struct.pack("<2H2Q", 1, 16, 9, 9)
    return valid().classic().set("0/c/0", local={"compressed": SENTINEL, "uncompressed": SENTINEL, "extra": extra})


def offset_of_directory() -> ArchiveBuilder:
    archive = valid().build()
    return valid().set("0/c/0", central={"offset": archive.index(b"PK\x01\x02")})


def huge_count(entries: int) -> ArchiveBuilder:
    return valid().with_(wide_end={"entries": entries, "here": entries}).set_end(entries=SENTINEL_16, here=SENTINEL_16)


def two_end_records() -> bytes:
    """Both end records fit the same directory; the second states only two entries."""
    archive = valid().classic().with_(comment=b"").build()
    size, offset = struct.unpack_from("<2I", archive, len(archive) - 10)
    return archive + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 2, 2, size, offset, 0)


# --- names ----------------------------------------------------------------------------------------


def named(name: str | bytes, **fields: int) -> ArchiveBuilder:
    return valid().add(name, b"evil", **fields)


def unicode_path(name: str, *, of: bytes, raw: bytes = b"caf\x82", path: bytes = b"") -> ArchiveBuilder:
    """APPNOTE 4.6.9: a second name, which counts if the field has the CRC-32 of the first name."""
    second = struct.pack("<BI", 1, zlib.crc32(of)) + (path or name.encode())
    extra = struct.pack("<2H", 0x7075, len(second)) + second
    return named(raw, flags=0).set(
        raw.decode("utf-8", "surrogateescape"), local={"extra": extra}, central={"extra": extra}
    )


def kind(mode: int, value: bytes = b"/etc/passwd") -> ArchiveBuilder:
    return valid().add("0/c/1", value).set("0/c/1", central={"external": mode << 16})


def unicode_path_in_directory() -> ArchiveBuilder:
    builder = unicode_path("caf\u00e9", of=b"caf\x82")
    builder.entries[-1].local = {}
    return builder


def in_local_header_only(builder: ArchiveBuilder) -> ArchiveBuilder:
    builder.entries[-1].central = {}
    return builder


def twice_in_directory() -> ArchiveBuilder:
    return in_directory_only(
        valid(), "0/c/0", b"abcd", valid().build().index(valid()["0/c/0"].local_header(zip64=True))
    )


def twice_in_another_order() -> bytes:
    """Of two entries of one name, the one that the directory lists last is the first one in the file."""
    data = valid().duplicate("0/c/0", LATER).classic().build()
    headers = (at for at in range(len(data)) if data.startswith(b"PK\1\2", at) and data[at + 46 :].startswith(b"0/c/0"))
    first, second = (slice(at, at + 46 + len("0/c/0")) for at in headers)
    middle = data[first.stop : second.start]
    return data[: first.start] + data[second] + middle + data[first] + data[second.stop :]


def link_and_file_below() -> ArchiveBuilder:
    """A link and an entry below it: some programs write this entry to the target of the link."""
    return kind(0o120777, b"/tmp").add("0/c/1/evil", b"evil")


TRAVERSALS = {
    "../evil": "up and out",
    "0/../../evil": "up from below",
    "/evil": "absolute",
    "//server/share/evil": "UNC with slashes",
    "\\\\server\\share\\evil": "UNC",
    "..\\evil": "up with backslashes",
    "0/..\\..\\evil": "mixed separators",
    "C:/evil": "a drive",
    "C:evil": "relative to a drive",
    "C:\\evil": "a drive with a backslash",
    "./evil": "a dot",
    "0/./evil": "a dot within",
    "0//evil": "nothing within",
    "..": "nothing but up",
    "0/..": "up at the end",
    "": "no name",
    "a\0.txt": "NUL",
    "0/c/1\0": "NUL at the end",
}
#: Names that look like traversals, but are ordinary keys.
LOOKALIKES = {
    "%2e%2e/evil": "percent-encoded",
    "..%2fevil": "a percent-encoded slash",
    "\u2025/evil": "two dots in one character",
    "\uff0e\uff0e/evil": "wide dots",
    "..\u2215evil": "another slash",
    "~/evil": "a home",
    "$HOME/evil": "a variable",
    "... /evil": "dots and a blank",
    "-rf": "an option",
    "a\nb\x1b[31m": "control characters",
}
#: The names that `repack` gives to keys with only one meaning; it drops "~/evil", which looks like litter of a desktop.
MENDED = {"./evil": "evil", "0/./evil": "0/evil", "0//evil": "0/evil", "~/evil": ""}
RESERVED = ("CON", "nul.txt", "COM1", "LPT9.zarr", "aux/evil", "trailing.", "blank ", "stream:evil", "a?b", "CONIN$")


def with_chunk(**fields: Any) -> Callable[[], ArchiveBuilder]:
    """Return a function that makes an archive whose chunk has these fields."""
    return lambda: valid().set("0/c/0", **fields)


RECIPES = [
    # Bombs.
    Recipe("one entry inflates 1,000 : 1", lambda: deflated_zeros(BOMB), "zip/bomb", "rfc9/stored zip/bomb"),
    refused("zip/overlap", "two local headers, one value", overlapping),
    Recipe(
        "all entries have one local header",
        many_into_one,
        "zip/overlap",
        "rfc9/stored zip/local-header zip/overlap",
        lost=tuple(f"0/c/{number}" for number in range(2, 50)),
    ),
    Recipe(
        "quoted by extra fields",
        quoted_in_extra_fields,
        "zip/overlap",
        "rfc9/comment rfc9/root rfc9/stored rfc9/zip64 zip/overlap",
        recover="rfc9/root",
    ),
    Recipe(
        "quoted by deflate",
        quoted_in_deflate,
        "zip/overlap",
        "rfc9/comment rfc9/root rfc9/stored rfc9/zip64 zip/overlap",
        recover="rfc9/root",
    ),
    Recipe("archives in archives", nested, "whole", "rfc9/not-embedded", repack="rfc9/not-embedded"),
    Recipe("1 TiB in all", many_honest_bombs, "zip/bomb", "rfc9/stored zip/bomb zip/large-entry zip/local-header"),
    # False sizes.
    Recipe(
        "stored, larger than declared",
        lambda: both("0/c/0", uncompressed=2, compressed=2),
        "zip/crc",
        "zip/unreferenced-bytes",
        lost=("0/c/0",),
    ),
    refused("zip/stored-size", "stored, two sizes", lambda: both("0/c/0", uncompressed=5)),
    Recipe(
        "stored, 4 GiB declared",
        lambda: both("0/c/0", uncompressed=SENTINEL - 1),
        "zip/stored-size",
        "zip/large-entry zip/stored-size",
    ),
    refused(
        "zip/bounds",
        "stored beyond the file",
        lambda: both("0/c/0", uncompressed=9999, compressed=9999),
        lost=("0/c/0",),
    ),
    Recipe("deflated, inflates to more", lambda: lying_deflate(8), "zip/inflate", "rfc9/stored"),
    Recipe("deflated, inflates to less", lambda: lying_deflate(2000), "zip/inflate", "rfc9/stored"),
    Recipe("deflated, goes on behind its end", deflate_with_tail, "zip/inflate", "rfc9/stored"),
    refused("zip/local-header", "the two headers differ in size", with_chunk(local={"uncompressed": 3})),
    refused("zip/local-header", "the two headers differ in method", with_chunk(local={"method": 8})),
    refused("zip/local-header", "the two headers differ in name", with_chunk(local={"name": b"0/c/1"})),
    refused(
        "zip/truncated", "a local header that ends behind the file", with_chunk(local={"name_length": SENTINEL_16})
    ),
    refused("zip/local-header", "the two headers differ in CRC-32", with_chunk(local={"crc32": 1})),
    Recipe("another CRC-32 in both", lambda: both("0/c/0", crc32=1), "zip/crc", "", lost=("0/c/0",)),
    # ZIP64.
    closed("zip/zip64-field", "a placeholder and no ZIP64 field", with_chunk(central={"compressed": SENTINEL})),
    Recipe(
        "a placeholder in the local header and no ZIP64 field",
        lambda: valid().classic().set("0/c/0", local={"compressed": SENTINEL}),
        "zip/local-header",
        "rfc9/zip64 zip/local-header",
    ),
    closed(
        "zip/zip64-field",
        "a ZIP64 field that is too short",
        lambda: in_zip64_field(4, uncompressed=SENTINEL, compressed=SENTINEL),
    ),
    Recipe(
        "a ZIP64 field of 2**63",
        lambda: in_zip64_field(1 << 63, uncompressed=SENTINEL),
        "zip/stored-size",
        "zip/large-entry zip/local-header zip/stored-size",
    ),
    Recipe("a ZIP64 field of other sizes, not asked for", lambda: in_zip64_field(9, 9), "whole", "zip/zip64-field"),
    Recipe("a ZIP64 field of the same sizes, not asked for", lambda: in_zip64_field(4, 4), "whole", ""),
    Recipe(
        "a ZIP64 field of another offset, not asked for", lambda: in_zip64_field(4, 4, 0), "whole", "zip/zip64-field"
    ),
    Recipe(
        "a ZIP64 field of other sizes in the local header, not asked for",
        lambda: valid().classic().set("0/c/0", local={"extra": struct.pack("<2H2Q", 1, 16, 9, 9)}),
        "whole",
        "rfc9/zip64 zip/zip64-field",
    ),
    Recipe("two ZIP64 fields", two_zip64_fields, "whole", "zip/zip64-field"),
    Recipe(
        "a ZIP64 field and true sizes in the local header",
        local_zip64_contradiction,
        "zip/local-header",
        "rfc9/zip64 zip/local-header",
    ),
    Recipe(
        "an extra field that runs out of its block",
        with_chunk(central={"extra": b"\x01\0\xff\xff"}),
        "whole",
        "zip/extra-block",
    ),
    refused("zip/bounds", "offset -1", lambda: in_zip64_field((1 << 64) - 1, offset=SENTINEL)),
    refused("zip/bounds", "offset 2**63", lambda: in_zip64_field(1 << 63, offset=SENTINEL)),
    refused("zip/bounds", "offset behind the file", with_chunk(central={"offset": 1 << 31})),
    Recipe(
        "offset of another entry",
        lambda: in_directory_only(valid(), "0/c/1", b"abcd", 0),
        "zip/overlap",
        "rfc9/breadth-first zip/local-header zip/overlap",
        lost=("0/c/1",),
    ),
    refused("zip/bounds", "offset of the directory", offset_of_directory),
    # End records and directories.
    *[
        closed(
            "zip/directory",
            f"end record, {field} beyond the file",
            lambda field=field: valid().classic().set_end(**{field: SENTINEL - 1}),
        )
        for field in ("offset", "size")
    ],
    closed("zip/truncated", "a comment longer than the file", lambda: valid().set_end(comment_length=9999)),
    closed("rfc9/not-split", "fewer entries in this part than in all", lambda: valid().classic().set_end(here=2)),
    closed(
        "zip/end-record", "ZIP64 end record of other entries", lambda: valid().with_(wide_end={"entries": 2, "here": 2})
    ),
    closed("zip/directory", "ZIP64 end record of 2**63 entries", lambda: huge_count(1 << 63)),
    closed(
        "zip/directory",
        "ZIP64 end record, offset -1",
        lambda: valid().with_(wide_end={"offset": (1 << 64) - 1}).set_end(offset=SENTINEL),
    ),
    Recipe("locator to an entry", lambda: valid().with_(locator={"offset": 0}), "whole", "zip/end-record"),
    Recipe("locator to nowhere", lambda: valid().with_(locator={"offset": 1 << 63}), "whole", "zip/end-record"),
    closed("zip/directory", "a directory in a value", directory_in_a_value),
    closed("zip/directory", "two directories", two_directories, lost=("0/c/9",), holds=VALID | {"0/c/9": b"abcd"}),
    closed(
        "zip/end-record",
        "an archive in the comment",
        second_archive_in_comment,
        recover="part",
        holds=VALID | {"0/c/0": b"EVIL"},
    ),
    Recipe(
        "an end record in the comment", end_record_in_comment, "whole", "rfc9/comment rfc9/comment-nul zip/end-record"
    ),
    closed(
        "zip/end-record",
        "two archives in a row",
        lambda: valid().build() + valid(**{"0/c/0": b"EVIL"}).build(),
        recover="part",
        holds=VALID | {"0/c/0": b"EVIL"},
    ),
    closed(
        "zip/directory",
        "two classic archives in a row",
        lambda: valid().classic().build() * 2,
        recover="part",
        holds=VALID,
    ),
    closed("zip/directory", "two end records", two_end_records, holds=VALID),
    Recipe("bytes behind the end record", lambda: valid().with_(suffix=b"behind"), "whole", "zip/trailing-bytes"),
    Recipe("bytes before the archive", lambda: valid().with_(prefix=b"#!/bin/sh\n"), "whole", "zip/prepended-bytes"),
    closed(
        "rfc9/not-split", "a disk number in the end record", lambda: valid().classic().set_end(disk=1, directory_disk=1)
    ),
    Recipe("a disk number of an entry", with_chunk(central={"disk": 1}), "whole", "rfc9/not-split"),
    closed("rfc9/not-split", "two disks in the locator", lambda: valid().with_(locator={"disks": 2})),
    # Names.
    *[
        refused(
            "zip/name",
            f"name: {why}",
            lambda name=name: named(name),
            lost=(name,),
            repack="whole" if name in MENDED else "",
            renamed=MENDED,
        )
        for name, why in TRAVERSALS.items()
    ],
    *[
        Recipe(f"key: {why}", lambda name=name: named(name), "whole", "", renamed=MENDED)
        for name, why in LOOKALIKES.items()
    ],
    *[Recipe(f"Windows: {name}", lambda name=name: named(name), "whole", "") for name in RESERVED],
    refused("zip/name", "name: no UTF-8", lambda: named(b"\xff\xfe", flags=UTF8), lost=("\udcff\udcfe",)),
    Recipe("name: 65,535 bytes", lambda: named("x" * 65_535), "whole", "", unpack="zip/name"),
    refused(
        "zip/name",
        "name: overlong UTF-8 of ../",
        lambda: named(b"\xc0\xae\xc0\xae/evil", flags=UTF8),
        lost=("\udcc0\udcae\udcc0\udcae/evil",),
    ),
    Recipe(
        "name: a folder with bytes",
        lambda: named("folder/"),
        "zip/name",
        "zip/directory-entry zip/name",
        lost=("folder/",),
    ),
    Recipe("name: value and folder at once", lambda: named("0/c"), "whole", "zip/value-and-folder", unpack="zip/name"),
    Recipe(
        "name: twice",
        lambda: valid().duplicate("0/c/0", LATER),
        "whole",
        "zip/duplicate-name",
        unpack="zip/duplicate-name",
    ),
    Recipe(
        "name: twice, in another order in the directory",
        twice_in_another_order,
        "zip/duplicate-name",
        "rfc9/zip64 zip/duplicate-name",
        recover="part",
        holds=VALID,
    ),
    Recipe(
        "name: twice, of one local header",
        twice_in_directory,
        "zip/overlap",
        "zip/duplicate-name zip/overlap",
        unpack="zip/duplicate-name",
    ),
    Recipe(
        "name: zarr.json twice",
        lambda: valid().duplicate("zarr.json", group()),
        "whole",
        "rfc9/breadth-first rfc9/json-first zip/duplicate-name",
        unpack="zip/duplicate-name",
    ),
    Recipe("name: twice but for case", lambda: named("0/C/0"), "whole", ""),
    Recipe("name: folders twice but for case", lambda: named("LABELS/x").add("labels/x", b"evil"), "whole", ""),
    Recipe("name: metadata but for case", lambda: named("ZARR.JSON"), "whole", ""),
    Recipe("name: 256 folders", lambda: named("f/" * 256 + "x"), "whole", ""),
    Recipe("name: a thousand folders", lambda: named("f/" * 1000 + "x"), "whole", "", unpack="zip/name"),
    Recipe("name: twice but for composition", lambda: named("e\u0301").add("\u00e9", b"evil"), "whole", ""),
    Recipe("name: bit 11 off", lambda: named("\u00fc".encode(), flags=0), "whole", "zip/name-encoding"),
    refused(
        "zip/local-header", "name: bit 11 in one header only", lambda: named("\u00fc").set("\u00fc", local={"flags": 0})
    ),
    *[
        Recipe(f"Unicode path: {why}", make, "whole", "zip/name-encoding", names={b"caf\x82": name})
        for why, make, name in (
            ("right", lambda: unicode_path("naïve", of=b"caf\x82"), "naïve"),
            ("out, in ASCII", lambda: unicode_path("../evil", of=b"caf\x82"), "café"),
            ("of another name", lambda: unicode_path("é", of=b"other"), "café"),
            ("the name of another entry", lambda: unicode_path("0/c/0", of=b"caf\x82"), "café"),
            ("a folder", lambda: unicode_path("é/", of=b"caf\x82"), "café"),
            ("in the directory only", unicode_path_in_directory, "café"),
        )
    ],
    Recipe(
        "Unicode path: out",
        lambda: unicode_path("../é", of=b"caf\x82"),
        "zip/name",
        "zip/name zip/name-encoding",
        lost=("../é",),
        names={b"caf\x82": "../é"},
    ),
    Recipe(
        "Unicode path: the name of another entry that is not ASCII",
        lambda: unicode_path("é", of=b"caf\x82").add("é", b"efgh"),
        "whole",
        "zip/duplicate-name zip/name-encoding",
        unpack="zip/duplicate-name",
        names={b"caf\x82": "é"},
    ),
    Recipe(
        "Unicode path: no UTF-8",
        lambda: unicode_path("é", of=b"caf\x82", path=b"\xff"),
        "zip/name",
        "zip/name zip/name-encoding",
        lost=("\udcff",),
        names={b"caf\x82": "\udcff"},
    ),
    refused(
        "zip/unicode-path",
        "Unicode path: beside an ASCII name",
        lambda: unicode_path("evil", of=b"plain", raw=b"plain"),
    ),
    Recipe("Unicode path: the same ASCII name", lambda: unicode_path("plain", of=b"plain", raw=b"plain"), "whole", ""),
    Recipe(
        "Unicode path: beside an ASCII name, in the local header only",
        lambda: in_local_header_only(unicode_path("evil", of=b"plain", raw=b"plain")),
        "zip/local-header",
        "zip/unicode-path",
    ),
    # Kinds.
    Recipe("a symbolic link out", lambda: kind(0o120777), "whole", "zip/symlink", repack="zip/symlink"),
    Recipe(
        "a symbolic link, then a file below it",
        link_and_file_below,
        "whole",
        "zip/symlink zip/value-and-folder",
        unpack="zip/name",
        repack="zip/symlink",
    ),
    Recipe("a named pipe", lambda: kind(0o010644), "whole", "zip/special-file", repack="zip/special-file"),
    Recipe("a device", lambda: kind(0o020666), "whole", "zip/special-file", repack="zip/special-file"),
    Recipe("setuid", lambda: kind(0o104755), "whole", ""),
    # Data descriptors, encryption, methods.
    Recipe("a descriptor with signature", lambda: valid().stream("0/c/0"), "whole", ""),
    Recipe("a descriptor without signature", lambda: valid().stream("0/c/0", signature=False), "whole", ""),
    Recipe(
        "a CRC-32 like the signature", lambda: valid(**{"0/c/0": LIKE}).stream("0/c/0", signature=False), "whole", ""
    ),
    Recipe("a narrow descriptor with signature", lambda: valid().classic().stream("0/c/0"), "whole", "rfc9/zip64"),
    Recipe(
        "a narrow descriptor without signature",
        lambda: valid().classic().stream("0/c/0", signature=False),
        "whole",
        "rfc9/zip64",
    ),
    Recipe(
        "a descriptor of a deflated entry", lambda: valid().deflate("0/c/0").stream("0/c/0"), "whole", "rfc9/stored"
    ),
    Recipe(
        "a descriptor that the directory alone announces",
        with_chunk(central={"flags": DESCRIPTOR}),
        "whole",
        "zip/local-header",
    ),
    Recipe(
        "a descriptor that the local header alone announces",
        with_chunk(local={"flags": DESCRIPTOR}),
        "whole",
        "zip/local-header",
    ),
    Recipe("a descriptor that lies", lying_descriptor, "whole", "zip/local-header"),
    Recipe(
        "a descriptor that is missing",
        lambda: valid().stream("0/c/0").set("0/c/0", after=b""),
        "whole",
        "zip/local-header",
    ),
    refused("zip/encrypted", "encrypted by bit 0", with_chunk(flags=ENCRYPTED)),
    refused("zip/encrypted", "encrypted by bit 6", with_chunk(flags=0x41)),
    refused("zip/local-header", "encrypted in the local header only", with_chunk(local={"flags": ENCRYPTED})),
    Recipe(
        "encrypted in the directory only",
        with_chunk(central={"flags": ENCRYPTED}),
        "zip/encrypted",
        "zip/encrypted zip/local-header",
    ),
    Recipe("an encrypted directory", with_chunk(flags=0x2001), "zip/encrypted", "zip/encrypted zip/flags"),
    Recipe(
        "AES by its method",
        with_chunk(method=99, flags=ENCRYPTED),
        "zip/encrypted",
        "rfc9/stored zip/encrypted zip/method",
    ),
    Recipe("lzma", with_chunk(method=14), "zip/method", "rfc9/stored zip/method"),
    Recipe("method 65,535", with_chunk(method=SENTINEL_16), "zip/method", "rfc9/stored zip/method"),
    Recipe("a time that is none", with_chunk(central={"extra": TIME_FIELD}), "whole", ""),
]

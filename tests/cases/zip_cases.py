"""Cases of the rules about the ZIP format."""

from __future__ import annotations

import struct

from .archive_builder import COMMENT, DESCRIPTOR, PADDING_FIELD, TIME_FIELD, ArchiveBuilder, group
from .case import Case

_TWO_GIB = 2 << 30
_BOMB = 64 << 20

_valid = ArchiveBuilder.valid


def _both(builder: ArchiveBuilder, name: str, **fields: int) -> ArchiveBuilder:
    return builder.set(name, local=fields, central=fields)


def _overlapping() -> ArchiveBuilder:
    builder = _valid()
    inner = builder["0/c/0"].local_header(zip64=True)
    builder.add("notes", inner + b"abcd")
    archive = builder.build()
    return builder.set("0/c/0", central={"offset": archive.index(inner, archive.index(b"notes"))})


def _not_overlapping() -> ArchiveBuilder:
    builder = _valid()
    return builder.add("notes", builder["0/c/0"].local_header(zip64=True) + b"abcd")


def _left_over() -> ArchiveBuilder:
    builder = _valid()
    builder["zarr.json"].before = builder["0/c/0"].local_header(zip64=True) + b"old!"
    return builder


def _gap() -> ArchiveBuilder:
    builder = _valid()
    builder["0/c/0"].before = b"left over"
    return builder


def _with_hole(size: int) -> ArchiveBuilder:
    return _valid().set("0/c/0", hole=size - 4)


def _many(entries: int) -> ArchiveBuilder:
    builder = _valid()
    for number in range(entries - len(builder.entries)):
        builder.add(f"notes/{number}")
    return builder


def _long_comment(length: int) -> ArchiveBuilder:
    return _valid().with_(comment=_valid().comment.ljust(length))


def _deflated_metadata(*, damaged: bool = False) -> ArchiveBuilder:
    builder = _valid().deflate("0/zarr.json")
    data = builder["0/zarr.json"].data
    return builder.set("0/zarr.json", data=data[:-9] + bytes(9)) if damaged else builder


def _wide_central(*, is_there: bool) -> ArchiveBuilder:
    extra = struct.pack("<2H2Q", 1, 16, 4, 4) if is_there else b""
    return _valid().set("0/c/0", central={"compressed": 0xFFFFFFFF, "uncompressed": 0xFFFFFFFF, "extra": extra})


def _unasked(*values: int, where: str = "central") -> ArchiveBuilder:
    extra = struct.pack(f"<2H{len(values)}Q", 1, 8 * len(values), *values)
    return _valid().with_(zip64_local=False).set("0/c/0", **{where: {"extra": extra}})


ZIP_CASES = (
    Case("zip/not-a-zip", "a TIFF", lambda: b"II*\0" + bytes(100), "zip/not-a-zip"),
    Case("zip/not-a-zip", "an empty file", lambda: b"", "zip/not-a-zip"),
    Case("zip/not-a-zip", "an archive without entries", ArchiveBuilder, "rfc9/root"),
    Case("zip/truncated", "the last byte is missing", lambda: _valid().build()[:-1], "zip/truncated"),
    Case("zip/truncated", "a whole file", _valid),
    Case(
        "zip/end-record",
        "two end records with different numbers of entries",
        lambda: _valid().set_end(entries=4, here=4),
        "zip/end-record",
    ),
    Case("zip/end-record", "placeholders", lambda: _valid().set_end(entries=0xFFFF, here=0xFFFF, offset=0xFFFFFFFF)),
    Case(
        "zip/end-record",
        "a ZIP64 locator that points to an entry",
        lambda: _valid().with_(locator={"offset": 0}),
        "zip/end-record",
    ),
    Case(
        "zip/end-record",
        "a ZIP64 locator whose offset does not count prepended bytes",
        lambda: _valid().with_(prefix=b"#!/bin/sh\n"),
        "zip/prepended-bytes",
    ),
    Case(
        "zip/end-record",
        "a ZIP64 end record of another size than it declares",
        lambda: _valid().with_(wide_end={"rest": 60}),
        "zip/end-record",
    ),
    Case(
        "zip/end-record",
        "two archives, the second in the comment of the first",
        lambda: _valid().with_(comment=_valid().classic().with_(comment=b"").build()),
        "zip/end-record",
    ),
    Case(
        "zip/end-record",
        "the signature of an end record in the comment",
        lambda: _valid().with_(comment=COMMENT + b" PK\5\6"),
        "zip/end-record rfc9/comment",
    ),
    Case("zip/end-record", "a comment that ends with a blank", lambda: _valid().with_(comment=COMMENT + b" ")),
    Case(
        "zip/directory",
        "one entry too many is promised",
        lambda: _valid().with_(end={"entries": 4, "here": 4}, wide_end={"entries": 4, "here": 4}),
        "zip/directory",
    ),
    Case(
        "zip/directory",
        "an extra field that looks like a header",
        lambda: _valid().set("0/c/0", central={"extra": struct.pack("<2H4s", 0x7875, 4, b"PK\x01\x02")}),
    ),
    Case(
        "zip/zip64-field",
        "a placeholder without a ZIP64 field",
        lambda: _wide_central(is_there=False),
        "zip/zip64-field",
    ),
    Case("zip/zip64-field", "a placeholder with a ZIP64 field", lambda: _wide_central(is_there=True)),
    Case(
        "zip/zip64-field",
        "a ZIP64 field that contradicts the header's sizes",
        lambda: _unasked(9, 9),
        "zip/zip64-field",
    ),
    Case("zip/zip64-field", "a ZIP64 field that repeats the header's sizes", lambda: _unasked(4, 4)),
    Case(
        "zip/zip64-field",
        "a ZIP64 field that contradicts the local header's sizes",
        lambda: _unasked(9, 9, where="local"),
        "zip/zip64-field",
    ),
    Case(
        "zip/bounds",
        "beyond the directory",
        lambda: _both(_valid(), "0/c/0", compressed=9999, uncompressed=9999),
        "zip/bounds",
    ),
    Case("zip/bounds", "up to the directory", _valid),
    Case("zip/encrypted", "bit 0", lambda: _valid().set("0/c/0", flags=1), "zip/encrypted"),
    Case("zip/encrypted", "bit 6", lambda: _valid().set("0/c/0", flags=0x40), "zip/encrypted"),
    Case("zip/encrypted", "an encrypted zarr.json", lambda: _valid().set("0/zarr.json", flags=1), "zip/encrypted"),
    Case("zip/encrypted", "bit 1, which does not mean encryption", lambda: _valid().set("0/c/0", flags=2)),
    Case("zip/method", "lzma", lambda: _valid().set("0/c/0", method=14), "zip/method rfc9/stored"),
    Case("zip/method", "an lzma zarr.json", lambda: _valid().set("0/zarr.json", method=14), "zip/method rfc9/stored"),
    Case("zip/method", "Deflate64", lambda: _valid().set("0/c/0", method=9), "rfc9/stored"),
    Case("zip/overlap", "an entry in an entry", _overlapping, "zip/overlap zip/unreferenced-bytes"),
    Case(
        "zip/overlap",
        "into the directory",
        lambda: _both(_valid(), "0/c/0", compressed=9, uncompressed=9),
        "zip/overlap",
    ),
    Case("zip/overlap", "a value that looks like an entry", _not_overlapping),
    Case(
        "zip/local-header", "another name", lambda: _valid().set("0/c/0", local={"name": b"0/c/1"}), "zip/local-header"
    ),
    Case(
        "zip/local-header", "another size", lambda: _valid().set("0/c/0", local={"uncompressed": 3}), "zip/local-header"
    ),
    Case(
        "zip/local-header", "no header", lambda: _valid().set("0/c/0", local={"signature": b"PK??"}), "zip/local-header"
    ),
    Case("zip/local-header", "sizes after the data", lambda: _valid().stream("0/c/0")),
    Case(
        "zip/local-header",
        "other sizes after the data",
        lambda: _valid().stream("0/c/0").set("0/c/0", after=struct.pack("<4sIQQ", b"PK\x07\x08", 1, 2, 3)),
        "zip/local-header",
    ),
    Case(
        "zip/local-header",
        "no sizes after the data",
        lambda: _valid().stream("0/c/0").set("0/c/0", after=b""),
        "zip/local-header",
    ),
    Case(
        "zip/local-header",
        "a central header that declares a value empty",
        lambda: _valid().stream("0/c/0").set("0/c/0", central={"crc32": 0, "compressed": 0, "uncompressed": 0}),
        "zip/local-header zip/unreferenced-bytes",
    ),
    Case(
        "zip/local-header",
        "two headers that declare a value empty",
        lambda: _both(_valid(), "0/c/0", crc32=0, compressed=0, uncompressed=0),
        "zip/local-header zip/unreferenced-bytes",
    ),
    Case("zip/local-header", "an empty value with a data descriptor", lambda: _valid().add("notes").stream("notes")),
    Case("zip/local-header", "other flags", lambda: _valid().set("0/c/0", local={"flags": 2}), "zip/local-header"),
    Case(
        "zip/local-header",
        "other flags for the compression level of a deflated entry",
        lambda: _valid().deflate("0/c/0").set("0/c/0", local={"flags": 2}),
        "rfc9/stored",
    ),
    Case(
        "zip/local-header",
        "a data descriptor that the directory alone announces",
        lambda: _valid().set("0/c/0", central={"flags": DESCRIPTOR}),
        "zip/local-header=warning",
    ),
    Case("zip/name", "a way out", lambda: _valid().add("../x"), "zip/name"),
    Case("zip/name", "a drive", lambda: _valid().add("C:/x"), "zip/name"),
    Case("zip/name", "a backslash", lambda: _valid().add("a\\b"), "zip/name"),
    Case("zip/name", "no UTF-8", lambda: _valid().add(b"\xff\xfe"), "zip/name"),
    Case("zip/name", "a folder with bytes", lambda: _valid().add("x/", b"1"), "zip/name zip/directory-entry"),
    Case("zip/name", "two dots in a name", lambda: _valid().add("..x/a..b")),
    Case("zip/duplicate-name", "the same name twice", lambda: _valid().duplicate("0/c/0"), "zip/duplicate-name"),
    Case(
        "zip/duplicate-name",
        "the same name in two encodings",
        lambda: _valid().add("é").add(b"\x82", flags=0),
        "zip/duplicate-name zip/name-encoding",
    ),
    Case("zip/duplicate-name", "another case", lambda: _valid().add("x").add("X")),
    Case("zip/value-and-folder", "a and a/b", lambda: _valid().add("0/c"), "zip/value-and-folder"),
    Case(
        "zip/value-and-folder",
        "a and a/",
        lambda: _valid().add("notes").add("notes/"),
        "zip/value-and-folder zip/directory-entry",
    ),
    Case("zip/value-and-folder", "ab, a-b and a/b", lambda: _valid().add("notes/b").add("notesb").add("notes-b")),
    Case("zip/stored-size", "5 of 4 bytes", lambda: _both(_valid(), "0/c/0", uncompressed=5), "zip/stored-size"),
    Case("zip/stored-size", "deflated", lambda: _valid().deflate("0/c/0"), "rfc9/stored"),
    Case(
        "zip/bomb",
        "more than 64 MiB from a few bytes",
        lambda: _both(_valid().deflate("0/c/0"), "0/c/0", uncompressed=_BOMB + 1),
        "zip/bomb rfc9/stored",
    ),
    Case("zip/bomb", "64 MiB", lambda: _both(_valid().deflate("0/c/0"), "0/c/0", uncompressed=_BOMB), "rfc9/stored"),
    Case("zip/prepended-bytes", "a script", lambda: _valid().with_(prefix=b"#!/bin/sh\n"), "zip/prepended-bytes"),
    Case(
        "zip/prepended-bytes",
        "before no entries",
        lambda: ArchiveBuilder().classic().with_(prefix=b"leading"),
        "zip/prepended-bytes=warning rfc9/root rfc9/zip64",
    ),
    Case("zip/prepended-bytes", "an entry that was deleted", _left_over, "zip/leading-entries zip/unreferenced-bytes"),
    Case("zip/trailing-bytes", "a line end", lambda: _valid().with_(suffix=b"\n"), "zip/trailing-bytes"),
    Case("zip/trailing-bytes", "a line end in the comment", lambda: _valid().with_(comment=_valid().comment + b"\n")),
    Case(
        "zip/symlink",
        "made by Unix, with the mode of a link",
        lambda: _valid().set("0/c/0", central={"external": 0o120777 << 16}),
        "zip/symlink",
    ),
    Case(
        "zip/symlink",
        "made by DOS, with the Unix mode of a link",
        lambda: _valid().set("0/c/0", central={"external": 0o120777 << 16, "made_by": 20}),
        "zip/symlink",
    ),
    Case(
        "zip/symlink",
        "made by DOS, with the Unix mode of a file",
        lambda: _valid().set("0/c/0", central={"external": 0o100777 << 16, "made_by": 20}),
    ),
    Case(
        "zip/special-file",
        "made by Unix, with the mode of a pipe",
        lambda: _valid().set("0/c/0", central={"external": 0o010644 << 16}),
        "zip/special-file",
    ),
    Case(
        "zip/special-file",
        "a mode without a file type",
        lambda: _valid().set("0/c/0", central={"external": 0o644 << 16}),
    ),
    Case("zip/directory-entry", "a slash at the end", lambda: _valid().add("0/"), "zip/directory-entry"),
    Case("zip/directory-entry", "an empty value", lambda: _valid().add("notes")),
    Case("zip/name-encoding", "no bit 11", lambda: _valid().add("ü".encode(), flags=0), "zip/name-encoding"),
    Case("zip/name-encoding", "bit 11", lambda: _valid().add("ü")),
    Case("zip/unreferenced-bytes", "between entries", _gap, "zip/unreferenced-bytes"),
    Case("zip/unreferenced-bytes", "a data descriptor", lambda: _valid().stream("0/zarr.json")),
    Case(
        "zip/extra-field",
        "padding, profile strict",
        lambda: _valid().set("0/c/0", local={"extra": PADDING_FIELD}),
        "zip/extra-field=error",
        "strict",
    ),
    Case(
        "zip/extra-field", "padding", lambda: _valid().set("0/c/0", local={"extra": PADDING_FIELD}), "zip/extra-field"
    ),
    Case(
        "zip/extra-field",
        "padding, revision draft",
        lambda: _valid().set("0/c/0", local={"extra": PADDING_FIELD}),
        "zip/extra-field=error",
        revision="draft",
    ),
    Case("zip/extra-field", "a time", lambda: _valid().set("0/c/0", central={"extra": TIME_FIELD}), profile="strict"),
    Case(
        "zip/extra-field",
        "padding, revision r2",
        lambda: _valid().set("0/c/0", local={"extra": PADDING_FIELD}),
        revision="r2",
    ),
    Case("zip/large-entry", "2 GiB and a byte", lambda: _with_hole(_TWO_GIB + 1), "zip/large-entry"),
    Case("zip/large-entry", "2 GiB", lambda: _with_hole(_TWO_GIB)),
    Case("zip/overflow", "65,536", lambda: _many(65_536).classic(), "zip/overflow zip/many-entries=note rfc9/zip64"),
    Case("zip/overflow", "65,535", lambda: _many(65_535).classic(), "zip/many-entries=note rfc9/zip64"),
    Case(
        "zip/overflow",
        "an offset of 4 GiB",
        lambda: _with_hole(_TWO_GIB).add("a", hole=_TWO_GIB).classic(),
        "zip/overflow rfc9/zip64",
    ),
    Case("zip/many-entries", "65,535", lambda: _many(65_535), "zip/many-entries=note"),
    Case("zip/many-entries", "65,534", lambda: _many(65_534)),
    Case("zip/long-comment", "4,097 bytes", lambda: _long_comment(4097), "zip/long-comment"),
    Case("zip/long-comment", "4,096 bytes", lambda: _long_comment(4096)),
    Case("zip/crc", "metadata", lambda: _valid().set("zarr.json", data=group("0.6")), "zip/crc"),
    Case("zip/crc", "a chunk, at a level that does not read chunks", lambda: _valid().set("0/c/0", data=b"abce")),
    Case("zip/inflate", "damaged", lambda: _deflated_metadata(damaged=True), "zip/inflate rfc9/stored"),
    Case("zip/inflate", "whole", _deflated_metadata, "rfc9/stored"),
    Case(
        "zip/inflate",
        "bytes behind the end of the stream",
        lambda: _deflated_metadata().set("0/zarr.json", data=_deflated_metadata()["0/zarr.json"].data + b"more"),
        "zip/inflate rfc9/stored",
    ),
)

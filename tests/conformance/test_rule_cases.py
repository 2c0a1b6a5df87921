"""Every rule with a file that breaks it and nothing else, and the nearest file that does not.

Where breaking one rule cannot be done without another, `found` names both.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from builders import PADDING_FIELD, TIME_FIELD, ArchiveBuilder, array, group, write_tree

from ozx.archive.byte_source import MemorySource
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError
from ozx.validation.findings import Report
from ozx.validation.rules import RULES
from ozx.validation.validate import check_archive, validate

PLAIN_COMMENT = b'{"ome":{"version":"0.5"}}'
TWO_GIB = 2 << 30
BOMB = 64 << 20

valid = ArchiveBuilder.valid


@dataclass
class Case:
    """A file, and the ids of all its findings; it is a trigger of `rule` when that is among them."""

    rule: str
    name: str
    make: Callable[[], ArchiveBuilder | bytes | dict[str, bytes]]
    found: str = ""
    profile: str = "rfc9"
    file: str = "cells.ozx"

    def ids(self) -> set[str]:
        return set(self.found.split())

    def run(self, folder: Path) -> Report:
        made, path = self.make(), folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(made, dict):
            write_tree(path, made)
        elif isinstance(made, ArchiveBuilder):
            made.write(path)
        else:
            path.write_bytes(made)
        return validate(path, level="archive", profile=self.profile)


def both(builder: ArchiveBuilder, name: str, **fields: int) -> ArchiveBuilder:
    """Set fields in both headers of an entry."""
    return builder.set(name, local=fields, central=fields)


def overlapping() -> ArchiveBuilder:
    builder = valid()
    inner = builder["0/c/0"].local_header(zip64=True)
    builder.add("notes", inner + b"abcd")
    archive = builder.build()
    return builder.set("0/c/0", central={"offset": archive.index(inner, archive.index(b"notes"))})


def not_overlapping() -> ArchiveBuilder:
    builder = valid()
    return builder.add("notes", builder["0/c/0"].local_header(zip64=True) + b"abcd")


def left_over() -> ArchiveBuilder:
    builder = valid()
    builder["zarr.json"].before = builder["0/c/0"].local_header(zip64=True) + b"old!"
    return builder


def gap() -> ArchiveBuilder:
    builder = valid()
    builder["0/c/0"].before = b"left over"
    return builder


def with_hole(size: int) -> ArchiveBuilder:
    return valid().set("0/c/0", hole=size - 4)


def many(entries: int) -> ArchiveBuilder:
    builder = valid().value("0/zarr.json", array([1 << 20], [1], sharded=True)).remove("0/c/0")
    for number in range(entries - 2):
        builder.add(f"0/c/{number}")
    return builder


def long_comment(length: int) -> ArchiveBuilder:
    return valid().with_(comment=valid().comment.ljust(length))


def two_chunks(*, sharded: bool = False) -> ArchiveBuilder:
    return valid().value("0/zarr.json", array([8], [4], sharded=sharded)).add("0/c/1", b"efgh")


def deflated_metadata(*, damaged: bool = False) -> ArchiveBuilder:
    builder = valid().deflate("0/zarr.json")
    data = builder["0/zarr.json"].data
    return builder.set("0/zarr.json", data=data[:-9] + bytes(9)) if damaged else builder


def wide_central(*, is_there: bool) -> ArchiveBuilder:
    extra = struct.pack("<2H2Q", 1, 16, 4, 4) if is_there else b""
    return valid().set("0/c/0", central={"compressed": 0xFFFFFFFF, "uncompressed": 0xFFFFFFFF, "extra": extra})


def moved(prefix: str) -> ArchiveBuilder:
    builder = valid()
    for entry in builder.entries:
        entry.name = prefix.encode() + entry.name
    return builder


def legacy() -> ArchiveBuilder:
    return ArchiveBuilder().add(".zgroup", b'{"zarr_format": 2}').add(".zattrs", b"{}").add("0/.zarray", b"{}")


def image(**values: bytes) -> dict[str, bytes]:
    return {"zarr.json": group(), "0/zarr.json": array([4], [4]), "0/c/0": b"abcd"} | values


def in_groups(builder: ArchiveBuilder, *names: str) -> ArchiveBuilder:
    """Put a group at each name, in this order, before the data."""
    for name in names:
        builder.add(f"{name}/zarr.json", group(None), at=len(builder.entries) - 1)
    return builder


CASES = [
    Case("zip/not-a-zip", "a TIFF", lambda: b"II*\0" + bytes(100), "zip/not-a-zip"),
    Case("zip/not-a-zip", "an empty file", lambda: b"", "zip/not-a-zip"),
    Case("zip/not-a-zip", "an archive without entries", ArchiveBuilder, "rfc9/root"),
    Case("zip/truncated", "the last byte is missing", lambda: valid().build()[:-1], "zip/truncated"),
    Case("zip/truncated", "a whole file", valid),
    Case("zip/end-record", "two numbers of entries", lambda: valid().set_end(entries=4, here=4), "zip/end-record"),
    Case("zip/end-record", "placeholders", lambda: valid().set_end(entries=0xFFFF, here=0xFFFF, offset=0xFFFFFFFF)),
    Case(
        "zip/end-record",
        "the ZIP64 record is elsewhere",
        lambda: valid().with_(locator={"offset": 1 << 40}, wide_end={"entries": 3}, tail_gap=b""),
    ),
    Case(
        "zip/directory",
        "one entry too many is promised",
        lambda: valid().with_(end={"entries": 4, "here": 4}, wide_end={"entries": 4, "here": 4}),
        "zip/directory",
    ),
    Case(
        "zip/directory",
        "an extra field that looks like a header",
        lambda: valid().set("0/c/0", central={"extra": struct.pack("<2H4s", 0xCAFE, 4, b"PK\x01\x02")}),
    ),
    Case("zip/zip64-field", "a placeholder alone", lambda: wide_central(is_there=False), "zip/zip64-field"),
    Case("zip/zip64-field", "a placeholder and its field", lambda: wide_central(is_there=True)),
    Case(
        "zip/bounds",
        "beyond the directory",
        lambda: both(valid(), "0/c/0", compressed=9999, uncompressed=9999),
        "zip/bounds",
    ),
    Case("zip/bounds", "up to the directory", valid),
    Case("zip/encrypted", "bit 0", lambda: valid().set("0/c/0", flags=1), "zip/encrypted"),
    Case("zip/encrypted", "bit 6", lambda: valid().set("0/c/0", flags=0x40), "zip/encrypted"),
    Case("zip/encrypted", "an encrypted zarr.json", lambda: valid().set("0/zarr.json", flags=1), "zip/encrypted"),
    Case("zip/encrypted", "bit 1, of no meaning here", lambda: valid().set("0/c/0", flags=2)),
    Case("zip/method", "lzma", lambda: valid().set("0/c/0", method=14), "zip/method rfc9/stored"),
    Case("zip/method", "an lzma zarr.json", lambda: valid().set("0/zarr.json", method=14), "zip/method rfc9/stored"),
    Case("zip/method", "Deflate64", lambda: valid().set("0/c/0", method=9), "rfc9/stored"),
    Case("zip/overlap", "an entry in an entry", overlapping, "zip/overlap zip/unreferenced-bytes"),
    Case(
        "zip/overlap",
        "into the directory",
        lambda: both(valid(), "0/c/0", compressed=9, uncompressed=9),
        "zip/overlap",
    ),
    Case("zip/overlap", "a value that looks like an entry", not_overlapping),
    Case(
        "zip/local-header", "another name", lambda: valid().set("0/c/0", local={"name": b"0/c/1"}), "zip/local-header"
    ),
    Case(
        "zip/local-header", "another size", lambda: valid().set("0/c/0", local={"uncompressed": 3}), "zip/local-header"
    ),
    Case(
        "zip/local-header", "no header", lambda: valid().set("0/c/0", local={"signature": b"PK??"}), "zip/local-header"
    ),
    Case("zip/local-header", "sizes after the data", lambda: valid().stream("0/c/0")),
    Case("zip/name", "a way out", lambda: valid().add("../x"), "zip/name"),
    Case("zip/name", "a drive", lambda: valid().add("C:/x"), "zip/name"),
    Case("zip/name", "a backslash", lambda: valid().add("a\\b"), "zip/name"),
    Case("zip/name", "no UTF-8", lambda: valid().add(b"\xff\xfe"), "zip/name"),
    Case("zip/name", "a folder with bytes", lambda: valid().add("x/", b"1"), "zip/name zip/directory-entry"),
    Case("zip/name", "two dots in a name", lambda: valid().add("..x/a..b")),
    Case("zip/duplicate-name", "the same twice", lambda: valid().duplicate("0/c/0"), "zip/duplicate-name"),
    Case(
        "zip/duplicate-name",
        "the same in two encodings",
        lambda: valid().add("é").add(b"\x82", flags=0),
        "zip/duplicate-name zip/name-encoding",
    ),
    Case("zip/duplicate-name", "another case", lambda: valid().add("x").add("X")),
    Case("zip/stored-size", "5 of 4 bytes", lambda: both(valid(), "0/c/0", uncompressed=5), "zip/stored-size"),
    Case("zip/stored-size", "deflated", lambda: valid().deflate("0/c/0"), "rfc9/stored"),
    Case(
        "zip/bomb",
        "more than 64 MiB from a few bytes",
        lambda: both(valid().deflate("0/c/0"), "0/c/0", uncompressed=BOMB + 1),
        "zip/bomb rfc9/stored",
    ),
    Case("zip/bomb", "64 MiB", lambda: both(valid().deflate("0/c/0"), "0/c/0", uncompressed=BOMB), "rfc9/stored"),
    Case("zip/prepended-bytes", "a script", lambda: valid().with_(prefix=b"#!/bin/sh\n"), "zip/prepended-bytes"),
    Case("zip/prepended-bytes", "an entry that was deleted", left_over, "zip/unreferenced-bytes"),
    Case("zip/trailing-bytes", "a line end", lambda: valid().with_(suffix=b"\n"), "zip/trailing-bytes"),
    Case("zip/trailing-bytes", "a line end in the comment", lambda: valid().with_(comment=valid().comment + b"\n")),
    Case(
        "zip/symlink",
        "a link by Unix",
        lambda: valid().set("0/c/0", central={"external": 0o120777 << 16}),
        "zip/symlink",
    ),
    Case(
        "zip/symlink",
        "the same bits by DOS",
        lambda: valid().set("0/c/0", central={"external": 0o120777 << 16, "made_by": 20}),
    ),
    Case(
        "zip/special-file",
        "a pipe by Unix",
        lambda: valid().set("0/c/0", central={"external": 0o010644 << 16}),
        "zip/special-file",
    ),
    Case("zip/special-file", "no kind", lambda: valid().set("0/c/0", central={"external": 0o644 << 16})),
    Case("zip/directory-entry", "a slash at the end", lambda: valid().add("0/"), "zip/directory-entry"),
    Case("zip/directory-entry", "an empty value", lambda: valid().add("notes")),
    Case("zip/name-encoding", "no bit 11", lambda: valid().add("ü".encode(), flags=0), "zip/name-encoding"),
    Case("zip/name-encoding", "bit 11", lambda: valid().add("ü")),
    Case("zip/unreferenced-bytes", "between entries", gap, "zip/unreferenced-bytes"),
    Case("zip/unreferenced-bytes", "a data descriptor", lambda: valid().stream("0/zarr.json")),
    Case(
        "zip/extra-field",
        "a time",
        lambda: valid().set("0/c/0", central={"extra": TIME_FIELD}),
        "zip/extra-field",
        "strict",
    ),
    Case(
        "zip/extra-field",
        "padding",
        lambda: valid().set("0/c/0", local={"extra": PADDING_FIELD}),
        profile="strict",
    ),
    Case("zip/extra-field", "a time, not strict", lambda: valid().set("0/c/0", local={"extra": TIME_FIELD})),
    Case("zip/large-entry", "2 GiB and a byte", lambda: with_hole(TWO_GIB + 1), "zip/large-entry"),
    Case("zip/large-entry", "2 GiB", lambda: with_hole(TWO_GIB)),
    Case("zip/many-entries", "65,535", lambda: many(65_535), "zip/many-entries"),
    Case("zip/many-entries", "65,534", lambda: many(65_534)),
    Case("zip/long-comment", "4,097 bytes", lambda: long_comment(4097), "zip/long-comment"),
    Case("zip/long-comment", "4,096 bytes", lambda: long_comment(4096)),
    Case("zip/crc", "metadata", lambda: valid().set("zarr.json", data=group("0.6")), "zip/crc"),
    Case("zip/crc", "a chunk, which is not read", lambda: valid().set("0/c/0", data=b"abce")),
    Case("zip/inflate", "damaged", lambda: deflated_metadata(damaged=True), "zip/inflate rfc9/stored"),
    Case("zip/inflate", "whole", deflated_metadata, "rfc9/stored"),
    Case("rfc9/root", "no root", lambda: valid().remove("zarr.json"), "rfc9/root"),
    Case("rfc9/root", "in a folder", lambda: moved("cells.ome.zarr/"), "rfc9/root"),
    Case("rfc9/root", "OME-Zarr 0.4", legacy, "rfc9/root"),
    Case(
        "rfc9/root",
        "another name that ends so",
        lambda: valid().rename("zarr.json", "foozarr.json").with_(comment=PLAIN_COMMENT),
        "rfc9/root",
    ),
    Case("rfc9/root", "nothing but the root", lambda: valid().remove("0/zarr.json").remove("0/c/0")),
    Case(
        "rfc9/one-hierarchy",
        "the root is an array",
        lambda: ArchiveBuilder().add("zarr.json", array([4], [4])),
        "rfc9/one-hierarchy",
    ),
    Case("rfc9/one-hierarchy", "no ome", lambda: valid().value("zarr.json", group(None)), "rfc9/one-hierarchy"),
    Case("rfc9/one-hierarchy", "no version", lambda: valid().value("zarr.json", group(0.5)), "rfc9/one-hierarchy"),
    Case(
        "rfc9/one-hierarchy",
        "no node type",
        lambda: valid().value("zarr.json", group(node_type="image")),
        "rfc9/one-hierarchy",
    ),
    Case(
        "rfc9/one-hierarchy",
        "zarr_format 2",
        lambda: valid().value("zarr.json", group(zarr_format=2)),
        "rfc9/one-hierarchy",
    ),
    Case("rfc9/one-hierarchy", "a missing group", lambda: in_groups(valid(), "labels/cells"), "rfc9/one-hierarchy"),
    Case("rfc9/one-hierarchy", "the group is there", lambda: in_groups(valid(), "labels", "labels/cells")),
    Case("rfc9/one-hierarchy", "below an array", lambda: in_groups(valid(), "0/labels"), "rfc9/one-hierarchy"),
    Case("rfc9/one-hierarchy", "Zarr v2 in it", lambda: valid().add("0/.zattrs", b"{}"), "rfc9/one-hierarchy"),
    Case("rfc9/one-hierarchy", "a name like one of Zarr v2", lambda: valid().add("0/x.zattrs", b"{}")),
    Case(
        "rfc9/one-hierarchy",
        "another version below",
        lambda: valid().add("1/zarr.json", group("0.4"), at=2),
        "rfc9/one-hierarchy",
    ),
    Case("rfc9/one-hierarchy", "the same version below", lambda: valid().add("1/zarr.json", group("0.5"), at=2)),
    Case("rfc9/one-hierarchy", "folders of plain files", lambda: valid().add("OME/METADATA.ome.xml", b"<OME/>")),
    Case("rfc9/not-embedded", "by its name", lambda: valid().add("raw/cells.ZIP", b"text"), "rfc9/not-embedded"),
    Case("rfc9/not-embedded", "by its content", lambda: valid().add("raw/cells", valid().build()), "rfc9/not-embedded"),
    Case("rfc9/not-embedded", "only its beginning", lambda: valid().add("raw/cells", valid().build()[:200])),
    Case("rfc9/not-embedded", "in a directory", valid, "rfc9/not-embedded", file="plate.ome.zarr/A/cells.ozx"),
    Case("rfc9/not-embedded", "in another folder", valid, file="plates/A/cells.ozx"),
    Case(
        "rfc9/not-embedded",
        "a directory with one",
        lambda: image(**{"x.ozx": b""}),
        "rfc9/not-embedded",
        file="cells.zarr",
    ),
    Case("rfc9/not-embedded", "a directory without", image, file="cells.zarr"),
    Case("rfc9/not-split", "two parts", lambda: valid().with_(locator={"disks": 2}), "rfc9/not-split"),
    Case("rfc9/not-split", "the last part", lambda: valid().classic().set_end(disk=1), "rfc9/not-split"),
    Case("rfc9/not-split", "some of the entries", lambda: valid().classic().set_end(here=2), "rfc9/not-split"),
    Case("rfc9/not-split", "the first part", lambda: b"PK\x07\x08" + valid().build()[:200], "rfc9/not-split"),
    Case("rfc9/not-split", "an entry elsewhere", lambda: valid().set("0/c/0", central={"disk": 1}), "rfc9/not-split"),
    Case("rfc9/not-split", "no parts, as some writers say", lambda: valid().with_(locator={"disks": 0})),
    Case("rfc9/zip64", "none at all", lambda: valid().classic(), "rfc9/zip64"),
    Case("rfc9/zip64", "no end record", lambda: valid().with_(zip64_end=False), "rfc9/zip64"),
    Case("rfc9/zip64", "the end record only", lambda: valid().with_(zip64_local=False)),
    Case("rfc9/stored", "a deflated chunk", lambda: valid().deflate("0/c/0"), "rfc9/stored"),
    Case("rfc9/stored", "all stored", valid),
    Case("rfc9/sharding", "two chunks", two_chunks, "rfc9/sharding"),
    Case("rfc9/sharding", "two shards", lambda: two_chunks(sharded=True)),
    Case(
        "rfc9/root-first",
        "the second",
        lambda: valid().reorder("0/zarr.json", "zarr.json", "0/c/0"),
        "rfc9/root-first",
    ),
    Case(
        "rfc9/root-first",
        "the second in the file only",
        lambda: valid().with_(file_order=["0/zarr.json", "zarr.json", "0/c/0"]),
        "rfc9/root-first",
    ),
    Case("rfc9/root-first", "the first", valid),
    Case(
        "rfc9/breadth-first",
        "after data",
        lambda: valid().reorder("zarr.json", "0/c/0", "0/zarr.json").with_(comment=PLAIN_COMMENT),
        "rfc9/breadth-first",
    ),
    Case(
        "rfc9/breadth-first",
        "after data in the file only",
        lambda: valid().with_(file_order=["zarr.json", "0/c/0", "0/zarr.json"]),
        "rfc9/breadth-first",
    ),
    Case("rfc9/breadth-first", "depth first", lambda: in_groups(valid(), "a", "a/x", "b"), "rfc9/breadth-first"),
    Case(
        "rfc9/breadth-first",
        "sorted as text",
        lambda: in_groups(valid(), "a", "a-b", "a-b/x", "a/x"),
        "rfc9/breadth-first",
    ),
    Case("rfc9/breadth-first", "siblings in any order", lambda: in_groups(valid(), "b", "a", "b/y", "b/x", "a/x")),
    Case("rfc9/file-name", ".zip", valid, "rfc9/file-name", file="cells.zip"),
    Case("rfc9/file-name", ".ozx", valid),
    Case("rfc9/comment", "none", lambda: valid().with_(comment=b""), "rfc9/comment"),
    Case("rfc9/comment", "text", lambda: valid().with_(comment=b"made by hand"), "rfc9/comment"),
    Case("rfc9/comment", "no version", lambda: valid().with_(comment=b'{"ome":{}}'), "rfc9/comment"),
    Case(
        "rfc9/comment",
        "jsonFirst in the wrong place",
        lambda: valid().with_(comment=b'{"ome":{"version":"0.5"},"jsonFirst":true}'),
        "rfc9/comment",
    ),
    Case(
        "rfc9/comment",
        "other keys, strict",
        lambda: valid().with_(comment=b'{"ome":{"version":"0.5"},"by":"x"}'),
        "rfc9/comment",
        "strict",
    ),
    Case(
        "rfc9/comment",
        "a comment of an entry, strict",
        lambda: valid().set("0/c/0", central={"comment": b"x"}),
        "rfc9/comment",
        "strict",
    ),
    Case("rfc9/comment", "other keys", lambda: valid().with_(comment=b'{"ome":{"version":"0.5"},"by":"x"}')),
    Case("rfc9/comment", "the least", lambda: valid().with_(comment=PLAIN_COMMENT), profile="strict"),
    Case(
        "rfc9/comment-version",
        "0.4 for 0.5",
        lambda: valid().with_(comment=b'{"ome":{"version":"0.4"}}'),
        "rfc9/comment-version",
    ),
    Case(
        "rfc9/comment-version",
        "0.6 for 0.6",
        lambda: valid().value("zarr.json", group("0.6")).with_(comment=b'{"ome":{"version":"0.6"}}'),
    ),
    Case("rfc9/comment-nul", "NUL", lambda: valid().with_(comment=valid().comment + b"\0"), "rfc9/comment-nul"),
    Case("rfc9/comment-nul", "a blank", lambda: valid().with_(comment=valid().comment + b" ")),
    Case(
        "rfc9/json-first",
        "claimed, not true",
        lambda: valid().reorder("zarr.json", "0/c/0", "0/zarr.json"),
        "rfc9/json-first rfc9/breadth-first",
    ),
    Case(
        "rfc9/json-first",
        "claimed, and true of the directory",
        lambda: valid().with_(file_order=["zarr.json", "0/c/0", "0/zarr.json"]),
        "rfc9/breadth-first",
    ),
    Case("zarr/json", "half a document", lambda: valid().value("0/zarr.json", b'{"zarr_format": 3'), "zarr/json"),
    Case("zarr/json", "a list", lambda: valid().value("0/zarr.json", b"[]"), "zarr/json"),
    Case("zarr/json", "half a document, the root", lambda: valid().value("zarr.json", b"{"), "zarr/json"),
    Case("zarr/json", "a line end more", lambda: valid().value("0/zarr.json", array([4], [4]) + b"\n")),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.name}")
def test_case(case, tmp_path):
    if case.file.startswith("plate.ome.zarr"):
        write_tree(tmp_path / "plate.ome.zarr", {"zarr.json": group()})
    report = case.run(tmp_path)
    assert {finding.id for finding in report.findings} == case.ids(), report.findings
    assert report.valid == all(finding.severity != "error" for finding in report.findings)
    for finding in report.findings:
        assert finding.message
        assert finding.hint


class ChangingSource(MemorySource):
    def check_unchanged(self):
        raise FormatError("the file changed while it was read", rule="zip/changed")


@pytest.mark.parametrize(("source", "expected"), [(ChangingSource, ["zip/changed"]), (MemorySource, [])])
def test_a_file_that_changes_is_not_judged_as_if_it_had_not(source, expected):
    found = check_archive(ArchiveReader(source(valid().build())))
    assert [finding.id for finding in found] == expected


def test_every_rule_about_archives_has_a_case_that_triggers_it_and_one_that_does_not():
    # The others have theirs in hierarchy/, see test_hierarchy_cases.py.
    rules = {rule for rule in RULES if rule.startswith(("zip/", "rfc9/"))} | {"zarr/json"}
    triggered = {case.rule for case in CASES if case.rule in case.ids()} | {"zip/changed"}
    spared = {case.rule for case in CASES if case.rule not in case.ids()} | {"zip/changed"}
    assert triggered == spared == rules


def test_every_finding_of_a_case_has_the_severity_of_the_table(tmp_path):
    # Where a rule has a second severity, its clause says when.
    two = {"rfc9/sharding", "rfc9/zip64", "rfc9/comment", "rfc9/stored", "zip/many-entries", "rfc9/not-embedded"}
    small = [case for case in CASES if case.rule not in ("zip/many-entries", "zip/large-entry")]
    for number, case in enumerate(small):
        for finding in case.run(tmp_path / str(number)).findings:
            assert finding.severity == RULES[finding.id].severity or finding.id in two, case

"""Cases of the rules of RFC-9 about archives, and of rules about unreadable metadata documents."""

from __future__ import annotations

import json
import struct
from typing import Any

from .archive_builder import ArchiveBuilder, array, group
from .case import Case

_PLAIN_COMMENT = b'{"ome":{"version":"0.5"}}'

_valid = ArchiveBuilder.valid


def _two_chunks() -> ArchiveBuilder:
    return _valid().value("0/zarr.json", array([8], [4])).add("0/c/1", b"efgh")


def _two_shards() -> ArchiveBuilder:
    # Inner chunks of one byte, and the index: offset and length of each.
    index = struct.pack("<8Q", 0, 1, 1, 1, 2, 1, 3, 1)
    builder = _two_chunks().value("0/zarr.json", array([8], [4], sharded=True))
    return builder.value("0/c/0", b"abcd" + index).value("0/c/1", b"efgh" + index)


def _moved(prefix: str) -> ArchiveBuilder:
    builder = _valid()
    for entry in builder.entries:
        entry.name = prefix.encode() + entry.name
    return builder


def _legacy() -> ArchiveBuilder:
    return ArchiveBuilder.of(_legacy_directory())


def _legacy_directory(attributes: bytes = b'{"plate": {"version": "0.4"}}') -> dict[str, bytes]:
    return {".zgroup": b'{"zarr_format": 2}', ".zattrs": attributes, "0/.zarray": b"{}"}


def _image(**values: bytes) -> dict[str, bytes]:
    return {"zarr.json": group(), "0/zarr.json": array([4], [4]), "0/c/0": b"abcd"} | values


def _with_keys(keys: dict[str, Any]) -> ArchiveBuilder:
    return _valid().with_(comment=json.dumps({"ome": {"version": "0.5"} | keys}).encode())


def _in_groups(builder: ArchiveBuilder, *names: str) -> ArchiveBuilder:
    """Add the ``zarr.json`` of a group under each of the given names, in this order, before the data."""
    for name in names:
        builder.add(f"{name}/zarr.json", group(None), at=len(builder.entries) - 1)
    return builder


RFC9_CASES = (
    Case("rfc9/root", "no root", lambda: _valid().remove("zarr.json"), "rfc9/root"),
    Case("rfc9/root", "in a folder", lambda: _moved("cells.ome.zarr/"), "rfc9/root"),
    Case("rfc9/root", "OME-Zarr 0.4", _legacy, "rfc9/root"),
    Case("rfc9/root", "OME-Zarr 0.4 in a directory", _legacy_directory, "rfc9/root=note", file="cells.zarr"),
    Case(
        "rfc9/root",
        "OME-Zarr 0.3 in a directory",
        lambda: _legacy_directory(b'{"multiscales": [{"version": "0.3", "axes": ["y", "x"]}]}'),
        "rfc9/root",
        file="cells.zarr",
    ),
    Case(
        "rfc9/one-hierarchy",
        "Zarr v2 without OME-Zarr in a directory",
        lambda: _legacy_directory(b"{}"),
        "rfc9/one-hierarchy",
        file="cells.zarr",
    ),
    Case(
        "rfc9/root",
        "another name that ends with zarr.json",
        lambda: _valid().rename("zarr.json", "foozarr.json").with_(comment=_PLAIN_COMMENT),
        "rfc9/root",
    ),
    Case("rfc9/root", "nothing but the root", lambda: _valid().remove("0/zarr.json").remove("0/c/0")),
    Case(
        "rfc9/one-hierarchy",
        "the root is an array",
        lambda: ArchiveBuilder().add("zarr.json", array([4], [4])),
        "rfc9/one-hierarchy",
    ),
    Case("rfc9/one-hierarchy", "no ome", lambda: _valid().value("zarr.json", group(None)), "rfc9/one-hierarchy"),
    Case("rfc9/one-hierarchy", "no version", lambda: _valid().value("zarr.json", group(0.5)), "rfc9/one-hierarchy"),
    Case(
        "rfc9/one-hierarchy",
        "no node type",
        lambda: _valid().value("zarr.json", group(node_type="image")),
        "rfc9/one-hierarchy",
    ),
    Case(
        "rfc9/one-hierarchy",
        "zarr_format 2",
        lambda: _valid().value("zarr.json", group(zarr_format=2)),
        "rfc9/one-hierarchy",
    ),
    Case(
        "rfc9/one-hierarchy",
        "a missing parent group",
        lambda: _in_groups(_valid(), "labels/cells"),
        "rfc9/one-hierarchy",
    ),
    Case("rfc9/one-hierarchy", "no missing parent group", lambda: _in_groups(_valid(), "labels", "labels/cells")),
    Case("rfc9/one-hierarchy", "below an array", lambda: _in_groups(_valid(), "0/labels"), "rfc9/one-hierarchy"),
    Case("rfc9/one-hierarchy", "Zarr v2 in it", lambda: _valid().add("0/.zattrs", b"{}"), "rfc9/one-hierarchy"),
    Case("rfc9/one-hierarchy", "a name like one of Zarr v2", lambda: _valid().add("0/x.zattrs", b"{}")),
    Case(
        "rfc9/one-hierarchy",
        "another version in a child group",
        lambda: _valid().add("1/zarr.json", group("0.4"), at=2),
        "rfc9/one-hierarchy",
    ),
    Case(
        "rfc9/one-hierarchy",
        "the root's version in a child group",
        lambda: _valid().add("1/zarr.json", group("0.5"), at=2),
    ),
    Case("rfc9/one-hierarchy", "folders of plain files", lambda: _valid().add("OME/METADATA.ome.xml", b"<OME/>")),
    Case("rfc9/not-embedded", "by its name", lambda: _valid().add("raw/cells.ZIP", b"text"), "rfc9/not-embedded"),
    Case(
        "rfc9/not-embedded", "by its content", lambda: _valid().add("raw/cells", _valid().build()), "rfc9/not-embedded"
    ),
    Case("rfc9/not-embedded", "only its beginning", lambda: _valid().add("raw/cells", _valid().build()[:200])),
    Case(
        "rfc9/not-embedded",
        "in a directory",
        _valid,
        "rfc9/not-embedded",
        file="plate.ome.zarr/A/cells.ozx",
        beside={"plate.ome.zarr/zarr.json": group()},
    ),
    Case("rfc9/not-embedded", "in another folder", _valid, file="plates/A/cells.ozx"),
    Case(
        "rfc9/not-embedded",
        "a directory that contains a file x.ozx",
        lambda: _image(**{"x.ozx": b""}),
        "rfc9/not-embedded",
        file="cells.zarr",
    ),
    Case("rfc9/not-embedded", "a directory that contains no archive", _image, file="cells.zarr"),
    Case("rfc9/not-split", "two parts", lambda: _valid().with_(locator={"disks": 2}), "rfc9/not-split"),
    Case("rfc9/not-split", "the last part", lambda: _valid().classic().set_end(disk=1), "rfc9/not-split"),
    Case("rfc9/not-split", "some of the entries", lambda: _valid().classic().set_end(here=2), "rfc9/not-split"),
    Case("rfc9/not-split", "the first part", lambda: b"PK\x07\x08" + _valid().build()[:200], "rfc9/not-split"),
    Case("rfc9/not-split", "an entry elsewhere", lambda: _valid().set("0/c/0", central={"disk": 1}), "rfc9/not-split"),
    Case("rfc9/not-split", "no parts", lambda: _valid().with_(locator={"disks": 0}), "zip/end-record"),
    Case("rfc9/zip64", "no ZIP64 structures at all", lambda: _valid().classic(), "rfc9/zip64"),
    Case("rfc9/zip64", "no ZIP64 end record", lambda: _valid().with_(zip64_end=False), "rfc9/zip64=note"),
    Case("rfc9/zip64", "a ZIP64 end record, but no ZIP64 fields", lambda: _valid().with_(zip64_local=False)),
    Case("rfc9/stored", "a deflated chunk", lambda: _valid().deflate("0/c/0"), "rfc9/stored"),
    Case(
        "rfc9/stored", "a deflated chunk, revision r2", lambda: _valid().deflate("0/c/0"), "rfc9/stored", revision="r2"
    ),
    Case(
        "rfc9/stored",
        "a deflated chunk, revision draft",
        lambda: _valid().deflate("0/c/0"),
        "rfc9/stored=error",
        revision="draft",
    ),
    Case("rfc9/stored", "all entries stored", _valid),
    Case("rfc9/stored", "all entries stored, revision draft", _valid, revision="draft"),
    Case("rfc9/sharding", "two chunks", _two_chunks, "rfc9/sharding=note"),
    Case("rfc9/sharding", "two shards", _two_shards),
    Case(
        "rfc9/root-first",
        "the root's zarr.json is second",
        lambda: _valid().reorder("0/zarr.json", "zarr.json", "0/c/0"),
        "rfc9/root-first",
    ),
    Case(
        "rfc9/root-first",
        "the root's zarr.json is second in the file, but first in the directory",
        lambda: _valid().with_(file_order=["0/zarr.json", "zarr.json", "0/c/0"]),
        "rfc9/root-first",
    ),
    Case("rfc9/root-first", "the root's zarr.json is first", _valid),
    Case(
        "rfc9/breadth-first",
        "a zarr.json after data",
        lambda: _valid().reorder("zarr.json", "0/c/0", "0/zarr.json").with_(comment=_PLAIN_COMMENT),
        "rfc9/breadth-first",
    ),
    Case(
        "rfc9/breadth-first",
        "a zarr.json after data in the file, but not in the directory",
        lambda: _valid().with_(file_order=["zarr.json", "0/c/0", "0/zarr.json"]),
        "rfc9/breadth-first",
    ),
    Case("rfc9/breadth-first", "depth first", lambda: _in_groups(_valid(), "a", "a/x", "b"), "rfc9/breadth-first"),
    Case(
        "rfc9/breadth-first",
        "sorted as text",
        lambda: _in_groups(_valid(), "a", "a-b", "a-b/x", "a/x"),
        "rfc9/breadth-first",
    ),
    Case("rfc9/breadth-first", "siblings in any order", lambda: _in_groups(_valid(), "b", "a", "b/y", "b/x", "a/x")),
    Case("rfc9/file-name", ".zip", _valid, "rfc9/file-name", file="cells.zip"),
    Case("rfc9/file-name", ".ozx", _valid),
    Case("rfc9/comment", "none", lambda: _valid().with_(comment=b""), "rfc9/comment"),
    Case("rfc9/comment", "text", lambda: _valid().with_(comment=b"made by hand"), "rfc9/comment"),
    Case("rfc9/comment", "no version", lambda: _valid().with_(comment=b'{"ome":{}}'), "rfc9/comment"),
    Case(
        "rfc9/comment",
        "jsonFirst in the wrong place",
        lambda: _valid().with_(comment=b'{"ome":{"version":"0.5"},"jsonFirst":true}'),
        "rfc9/comment=note",
    ),
    Case(
        "rfc9/comment",
        "other keys, profile strict",
        lambda: _valid().with_(comment=b'{"ome":{"version":"0.5"},"by":"x"}'),
        "rfc9/comment=error",
        "strict",
    ),
    Case(
        "rfc9/comment",
        "a comment of an entry, profile strict",
        lambda: _valid().set("0/c/0", central={"comment": b"x"}),
        "rfc9/comment=error",
        "strict",
    ),
    Case("rfc9/comment", "other keys", lambda: _valid().with_(comment=b'{"ome":{"version":"0.5"},"by":"x"}')),
    Case("rfc9/comment", "the least", lambda: _valid().with_(comment=_PLAIN_COMMENT), profile="strict"),
    Case("rfc9/comment-keys", "of ome", lambda: _with_keys({"by": "x"}), "rfc9/comment-keys"),
    Case("rfc9/comment-keys", "of zipFile", lambda: _with_keys({"zipFile": {"by": "x"}}), "rfc9/comment-keys"),
    Case(
        "rfc9/comment-keys",
        "of centralDirectory",
        lambda: _with_keys({"zipFile": {"centralDirectory": {"by": "x"}}}),
        "rfc9/comment-keys",
    ),
    Case(
        "rfc9/comment-keys",
        "of ome, revision draft",
        lambda: _with_keys({"by": "x"}),
        "rfc9/comment-keys=error",
        revision="draft",
    ),
    Case("rfc9/comment-keys", "of ome, revision r2", lambda: _with_keys({"by": "x"}), revision="r2"),
    Case(
        "rfc9/comment-keys",
        "beside ome",
        lambda: _valid().with_(comment=b'{"ome":{"version":"0.5"},"by":"x"}'),
        revision="draft",
    ),
    Case(
        "rfc9/comment-version",
        "0.4 for 0.5",
        lambda: _valid().with_(comment=b'{"ome":{"version":"0.4"}}'),
        "rfc9/comment-version",
    ),
    Case(
        "rfc9/comment-version",
        "0.6 for 0.6",
        lambda: _valid().value("zarr.json", group("0.6")).with_(comment=b'{"ome":{"version":"0.6"}}'),
    ),
    Case("rfc9/comment-nul", "NUL", lambda: _valid().with_(comment=_valid().comment + b"\0"), "rfc9/comment-nul"),
    Case("rfc9/comment-nul", "a blank", lambda: _valid().with_(comment=_valid().comment + b" ")),
    Case(
        "rfc9/json-first",
        "jsonFirst, but a zarr.json after data",
        lambda: _valid().reorder("zarr.json", "0/c/0", "0/zarr.json"),
        "rfc9/json-first rfc9/breadth-first",
    ),
    Case(
        "rfc9/json-first",
        "jsonFirst, with an entry of a folder before a zarr.json",
        lambda: ArchiveBuilder.valid().remove("0/c/0").add("0/", b"", at=1).add("0/c/0", b"abcd"),
        "zip/directory-entry rfc9/breadth-first",
    ),
    Case(
        "rfc9/json-first",
        "jsonFirst, but a zarr.json after data in the file only",
        lambda: _valid().with_(file_order=["zarr.json", "0/c/0", "0/zarr.json"]),
        "rfc9/breadth-first",
    ),
)

"""Each fault that is repaired: what is read is what it was before, and the rule that was broken is named."""

import json
import re
import struct
import zlib

import pytest
from cases.archive_builder import TIME_FIELD, array, group, write_tree
from hierarchies import FIXTURES
from hypothesis import given, settings
from hypothesis import strategies as st
from packed import sort_values
from repaired import VALUES, build, consolidated, contents, repair
from servers import serving

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.flow.repair import names as repaired_names
from ozx.flow.repair.hierarchy import open_repaired
from ozx.flow.repair.source import OWN_IDS
from ozx.flow.sources import archive_keys
from ozx.ome.comment import make_comment
from ozx.places.place import Place
from ozx.validation.rules.table import RULES

GROUP = json.dumps({"attributes": {}, "zarr_format": 3, "node_type": "group"}, indent=2).encode()
ALL = list(VALUES)
WRITE = {"archive": lambda path, values: build(values).write(path), "directory": write_tree}


def renamed(builder, change):
    """Give every entry the name that `change` makes of it."""
    for entry in builder.entries:
        entry.name = change(entry.name)
    return builder


def below(prefix):
    return lambda builder: renamed(builder, lambda name: prefix + name)


def deflate64(builder):
    inflate64 = pytest.importorskip("inflate64")
    packer, value = inflate64.Deflater(), builder["0/c/0"].value
    return builder.set("0/c/0", data=packer.deflate(value) + packer.flush(), method=9)


def unicode_path(builder):
    field = struct.pack("<BI", 1, zlib.crc32(b"notes/\xff.txt")) + "notes/é.txt".encode()
    extra = struct.pack("<HH", 0x7075, len(field)) + field
    return builder.set("notes/é.txt", name=b"notes/\xff.txt", flags=0, central={"extra": extra}, local={"extra": extra})


CASES = {
    # name: (what is done to a clean archive, the rules that are broken then)
    "clean": (lambda b: b, ()),
    "another comment version": (
        lambda b: b.with_(comment=make_comment("0.4", json_first=True)),
        ("rfc9/comment-version",),
    ),
    "no comment": (lambda b: b.with_(comment=b""), ("rfc9/comment",)),
    "a comment that is no JSON": (lambda b: b.with_(comment=b"by hand"), ("rfc9/comment",)),
    "a comment that ends in NUL": (lambda b: b.with_(comment=b.comment + b"\0"), ("rfc9/comment-nul",)),
    "in a folder": (below(b"cells.ome.zarr/"), ("rfc9/root",)),
    "in a folder that is called like an archive": (below(b"cells.ozx/"), ("rfc9/root",)),
    "in folders": (below(b"data/export/cells.zarr/"), ("rfc9/root",)),
    "in a folder, with files outside": (
        lambda b: below(b"cells.zarr/")(b).add("README.txt").add("cells.zarr.md5"),
        ("rfc9/root", "repair/outside"),
    ),
    "dots": (below(b"./"), ("zip/name",)),
    "dots and folders": (below(b"./cells.zarr/./"), ("zip/name", "rfc9/root")),
    "doubled slashes": (lambda b: b.rename("0/c/3", "0//c/./3"), ("zip/name",)),
    "backslashes": (lambda b: renamed(b, lambda name: name.replace(b"/", b"\\")), ("zip/name",)),
    "some backslashes": (lambda b: b.rename("0/c/3", "0\\c/3"), ("zip/name",)),
    "backslashes in a folder": (
        lambda b: renamed(b, lambda name: b"cells.zarr\\" + name.replace(b"/", b"\\")).add("cells.zarr\\labels\\"),
        ("zip/name", "zip/directory-entry", "rfc9/root"),
    ),
    "folders": (lambda b: b.add("0/").add("OME/", at=5), ("zip/directory-entry",)),
    "folders by their attributes": (  # as old programs for Unix wrote them: without a slash
        lambda b: b.add("labels", at=4, central={"external": 0o040755 << 16}),
        ("zip/directory-entry",),
    ),
    "deflated": (lambda b: b.deflate("0/c/3").deflate("0/zarr.json"), ("rfc9/stored",)),
    "Deflate64": (deflate64, ("rfc9/stored",)),
    "data descriptors": (lambda b: b.stream("0/c/3").stream("0/c/4", signature=False), ("repair/data-descriptor",)),
    "another value before": (lambda b: b.add("0/c/3", b"old", at=5), ("zip/duplicate-name",)),
    "the same value twice": (lambda b: b.duplicate("0/c/3"), ("zip/duplicate-name",)),
    "a name in two encodings": (
        lambda b: b.add("notes/é.txt".encode("cp437"), b"old", at=5, flags=0),
        ("zip/duplicate-name", "zip/name-encoding"),
    ),
    "root not first": (lambda b: b.reorder(*ALL[1:4], ALL[0], *ALL[4:]), ("rfc9/root-first",)),
    "data first": (
        lambda b: b.reorder(*ALL[4:], *ALL[:4]).with_(comment=make_comment("0.5", json_first=False)),
        ("rfc9/root-first", "rfc9/breadth-first"),
    ),
    "data first, and jsonFirst": (
        lambda b: b.reorder(*ALL[::-1]),
        ("rfc9/root-first", "rfc9/breadth-first", "rfc9/json-first"),
    ),
    "another order in the file": (lambda b: b.with_(file_order=[*ALL[:3], *ALL[4:], ALL[3]]), ("rfc9/breadth-first",)),
    "no ZIP64": (lambda b: b.classic(), ("rfc9/zip64",)),
    "ZIP64 in local headers only": (lambda b: b.with_(zip64_end=False), ("rfc9/zip64",)),
    "bytes before": (lambda b: b.with_(prefix=b"#!/bin/sh\n"), ("zip/prepended-bytes",)),
    "bytes after": (lambda b: b.with_(suffix=b"more"), ("zip/trailing-bytes",)),
    "bytes between": (lambda b: b.set("0/c/3", before=b"old bytes"), ()),
    "code page 437": (
        lambda b: b.set("notes/é.txt", name="notes/é.txt".encode("cp437"), flags=0),
        ("zip/name-encoding",),
    ),
    "undeclared UTF-8": (lambda b: b.set("notes/é.txt", flags=0), ("zip/name-encoding",)),
    "Unicode path": (unicode_path, ("zip/name-encoding",)),
    "extra fields": (lambda b: b.set("0/c/3", local={"extra": TIME_FIELD}, central={"extra": TIME_FIELD}), ()),
    "leftovers of Zarr v2": (
        lambda b: b.add(".zgroup", b"{}").add(".zattrs", b"{}").add("0/.zarray", b"{}").add(".zmetadata", b"{}"),
        ("rfc9/one-hierarchy",),
    ),
}
LITTER = [
    "__MACOSX/._zarr.json",
    "__MACOSX/0/._c",
    "._zarr.json",
    "0/c/.DS_Store",
    "Thumbs.db",
    "0/thumbs.db",
    "0/Desktop.ini",
    "0/zarr.json~",
    "#zarr.json#",
    "0/.#3",
    ".zarr.json.swp",
    ".nfs00000000000f",
    ".cells.ozx.1.ozx-tmp",
    ".directory",
    "0/._cells.ozx",
]


@pytest.mark.parametrize("name", CASES)
def test_archives(tmp_path, name):
    damage, ids = CASES[name]
    damage(build()).write(tmp_path / "a.zip")
    found, values = repair(tmp_path / "a.zip")
    assert values == VALUES
    assert found == set(ids)


@pytest.mark.parametrize("name", LITTER)
def test_litter(tmp_path, name):
    build().add(name, b"litter").write(tmp_path / "a.zip")
    with open_repaired(Place.parse(tmp_path / "a.zip")) as source:
        assert contents(source) == VALUES
        assert source.left_out == (name,)
        assert [rule for rule, _ in source.repairs] == ["repair/litter"]
    write_tree(tmp_path / "h", VALUES | {name: b"litter"})
    assert repair(tmp_path / "h") == ({"repair/litter"}, VALUES)


@pytest.mark.parametrize("name", ["cells~", "._x", "#x#", "__MACOSX", ".nfs00000000000f"])
def test_nodes_with_names_of_litter_are_kept(tmp_path, name):
    node = {f"{name}/zarr.json": GROUP, f"{name}/0/zarr.json": array([4], [2]), f"{name}/0/c/0": b"xy"}
    builder = build()
    for key, value in (node | {f"{name}/0/.DS_Store": b"litter"}).items():
        builder.add(key, value)
    builder.write(tmp_path / "a.zip")
    write_tree(tmp_path / "h", VALUES | node | {f"{name}/0/.DS_Store": b"litter"})
    for path in (tmp_path / "a.zip", tmp_path / "h"):
        with open_repaired(Place.parse(path)) as source:
            assert contents(source) == VALUES | node
            assert source.left_out == (f"{name}/0/.DS_Store",)


@pytest.mark.parametrize("kind", WRITE)
@pytest.mark.parametrize("name", ["cells~", "._x"])
def test_a_root_with_the_name_of_litter_is_found(tmp_path, name, kind):
    WRITE[kind](tmp_path / "h", {f"{name}/{key}": value for key, value in VALUES.items()})
    with open_repaired(Place.parse(tmp_path / "h")) as source:
        assert contents(source) == VALUES


def test_every_id_is_that_of_a_rule_or_of_repair():
    ids = {identifier for _, broken in CASES.values() for identifier in broken} | {"repair/litter"}
    ids.add("repair/consolidated")
    assert ids - RULES.keys() == set(OWN_IDS)
    text = (FIXTURES.parent / "src" / "ozx" / "flow" / "repair" / "hierarchy.py").read_text(encoding="utf-8")
    named = set(re.findall(r'"((?:repair|rfc9|zip)/[^"]+)"', text))
    assert set(OWN_IDS) <= named <= RULES.keys() | set(OWN_IDS)


def test_sentences_name_what_they_are_about(tmp_path):
    builder = build().deflate("0/c/3").rename("0/c/4", "0\\c\\4").duplicate("0/c/5").add("0/")
    builder.with_(comment=make_comment("0.6", json_first=True)).write(tmp_path / "a.zip")
    with open_repaired(Place.parse(tmp_path / "a.zip")) as source:
        assert source.repaired == (
            "names with backslashes between components: 1, the first '0\\\\c\\\\4'; slashes now",
            "entries for folders: 1, the first '0/'; dropped",
            (
                "names of several entries: 1, the first '0/c/5'; "
                "the last entry counts (names whose entries have equal values: 1)"
            ),
            "entries compressed by ZIP (deflate): 1; inflated",
            "the comment said OME-Zarr 0.6, the root 0.5; the root's version is used",
        )


@pytest.mark.parametrize("kind", WRITE)
def test_missing_groups_are_written(tmp_path, kind):
    values = VALUES | {"plate/A/1/zarr.json": group(None), "plate/A/2/0/zarr.json": array([1], [1])}
    del values["labels/zarr.json"]
    WRITE[kind](tmp_path / "a", values)
    ids, found = repair(tmp_path / "a")
    missing = ("labels/zarr.json", "plate/zarr.json", "plate/A/zarr.json", "plate/A/2/zarr.json")
    assert found == sort_values(values | dict.fromkeys(missing, GROUP))
    assert ids == {"rfc9/one-hierarchy"}


@pytest.mark.parametrize("change", ["another", "more", "fewer", "missing group"])
def test_copies_that_do_not_are_dropped(tmp_path, change):
    values, others = dict(VALUES), {}
    if change == "another":
        others = {"0": json.loads(array([5], [1]))}
    elif change == "more":
        others = {"1": json.loads(array([5], [1]))}
    root = consolidated(values, **others)
    if change == "fewer":
        values["1/zarr.json"] = array([1], [1])
    elif change == "missing group":
        del values["labels/zarr.json"]
        root = consolidated(values)
    build(values | {"zarr.json": root}).write(tmp_path / "a.zip")
    ids, found = repair(tmp_path / "a.zip")
    assert json.loads(found["zarr.json"]) == json.loads(VALUES["zarr.json"])
    assert "repair/consolidated" in ids


# tests/hostile/recipes.py has more: names, kinds and sizes that repack refuses.
REFUSED = {
    "parent folder of litter": (lambda b: b.add("__MACOSX/../../._x"), "zip/name"),
    "folder entry for a parent": (lambda b: b.add("../"), "zip/name"),
    "absolute with a backslash": (lambda b: b.rename("0/c/3", "\\0\\c\\3"), "zip/name"),
    "drive behind a dot": (lambda b: b.rename("0/c/3", "./C:/3"), "zip/name"),
    "only a dot": (lambda b: b.rename("0/c/3", "."), "zip/name"),
    "an archive by its name": (lambda b: b.add("0/inner.OZX"), "rfc9/not-embedded"),
    "an archive in a folder": (lambda b: b.add("x.zip"), "rfc9/not-embedded"),
    "Zarr v2 below": (lambda b: b.add("old/.zgroup", b"{}"), "rfc9/one-hierarchy"),
    "Zarr v2 above": (lambda b: b.remove("zarr.json").add(".zgroup", b"{}"), "rfc9/one-hierarchy"),
    "groups in an array": (lambda b: b.add("0/x/y/zarr.json", group(None)), "rfc9/one-hierarchy"),
    "a root that is no JSON": (lambda b: b.value("zarr.json", b"<xml>"), "zarr/json"),
    "no metadata": (lambda b: [b.remove(key) for key in ALL[:4]] and b, "rfc9/root"),
    "nothing": (lambda b: [b.remove(key) for key in ALL] and b, "rfc9/root"),
    "parts": (lambda b: b.set_end(disk=1).with_(wide_end={"disk": 1}), "rfc9/not-split"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path, name):
    damage, rule = REFUSED[name]
    damage(build()).write(tmp_path / "a.zip")
    with pytest.raises((FormatError, UnsupportedError)) as caught:
        open_repaired(Place.parse(tmp_path / "a.zip"))
    assert caught.value.rule == rule
    assert caught.value.path == str(tmp_path / "a.zip")


def test_archives_by_their_contents_are_refused_where_they_are_read(tmp_path):
    build().value("0/c/3", build().build()).write(tmp_path / "a.zip")
    with open_repaired(Place.parse(tmp_path / "a.zip")) as source, pytest.raises(FormatError) as caught:
        b"".join(source.entry("0/c/3").iter_blocks())
    assert caught.value.rule == "rfc9/not-embedded"


IN_DIRECTORIES = {
    "a root that is no JSON": ({"zarr.json": b"<xml>"}, "zarr/json"),
    "Zarr v2 below": ({"old/.zgroup": b"{}"}, "rfc9/one-hierarchy"),
    "groups in an array": ({"0/x/y/zarr.json": group(None)}, "rfc9/one-hierarchy"),
    "an archive": ({"0/inner.ozx": b""}, "rfc9/not-embedded"),
}


@pytest.mark.parametrize("name", IN_DIRECTORIES)
def test_refused_in_directories(tmp_path, name):
    values, rule = IN_DIRECTORIES[name]
    write_tree(tmp_path, VALUES | values)
    with pytest.raises(FormatError) as caught:
        open_repaired(Place.parse(tmp_path))
    assert (caught.value.rule, caught.value.path) == (rule, str(tmp_path))


@pytest.mark.posix("there are no such names")
def test_backslashes_in_the_names_of_files_are_refused(tmp_path):
    write_tree(tmp_path, VALUES | {"0\\c\\99": b""})
    with pytest.raises(FormatError) as caught:
        open_repaired(Place.parse(tmp_path))
    assert caught.value.rule == "zip/name"


@pytest.mark.parametrize("kind", WRITE)
def test_several_hierarchies_are_named(tmp_path, kind):
    values = {f"{name}.zarr/{key}": value for name in "abcdefg" for key, value in VALUES.items()} | {"x.txt": b""}
    WRITE[kind](tmp_path / "h", values)
    with pytest.raises(UsageError) as caught:
        open_repaired(Place.parse(tmp_path / "h"))
    assert "found 7 nodes without a common root: 'a.zarr', 'b.zarr', " in caught.value.message
    assert caught.value.hint is not None
    one = caught.value.hint.rpartition(": ")[2].strip("'\"")
    ids, found = repair(one)
    assert found == VALUES
    assert ids == ({"repair/outside"} if kind == "archive" else set())


def test_a_node_that_there_is_not(tmp_path):
    below(b"cells.zarr/")(build()).write(tmp_path / "a.zip")
    with pytest.raises(UsageError, match=r"no node 'cell\.zarr'") as caught:
        open_repaired(Place.parse(f"{tmp_path}/a.zip|zip:cell.zarr/"))
    assert "cells.zarr" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("files", "message", "hint"),
    [
        ([], "found nothing", None),
        (["a.txt"], "found 1 other file: 'a.txt'", None),
        (["a.tif"], "found 1 TIFF image", "Run: ozx import"),
        (["a.ozx", "b.ozx"], "found 2 other files: 'a.ozx', 'b.ozx'", "Give the path of one file"),
        (["a/b/c/d/e/f/zarr.json"], "found 1 other file: 'a/b/c/d/'", None),
    ],
)
def test_directories_without_a_hierarchy(tmp_path, files, message, hint):
    write_tree(tmp_path, dict.fromkeys(files, b""))
    with pytest.raises(FormatError) as caught:
        open_repaired(Place.parse(tmp_path))
    assert message in caught.value.message
    assert (caught.value.hint or "").startswith(hint or "")
    assert caught.value.rule == "rfc9/root"


def test_a_directory_of_countless_folders_is_not_searched(tmp_path):
    for number in range(1_001):
        (tmp_path / f"{number}").mkdir()
    with pytest.raises(FormatError, match="none in the first 1,000 folders"):
        open_repaired(Place.parse(tmp_path))


def test_what_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_repaired(Place.parse(tmp_path / "a.zip"))


def test_names_of_a_clean_archive_are_not_looked_at_one_by_one(tmp_path, monkeypatch):
    values = {key: value for key, value in VALUES.items() if key.isascii()}
    build(values).write(tmp_path / "a.ozx")

    def refuse(*args):
        raise AssertionError(args)

    monkeypatch.setattr(repaired_names, "_repair_name", refuse)
    monkeypatch.setattr(archive_keys, "sorted_by_hierarchy", refuse)
    assert repair(tmp_path / "a.ozx") == (set(), values)


def test_a_url(tmp_path):
    data = below(b"c.zarr/")(build()).build()
    with serving(data) as server:
        source = open_repaired(Place.parse(server.url))
        assert len(server.requests) == 1
        assert source.name == server.url
        assert contents(source) == VALUES
        assert source.repaired == ("the hierarchy was in the folder 'c.zarr', which is the root now",)
        source.close()
    with serving(b"II*\0" + bytes(100)) as server, pytest.raises(FormatError, match="a TIFF image"):
        open_repaired(Place.parse(server.url))


DAMAGES = [
    (lambda b, n: b.add(LITTER[n % len(LITTER)], b"litter", at=n % (len(b.entries) + 1))),
    (lambda b, n: b.add(ALL[n % len(ALL)], b"old", at=0)),
    (lambda b, n: b.duplicate(ALL[n % len(ALL)])),
    (lambda b, n: b.deflate(ALL[n % len(ALL)])),
    (lambda b, n: b.stream(ALL[n % len(ALL)], signature=bool(n & 1))),
    (lambda b, n: b.add("labels/", at=n % (len(b.entries) + 1))),
    (lambda b, n: b.reorder(*sorted(b.names(), key=lambda name: zlib.crc32(b"%d" % n + name.encode())))),
    (lambda b, n: b.with_(comment=[b"", b"x", b"{}\0", make_comment("0.4", json_first=True)][n % 4])),
    (lambda b, n: b.with_(prefix=b"x" * (n + 1))),
    (lambda b, n: b.with_(suffix=b"y" * (n + 1))),
    (lambda b, n: b.with_(zip64_end=False)),
    (lambda b, n: b.set(b.names()[n % len(b.entries)], before=b"z" * n)),
    (lambda b, n: b.add(".zattrs", b"{}", at=n % (len(b.entries) + 1))),
]
NAMINGS = [
    lambda name: name,
    lambda name: b"./" + name,
    lambda name: b"cells.zarr/" + name,
    lambda name: (b"cells.zarr/" + name).replace(b"/", b"\\"),
    lambda name: b".//a b/./" + name.replace(b"/", b"//"),
]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(DAMAGES), st.integers(0, 40)), max_size=7), st.sampled_from(NAMINGS))
def test_any_damages_together(tmp_path_factory, damages, naming):
    folder = tmp_path_factory.mktemp("m")
    builder = build()
    for damage, number in damages:
        names = builder.names()
        if len(names) > len(set(names)):  # from here on a name does not say which entry
            break
        damage(builder, number)
    renamed(builder, naming).write(folder / "a.zip")
    assert repair(folder / "a.zip")[1] == VALUES

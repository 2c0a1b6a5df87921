"""What a directory holds, leaves out and must not hold."""

import os
import socket

import pytest
from links import make_link

from ozx.errors import FormatError
from ozx.flow.sources.listing import DEEPEST, list_directory
from ozx.hierarchy.entry_order import breadth_first, hierarchy_order
from ozx.hierarchy.keys import is_metadata_key
from ozx.validation.validate import validate


def make(root, *keys, data=b"x"):
    for key in keys:
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return str(root)


def test_every_fixture_is_listed_in_the_order_of_the_archive(hierarchy):
    listing = list_directory(str(hierarchy))
    keys = list(listing.iter_keys())
    metadata = sorted(filter(is_metadata_key, keys), key=breadth_first)
    data = sorted((key for key in keys if not is_metadata_key(key)), key=hierarchy_order)
    assert keys == metadata + data
    assert keys[0] == "zarr.json"
    assert len(listing) == len(keys) == sum(path.is_file() for path in hierarchy.rglob("*"))
    assert listing.left_out == []
    assert listing.count_bytes() == sum(path.stat().st_size for path in hierarchy.rglob("*") if path.is_file())


def test_chunks_follow_in_the_order_of_their_numbers(tmp_path):
    make(tmp_path, "0/c/10/0", "0/c/9/10", "0/c/9/9", "10/c/0", "9/c/0", "0/zarr.json", "zarr.json", "0/c/x")
    keys = list(list_directory(str(tmp_path)).iter_keys())
    assert keys == ["zarr.json", "0/zarr.json", "0/c/x", "0/c/9/9", "0/c/9/10", "0/c/10/0", "9/c/0", "10/c/0"]


@pytest.mark.parametrize(
    "name",
    [
        ".DS_Store",
        "._zarr.json",
        "__MACOSX",
        "Thumbs.db",
        "thumbs.DB",
        "desktop.ini",
        "Desktop.ini",
        "zarr.json~",
        ".zarr.json.swp",
        ".#zarr.json",
        "#zarr.json#",
        ".~lock.zarr.json#",
        ".nfs000000000012",
        ".fuse_hidden0000001",
        ".cells.ozx.123.ozx-tmp",
    ],
)
def test_litter_is_left_out(tmp_path, name):
    listing = list_directory(make(tmp_path, "zarr.json", f"0/{name}", f"0/{name}x"))
    kept = [key for key in listing.iter_keys() if key != "zarr.json"]
    if f"0/{name}x" in listing.left_out:
        kept.append(f"0/{name}x")
    assert f"0/{name}" in listing.left_out
    assert kept == [f"0/{name}x"]


@pytest.mark.parametrize("name", ["Desktop", "Thumbnails", ".zattrs", ".hidden", "data.lock", "a~b", "#1", "DS_Store"])
def test_other_files_are_kept_whatever_they_are(tmp_path, name):
    listing = list_directory(make(tmp_path, "zarr.json", name))
    assert list(listing.iter_keys()) == ["zarr.json", name]


def test_empty_directories_are_left_out_and_named(tmp_path):
    make(tmp_path, "zarr.json", "litter/.DS_Store")
    (tmp_path / "a" / "b").mkdir(parents=True)
    listing = list_directory(str(tmp_path))
    assert sorted(listing.left_out) == ["a/", "a/b/", "litter/", "litter/.DS_Store"]


def test_metadata_of_zarr_v2_is_noticed(tmp_path):
    listing = list_directory(make(tmp_path, ".zgroup", "0/.zarray", "0/.zattrs", "0/0.0", ".zmetadata", "a/zgroup"))
    assert sorted(listing.legacy_keys) == [".zgroup", ".zmetadata", "0/.zarray", "0/.zattrs"]


def test_links_to_files_and_folders_inside_are_followed(tmp_path):
    make(tmp_path, "zarr.json", "0/c/0", data=b"chunk")
    make_link(tmp_path / "0" / "c" / "1", "0")
    make_link(tmp_path / "again", "0")
    listing = list_directory(str(tmp_path))
    assert list(listing.iter_keys()) == ["zarr.json", "0/c/0", "0/c/1", "again/c/0", "again/c/1"]


def link(target, name):
    return lambda root: make_link(root / name, target)


def bind_socket(root):
    here = os.getcwd()
    os.chdir(root)  # the path of a socket has to be short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("s")
    finally:
        os.chdir(here)


@pytest.mark.posix("needs mkfifo")
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (link("/etc/hostname", "0/out"), "a link out of the directory, to /etc/hostname"),
        (link("..", "0/up"), "part of a cycle"),
        (link("../..", "0/outside"), "a link out of the directory"),
        (link("self", "0/self"), "part of a cycle"),
        (link("nowhere", "0/broken"), r"a link to a missing file \(nowhere\)"),
        (lambda root: os.mkfifo(root / "0" / "pipe"), "0/pipe is a named pipe"),
        (bind_socket, "s is a socket"),
    ],
)
def test_what_is_no_file_or_folder_is_refused(tmp_path, spoil, message):
    root = tmp_path / "h"
    make(root, "zarr.json", "0/c/0")
    spoil(root)
    with pytest.raises(FormatError, match=message) as caught:
        list_directory(str(root))
    assert caught.value.rule == "zip/special-file"
    assert caught.value.hint


def test_two_links_that_lead_into_each_other_are_refused(tmp_path):
    make(tmp_path, "zarr.json", "a/x", "b/x")
    make_link(tmp_path / "a" / "to-b", "../b")
    make_link(tmp_path / "b" / "to-a", "../a")
    with pytest.raises(FormatError, match="part of a cycle"):
        list_directory(str(tmp_path))


@pytest.mark.posix("there are no such names")
@pytest.mark.parametrize("name", ["back\\slash", "C:", b"not-utf-8-\xff".decode("utf-8", "surrogateescape")])
def test_names_that_no_archive_may_have_are_refused(tmp_path, name):
    make(tmp_path, "zarr.json", name)
    with pytest.raises(FormatError, match="is refused") as caught:
        list_directory(str(tmp_path))
    assert caught.value.rule == "zip/name"


@pytest.mark.posix("there are no such names")
@pytest.mark.parametrize("name", ["ab:c", "naïve", "日本", "a b", "..a", "a.."])
def test_unusual_names_are_kept(tmp_path, name):
    assert list(list_directory(make(tmp_path, "zarr.json", name)).iter_keys())[1:] == [name]


@pytest.mark.parametrize("name", ["inner.ozx", "labels/Inner.OZX", "notes.zip"])
def test_an_archive_inside_is_refused_by_its_name(tmp_path, name):
    make(tmp_path, "zarr.json", name)
    with pytest.raises(FormatError, match="is an archive inside") as caught:
        list_directory(str(tmp_path))
    assert caught.value.rule == "rfc9/not-embedded"


def test_folders_that_no_program_could_remove_are_refused(tmp_path):
    deepest = "/".join("d" * DEEPEST)
    root = make(tmp_path / "image", "zarr.json", f"{deepest}/value")
    assert len(list_directory(root)) == 2
    make(tmp_path / "image", f"{deepest}/d/value")
    with pytest.raises(FormatError, match="at most 256 nested folders") as caught:
        list_directory(root)
    assert caught.value.rule == "zip/name"
    assert "zip/name" in [finding.id for finding in validate(root, level="archive").findings]


# Names of nodes may look like litter: what holds a node is none.

NODES = ("cells~", "._x", "#x#", ".#x", ".x.swp", "__MACOSX", ".directory", "Thumbs.db", ".nfs0123456789")
HOLD_NODES = {
    "zarr v3": ("zarr.json", "c/0"),
    "zarr v2": (".zarray", "0.0"),
    "group of zarr v2": (".zgroup",),
    "node below": ("plain/0/zarr.json", "plain/0/c/0"),
}


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("kind", HOLD_NODES)
def test_a_folder_that_holds_a_node_is_no_litter(tmp_path, name, kind):
    keys = [f"0/{name}/{key}" for key in HOLD_NODES[kind]]
    listing = list_directory(make(tmp_path, "zarr.json", *keys, f"0/{name}/x~"))
    assert sorted(listing.iter_keys()) == sorted(["zarr.json", *keys])
    assert listing.left_out == [f"0/{name}/x~"]


def test_litter_in_a_folder_with_the_name_of_litter_is_litter(tmp_path):
    listing = list_directory(make(tmp_path, "zarr.json", "__MACOSX/cells/._zarr.json", "old~/0/c/0", "0/c/0"))
    assert list(listing.iter_keys()) == ["zarr.json", "0/c/0"]
    assert sorted(listing.left_out) == ["__MACOSX", "old~"]


@pytest.mark.parametrize("name", [".cells.ome.zarr.4711.ozx-tmp", ".Cells.ome.zarr.4711.ozx-tmp"])
def test_what_ozx_did_not_finish_is_litter_though_it_holds_nodes(tmp_path, name):
    listing = list_directory(make(tmp_path, "zarr.json", f"{name}/zarr.json"))
    assert list(listing.iter_keys()) == ["zarr.json"]
    assert listing.left_out == [name]

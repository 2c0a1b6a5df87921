"""What a directory holds, leaves out and must not hold."""

import os

import pytest
from links import make_link, make_socket

from ozx.errors import FormatError
from ozx.flow.sources.listing import DEEPEST, list_directory
from ozx.validation.validate import validate


def make(root, *keys, data=b"x"):
    for key in keys:
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return str(root)


def test_empty_directories_are_left_out_and_named(tmp_path):
    make(tmp_path, "zarr.json", "litter/.DS_Store")
    (tmp_path / "a" / "b").mkdir(parents=True)
    listing = list_directory(str(tmp_path))
    assert sorted(listing.left_out) == ["a/", "a/b/", "litter/", "litter/.DS_Store"]


def test_links_to_files_and_folders_inside_are_followed(tmp_path):
    make(tmp_path, "zarr.json", "0/c/0", data=b"chunk")
    make_link(tmp_path / "0" / "c" / "1", "0")
    make_link(tmp_path / "again", "0")
    listing = list_directory(str(tmp_path))
    assert list(listing.iter_keys()) == ["zarr.json", "0/c/0", "0/c/1", "again/c/0", "again/c/1"]


def link(target, name):
    return lambda root: make_link(root / name, target)


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
        (lambda root: make_socket(root / "s"), "s is a socket"),
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


def test_folders_that_no_program_could_remove_are_refused(tmp_path):
    deepest = "/".join("d" * DEEPEST)
    root = make(tmp_path / "image", "zarr.json", f"{deepest}/value")
    assert len([*list_directory(root).iter_keys()]) == 2
    make(tmp_path / "image", f"{deepest}/d/value")
    with pytest.raises(FormatError, match="at most 256 nested folders") as caught:
        list_directory(root)
    assert caught.value.rule == "zip/name"
    assert "zip/name" in [finding.id for finding in validate(root, level="archive").findings]

"""Directories and archives as sources: the same keys, values and refusals."""

import os
import zipfile

import pytest
from hierarchies import make_image, tree
from packed import pack_tree, sort_values, zip_values
from resharding import archive_source, directory_source

from ozx.errors import FormatError
from ozx.flow.entry import read_into, read_part

KINDS = ["directory", "packed", "shuffled", "deflated"]


def make_source(kind, tmp_path):
    root = make_image(tmp_path / "h", {f"0/c/{y}/{x}": os.urandom(1000) for y in range(12) for x in range(2)})
    for key in ("zzz", "0/notes", "labels/zarr.json", "0/é.txt"):
        path = root / key
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(key.encode())
    values = sort_values(tree(root))
    if kind == "directory":
        return values, directory_source(root)
    path = tmp_path / "a.zip"
    if kind == "packed":
        pack_tree(root, path)
    else:
        zip_values(path, {"0/": b""} | dict(sorted(values.items(), reverse=True)), deflated=kind == "deflated")
    return values, archive_source(path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", ["none", "0", "0/", "0/c/0", "0/c/12/0", "0/c/é", "labels/x/zarr.json", ""])
def test_other_keys_there_are_not(tmp_path, kind, key):
    _, source = make_source(kind, tmp_path)
    assert key not in source
    if key == "0/" and kind in ("shuffled", "deflated"):  # an entry of a folder
        return
    for ask in (source.read, source.size, source.part, source.entry):
        with pytest.raises(KeyError):
            ask(key)


@pytest.mark.parametrize("kind", ["directory", "packed", "deflated"])
def test_an_archive_in_a_hierarchy_is_not_copied(tmp_path, kind):
    root = make_image(tmp_path / "h")
    with zipfile.ZipFile(root / "0" / "archive", "w") as archive:
        archive.writestr("zarr.json", b"{}")
    (root / "0" / "chance").write_bytes(b"PK\x03\x04 by chance")
    if kind == "directory":
        source = directory_source(root)
    else:
        path = tmp_path / "a.zip"
        source = archive_source(zip_values(path, tree(root), deflated=kind == "deflated"))

    def read_whole(key):
        return b"".join(source.entry(key).iter_blocks())

    def read_into_buffer(key):
        entry = source.entry(key)
        value = bytearray(entry.size)
        read_into(entry.parts[0], memoryview(value))
        return value

    def read_spans(key):
        part = source.entry(key).parts[0]
        return b"".join(block for start in (0, 4) for block in part.span(start, 4).iter_blocks())

    for read in (read_whole, read_into_buffer, *([] if kind == "directory" else [read_spans])):
        with pytest.raises(FormatError) as caught:
            read("0/archive")
        assert caught.value.rule == "rfc9/not-embedded"
        assert b"PK\x03\x04 by chance".startswith(read("0/chance"))


def test_metadata_that_changes_between_two_readings_is_refused(tmp_path):
    _, source = make_source("directory", tmp_path)
    source.read("zarr.json")
    (tmp_path / "h/zarr.json").write_bytes(b"{}")
    with pytest.raises(FormatError, match="changed while it was read"):
        source.read("zarr.json")


def test_an_archive_that_changes_is_refused(tmp_path):
    _, source = make_source("packed", tmp_path)
    source.read("zarr.json")
    os.utime(tmp_path / "a.zip", ns=(1, 1))
    with pytest.raises(FormatError, match="changed while it was read"):
        source.check_unchanged()


def test_more_inflated_values_than_are_kept_are_inflated_again(tmp_path):
    values = {f"0/c/{n}": bytes([n]) * 1000 for n in range(5)}
    source = archive_source(zip_values(tmp_path / "a.zip", values, deflated=True))
    spans = [source.part(key, 10, 5) for key in values]
    assert [read_part(span) for span in spans] == [bytes([n]) * 5 for n in range(5)]

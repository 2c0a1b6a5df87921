"""Listings: what the central directory says, and what directories hold."""

import pytest
from hierarchies import FIXTURES, tree
from packed import PROMISE, pack_tree, sort_values, write_archive

from ozx.errors import FormatError, UsageError
from ozx.flow.sources.browsing import FileSource
from ozx.operations.list_entries import list_entries
from ozx.zarr.keys import is_metadata_key

IMAGE = FIXTURES / "image.ome.zarr"


@pytest.mark.parametrize("comment", [PROMISE, b""])
def test_nodes_only(tmp_path, comment):
    path = pack_tree(IMAGE, tmp_path / "a.ozx", comment)
    keys = [entry.key for entry in list_entries(path, nodes=True)]
    assert keys == [key for key in sort_values(tree(IMAGE)) if is_metadata_key(key)]


def test_nodes_of_zarr_v2():
    keys = {entry.key for entry in list_entries(FIXTURES / "legacy.ome.zarr", nodes=True)}
    assert keys == {key for key in tree(FIXTURES / "legacy.ome.zarr") if "/.z" in f"/{key}"}


def test_a_damaged_local_header_has_no_offset(tmp_path):
    path = write_archive(tmp_path / "a.ozx", {"zarr.json": b"{}", "0": b"1"})
    data = bytearray(path.read_bytes())
    data[0] = 0
    path.write_bytes(data)
    assert [entry.offset is None for entry in list_entries(path)] == [True, False]


def test_a_damaged_directory_is_told_while_iterating(tmp_path):
    path = write_archive(tmp_path / "a.ozx", {"zarr.json": b"{}", "0": b"1"})
    data = path.read_bytes()
    path.write_bytes(data.replace(b"PK\1\2", b"PK\1\0"))
    with pytest.raises(FormatError) as caught:
        list(list_entries(path))
    assert caught.value.rule == "zip/directory"


def test_with_the_promise_nodes_are_listed_without_reading_the_rest(tmp_path, monkeypatch):
    values = {**tree(IMAGE), **{f"0/c/{number}": b"" for number in range(20_000)}}
    path = write_archive(tmp_path / "a.ozx", sort_values(values))
    lengths = []
    read_at = FileSource.read_at
    monkeypatch.setattr(FileSource, "read_at", lambda self, *at: lengths.append(at[1]) or read_at(self, *at))
    assert sum(1 for _ in list_entries(path, nodes=True)) == 9
    assert len(lengths) == 2  # the end records, and the beginning of the directory
    assert sum(lengths) < 200_000
    lengths.clear()
    assert sum(1 for _ in list_entries(path)) == len(values)
    assert sum(lengths) > 1_000_000


@pytest.mark.parametrize("nodes", [False, True])
def test_the_entries_of_a_node(tmp_path, nodes):
    path = pack_tree(IMAGE, tmp_path / "a.ozx")
    whole = {entry.key: (entry.size, entry.offset, entry.crc32) for entry in list_entries(path, nodes=nodes)}
    listing = list_entries(f"{path}|zip:labels/cells/", nodes=nodes)
    assert listing.path == f"{path}|zip:labels/cells/"
    prefix = "labels/cells/"
    assert {prefix + entry.key: (entry.size, entry.offset, entry.crc32) for entry in listing} == {
        key: values for key, values in whole.items() if key.startswith(prefix)
    }
    assert len(list(listing)) > 1
    with pytest.raises(UsageError, match="no node 'labels/cell'"):
        list_entries(f"{path}|zip:labels/cell/", nodes=nodes)

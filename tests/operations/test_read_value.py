"""One value by its key: the right bytes, or a good error."""

import pytest
from cases.archive_builder import ArchiveBuilder
from hierarchies import FIXTURES, tree
from packed import pack_tree, write_archive, zip_values
from servers import serving
from uris import ozx_uri

from ozx.errors import FormatError, UsageError
from ozx.operations.read_value import read_value

IMAGE = FIXTURES / "image.ome.zarr"


def read(path, key):
    return b"".join(read_value(path, key))


def test_large_values_come_in_blocks(tmp_path):
    value = bytes(range(256)) * 20_000
    path = write_archive(tmp_path / "a.ozx", {"key": value})
    blocks = list(read_value(path, "key"))
    assert len(blocks) == 5
    assert b"".join(blocks) == value


def test_an_error_does_not_show_the_signature_of_a_url(tmp_path):
    data = write_archive(tmp_path / "a.ozx", tree(IMAGE)).read_bytes()
    with serving(data) as server, pytest.raises(UsageError, match="it has no key 'absent'") as caught:
        read(f"{server.url}?signature=secret", "absent")
    assert "secret" not in str(caught.value)


def test_a_value_that_reaches_beyond_the_file_is_refused(tmp_path):
    sizes = {"compressed": 1 << 30, "uncompressed": 1 << 30}
    path = ArchiveBuilder.of({"key": b"value"}).classic().set("key", central=sizes, local=sizes).write(tmp_path / "a")
    with pytest.raises(FormatError, match="declares 1,073,741,824 bytes at 0, but the file ends at") as caught:
        read(path, "key")
    assert caught.value.rule == "zip/bounds"


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("0/zarr.jsn", "Did you mean 0/zarr.json"),
        ("0/c/0/0/7", "Did you mean 0/c/0/0/"),
        ("labels/cells", "a folder, not a value; the folder contains labels/cells/"),
        ("labels/", "a folder, not a value; the folder contains labels/"),
        ("thumbnail of it", "ozx ls lists the keys."),
    ],
)
def test_a_missing_key_is_the_callers_mistake(tmp_path, key, hint):
    for path in (IMAGE, pack_tree(IMAGE, tmp_path / "a.ozx")):
        with pytest.raises(UsageError, match="it has no key") as caught:
            read_value(path, key)  # at once, not at the first block
        assert hint in caught.value.hint


def test_few_values_below_a_prefix_are_all_named(tmp_path):
    path = write_archive(tmp_path / "a.ozx", {"a/1": b"", "a/2": b"", "b": b""})
    with pytest.raises(UsageError) as caught:
        read_value(path, "a")
    assert caught.value.hint == "This key is a folder, not a value; the folder contains a/1 and a/2."


@pytest.mark.parametrize("key", ["../image.ome.zarr/zarr.json", "/zarr.json", "0//zarr.json", "", "a\\b", "0/\0"])
def test_keys_that_leave_the_directory_are_none(key):
    with pytest.raises(UsageError, match="is not a key"):
        read_value(IMAGE, key)


@pytest.mark.parametrize("key", [None, 0, b"zarr.json"])
def test_a_key_is_a_text(tmp_path, key):
    for path in (IMAGE, pack_tree(IMAGE, tmp_path / "a.ozx")):
        with pytest.raises(UsageError, match=f"expected a key as a text; got {key!r}"):
            read_value(path, key)


def test_an_archive_has_whatever_keys_it_has(tmp_path):
    path = zip_values(tmp_path / "a.zip", {"../odd": b"value"})
    assert read(path, "../odd") == b"value"


def test_the_archive_is_read_by_who_asks_for_no_metadata_first(tmp_path):
    path = write_archive(
        tmp_path / "a.ozx", {"zarr.json": b"{}", "0/c": b"1", "late/zarr.json": b"hidden by the promise"}
    )
    assert read(path, "late/zarr.json") == b"hidden by the promise"


def test_keys_are_relative_to_the_node(tmp_path):
    path = pack_tree(IMAGE, tmp_path / "a.ozx")
    for key, value in tree(IMAGE / "labels" / "cells").items():
        assert read(f"{ozx_uri(path)}/labels/cells", key) == read(f"{path}|zip:labels/cells/", key) == value
    with pytest.raises(UsageError, match=r"has no key '0/zarr\.jso'") as caught:
        read_value(f"{path}|zip:labels/cells/", "0/zarr.jso")
    assert caught.value.hint == "Did you mean 0/zarr.json?"
    with pytest.raises(UsageError, match=r"has no key 'labels/zarr\.json'"):
        read_value(f"{path}|zip:labels/cells/", "labels/zarr.json")

"""The listing of keys: the same as that of the directory with such files."""

import random

import pytest
from hierarchies import FIXTURES, tree

from ozx.errors import FormatError
from ozx.flow.sources.listing import list_directory
from ozx.flow.sources.remote_objects import list_keys


@pytest.mark.parametrize("name", ["image", "plate", "series", "sharded", "legacy"])
def test_same_order_as_of_a_directory(name):
    root = FIXTURES / f"{name}.ome.zarr"
    keys = list(tree(root))
    random.Random(7).shuffle(keys)
    listing, expected = list_keys("s3://b/x", keys), list_directory(str(root))
    assert list(listing.iter_keys()) == list(expected.iter_keys())
    assert sorted(listing.legacy_keys) == sorted(expected.legacy_keys)


def test_litter_and_folders_are_left_out():
    listing = list_keys("s3://b/x", ["zarr.json", "0/", "0/c/.DS_Store", "__MACOSX/._zarr.json", "0/c/0"])
    assert list(listing.iter_keys()) == ["zarr.json", "0/c/0"]
    assert sorted(listing.left_out) == ["0/c/.DS_Store", "__MACOSX/._zarr.json"]


@pytest.mark.parametrize("key", ["../zarr.json", "a//b", "a/./b", "a\\b", "/a", "x/" * 300 + "y"])
def test_names_that_no_entry_can_have(key):
    with pytest.raises(FormatError) as caught:
        list_keys("s3://b/x", ["zarr.json", key])
    assert caught.value.rule == "zip/name"


def test_an_archive_inside():
    with pytest.raises(FormatError) as caught:
        list_keys("s3://b/x", ["zarr.json", "0/a.ozx"])
    assert caught.value.rule == "rfc9/not-embedded"

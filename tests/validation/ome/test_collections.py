"""The file of OME metadata of a collection: the only thing that the rules look for beside metadata documents."""

import json

import pytest
from cases.archive_builder import ArchiveBuilder, write_tree
from hierarchies import FIXTURES, tree
from packed import pack_tree

from ozx.validation.validate import validate


def values(name):
    found = tree(FIXTURES / f"{name}.ome.zarr")
    return {key: value for key, value in found.items() if key != "OME/METADATA.ome.xml"}


def ids(path):
    return [finding.id for finding in validate(path).findings if finding.id.startswith("ome/")]


def test_a_collection_with_its_file(tmp_path):
    assert ids(FIXTURES / "series.ome.zarr") == []
    assert ids(pack_tree(FIXTURES / "series.ome.zarr", tmp_path / "a.ozx")) == []


def test_a_collection_without(tmp_path):
    source = write_tree(tmp_path / "a.zarr", values("series"))
    assert ids(source) == ["ome/ome-xml"]
    assert ids(pack_tree(source, tmp_path / "a.ozx")) == ["ome/ome-xml"]


def test_a_single_image_needs_none(tmp_path):
    assert ids(write_tree(tmp_path / "a.zarr", values("image"))) == []


@pytest.mark.parametrize("below", ["", "set/"])
def test_the_file_is_looked_for_beside_the_images(tmp_path, below):
    ome = {"version": "0.5", "bioformats2raw.layout": 3}
    group = {"zarr_format": 3, "node_type": "group", "attributes": {"ome": ome}}
    listing = {**group, "attributes": {"ome": {"version": "0.5", "series": []}}}
    root = {**group, "attributes": {"ome": {"version": "0.5"}}}
    builder = ArchiveBuilder()
    documents = {"zarr.json": root, f"{below}zarr.json": group, f"{below}OME/zarr.json": listing}
    for key, document in documents.items():
        builder.add(key, json.dumps(document).encode())
    assert ids(builder.write(tmp_path / "a.ozx")) == ["ome/ome-xml"]
    builder.add(f"{below}OME/METADATA.ome.xml", b"<OME/>")
    assert ids(builder.write(tmp_path / "a.ozx")) == []

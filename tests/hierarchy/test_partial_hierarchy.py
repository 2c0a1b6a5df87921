"""Nodes of which parts are missing."""

import json

import pytest
from cases.archive_builder import array, group

from ozx.hierarchy.keys import missing_groups
from ozx.hierarchy.partial_hierarchy import PartialHierarchy, parse_metadata


def hierarchy(**documents):
    result = PartialHierarchy()
    for key, value in documents.items():
        result.add(key, json.loads(value))
    return result


PLATE = {
    "zarr.json": group(
        attributes={"ome": {"version": "0.5", "plate": {"rows": [], "columns": [], "wells": [{"path": "A/1"}]}}}
    ),
    "A/1/0/0/zarr.json": array([4, 4], [2, 2]),
}


def test_roles():
    nodes = hierarchy(**PLATE)
    roles = {
        key: nodes.role(key).kind
        for key in (
            "A/1/0/0/c/1/1",
            "A/1/0/0/c/2/0",
            "A/1/0/0/x",
            "A/1/0/1/c/0/0",
            "OME/x.xml",
            "A/zarr.json",
            "0/.zarray",
        )
    }
    assert list(roles.values()) == ["chunk", "misfit", "misfit", "file", "file", "metadata", "metadata"]
    assert (nodes.role("A/1/0/0/c/1/0").array, nodes.role("A/1/0/0/c/1/0").place) == ("A/1/0/0", (1, 0))
    at_root = hierarchy(**{"zarr.json": array([4], [2])})
    assert [at_root.role(key).kind for key in ("c/1", "x")] == ["chunk", "misfit"]
    unknown = hierarchy(**{"0/zarr.json": json.dumps({"zarr_format": 3, "node_type": "array"}).encode()})
    assert unknown.role("0/anything").kind == "chunk"


def test_groups_that_have_to_be_there():
    nodes = hierarchy(**PLATE)
    assert missing_groups(nodes.nodes) == ["A", "A/1", "A/1/0"]
    assert nodes.version == "0.5"
    assert nodes.mentioned == {"A/1"}
    without_root = {key: value for key, value in PLATE.items() if key != "zarr.json"}
    assert missing_groups(hierarchy(**without_root).nodes)[0] == ""


def test_copies_in_consolidated_metadata():
    copies = {"0": json.loads(array([4], [2])), "x": {"nonsense": 1}}
    nodes = hierarchy(**{"a/zarr.json": group(consolidated_metadata={"kind": "inline", "metadata": copies})})
    assert json.loads(nodes.replacement("a/0")) == copies["0"]
    assert nodes.replacement("a/x") is None
    assert nodes.replacement("0") is None


@pytest.mark.parametrize(
    ("key", "data", "is_one"),
    [
        ("zarr.json", group(), True),
        ("zarr.json", b"{}", False),
        ("zarr.json", b"pixels", False),
        ("zarr.json", b"[]", False),
        (".zattrs", b"{}", True),
        (".zattrs", b"pixels", False),
    ],
)
def test_what_is_metadata(key, data, is_one):
    assert (parse_metadata(key, data) is not None) == is_one

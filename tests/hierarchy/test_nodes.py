"""Nodes put together from documents of both versions of Zarr."""

import json

from hierarchies import FIXTURES, tree

from ozx.hierarchy.keys import is_metadata_key
from ozx.hierarchy.nodes import NodeCollector, join_path

GROUP = b'{"zarr_format": 3, "node_type": "group"}'
ARRAY = b'{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<u2", "compressor": null, "filters": null}'


def collect(values):
    collector = NodeCollector()
    for key, value in values.items():
        collector.add(key, value)
    return collector.nodes()


def test_every_node_of_a_fixture_is_found_without_problems(hierarchy):
    values = {key: value for key, value in tree(hierarchy).items() if is_metadata_key(key)}
    nodes = collect(values)
    expected = {key.rpartition("/")[0]: json.loads(value)["node_type"] for key, value in values.items()}
    assert {path: node.node_type for path, node in nodes.items()} == expected
    assert not any(node.problems for node in nodes.values())


def test_zarr_v2_has_the_same_nodes():
    values = {key: value for key, value in tree(FIXTURES / "legacy.ome.zarr").items() if "/.z" in f"/{key}"}
    nodes = collect(values)
    types = {path: node.node_type for path, node in nodes.items()}
    assert types == {
        "": "group",
        "0": "array",
        "1": "array",
        "labels": "group",
        "labels/cells": "group",
        "labels/cells/0": "array",
        "labels/cells/1": "array",
    }
    assert all(node.zarr_format == 2 and not node.problems for node in nodes.values())


def test_nodes_come_breadth_first():
    keys = ["b/zarr.json", "a/x/zarr.json", "zarr.json", "a-b/zarr.json", "a/zarr.json"]
    assert list(collect(dict.fromkeys(keys, GROUP))) == ["", "a", "a-b", "b", "a/x"]


def test_a_node_of_both_versions_counts_as_v3():
    nodes = collect({".zgroup": b'{"zarr_format": 2}', "zarr.json": GROUP, ".zattrs": b"{}"})
    assert nodes[""].zarr_format == 3
    assert nodes[""].problems == (
        "it has Zarr v2 metadata beside zarr.json: .zattrs",
        "it has Zarr v2 metadata beside zarr.json: .zgroup",
    )


def test_consolidated_metadata_of_v2_is_passed_over():
    assert list(collect({".zmetadata": b"{}", ".zgroup": b"{}", "0/.zarray": ARRAY})) == ["", "0"]


def test_broken_documents_are_nodes_without_a_type():
    nodes = collect({"zarr.json": b"[]", "0/zarr.json": b"{", "1/zarr.json": b"\xff", "2/zarr.json": b"{}"})
    assert [node.node_type for node in nodes.values()] == [None] * 4
    assert "expected a JSON object" in nodes[""].problems[0]
    assert "expected JSON" in nodes["0"].problems[0]
    assert "UTF-8" in nodes["1"].problems[0]
    assert nodes["2"].problems == ("zarr_format is not 3", "node_type is neither array nor group")


def test_attributes_alone_make_a_group_of_v2_with_a_problem():
    (node,) = collect({"a/.zattrs": b'{"labels": ["x"]}'}).values()
    assert (node.path, node.node_type, node.ome.labels) == ("a", "group", ("x",))
    assert node.problems == ("it has neither .zgroup nor .zarray",)


def test_paths_are_joined():
    assert join_path("labels", "cells/") == "labels/cells"
    assert join_path("", "./0") == "0"
    assert join_path("a", "") == "a"

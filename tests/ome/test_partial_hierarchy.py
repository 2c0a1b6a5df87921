"""Nodes of which parts are missing."""

import json

from cases.archive_builder import array, group

from ozx.ome.partial_hierarchy import PartialHierarchy
from ozx.zarr.keys import missing_groups


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


def test_groups_that_have_to_be_there():
    nodes = hierarchy(**PLATE)
    assert missing_groups(nodes.nodes) == ["A", "A/1", "A/1/0"]
    assert nodes.version == "0.5"
    assert nodes.mentioned == {"A/1"}
    without_root = {key: value for key, value in PLATE.items() if key != "zarr.json"}
    assert missing_groups(hierarchy(**without_root).nodes)[0] == ""

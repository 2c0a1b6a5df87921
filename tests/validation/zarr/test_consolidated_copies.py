"""Copies in consolidated metadata beside the nodes that they are copies of."""

import json

import pytest
from cases.archive_builder import array, group

from ozx.validation.hierarchy import check_documents

SMALL, LARGE = array([4], [4]), array([8], [4])


def found(copies, nodes, **field):
    """Return the messages about an image with these copies, and these nodes below the root."""
    copied = {path: json.loads(data) for path, data in copies.items()}
    field = {"kind": "inline", "must_understand": False, "metadata": copied} | field
    documents = {"zarr.json": group(consolidated_metadata=field)}
    documents |= {f"{path}/zarr.json": data for path, data in nodes.items()}
    return [finding.message for finding in check_documents(documents) if finding.id == "zarr/stale-copies"]


def test_every_difference_is_told():
    messages = found({"0": SMALL, "gone": SMALL}, {"0": LARGE, "new": SMALL})
    assert messages == [
        'copies that differ from their nodes: 1, "0"',
        'nodes without a copy: 1, "new"',
        'copies of missing nodes: 1, "gone"',
    ]


def test_of_many_the_first_are_named():
    nodes = {str(number): SMALL for number in range(30)}
    assert found({}, nodes) == ['nodes without a copy: 30, "0", "1", "2", …']
    assert found(nodes, nodes) == []


def test_a_node_that_cannot_be_read_has_a_finding_of_its_own():
    assert found({"0": SMALL}, {"0": b"{"}) == []


@pytest.mark.parametrize("field", [{"metadata": []}, {"metadata": {"0": 5}}])
def test_what_is_no_copy_is_compared_with_nothing(field):
    assert found({}, {"0": SMALL}, **field) == []


def test_copies_below_the_root_are_not_looked_at():
    inner = group(None, consolidated_metadata={"kind": "inline", "metadata": {}})
    assert found({"a": inner, "a/0": SMALL}, {"a": group(None), "a/0": SMALL}) == []

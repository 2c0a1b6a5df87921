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


MANY = {str(number): SMALL for number in range(30)}
INNER = group(None, consolidated_metadata={"kind": "inline", "metadata": {}})


@pytest.mark.parametrize(
    ("copies", "nodes", "field", "expected"),
    [
        ({}, MANY, {}, ['nodes without a copy: 30, "0", "1", "2", …']),
        (MANY, MANY, {}, []),
        ({"0": SMALL}, {"0": b"{"}, {}, []),  # the node has a finding of its own
        ({}, {"0": SMALL}, {"metadata": []}, []),
        ({}, {"0": SMALL}, {"metadata": {"0": 5}}, []),
        ({"a": INNER, "a/0": SMALL}, {"a": group(None), "a/0": SMALL}, {}, []),  # copies below the root
    ],
)
def test_differences_are_few_and_of_what_can_be_compared(copies, nodes, field, expected):
    assert found(copies, nodes, **field) == expected

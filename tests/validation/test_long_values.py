"""Findings stay short whatever they quote: a long text, list or name wherever it stands in OME-Zarr metadata."""

import json

import pytest
from changed_documents import as_stored, documents_of_cases, places_in, replaced

from ozx.validation.hierarchy import check_documents

DOCUMENTS = {
    json.dumps(documents, sort_keys=True): documents
    for documents in documents_of_cases("ome/", "conventions/", kinds=("passes",))
}
LONG = ["x" * 10_000, ["x" * 10_000] * 3, {"y" * 10_000: 1}]


def longest_message(documents):
    return max((len(finding.message) for finding in check_documents(as_stored(documents))), default=0)


@pytest.mark.parametrize(
    "place",
    [
        ("zarr.json", "attributes", "ome", "multiscales", 0, "axes", 1, "type"),
        ("zarr.json", "attributes", "zarr_conventions_metadata"),
    ],
    ids=["axes", "conventions"],
)
@pytest.mark.parametrize("long", LONG, ids=["text", "list", "key"])
def test_what_is_long_is_shown_short(place, long):
    holding = [documents for documents in DOCUMENTS.values() if place in places_in(documents)]
    assert holding
    for documents in holding:
        assert longest_message(replaced(documents, place, long)) < 2000


@pytest.mark.ci
@pytest.mark.parametrize("long", LONG, ids=["text", "list", "key"])
def test_what_is_long_is_shown_short_wherever_it_stands(long):
    for documents in DOCUMENTS.values():
        for place in places_in(documents):
            if len(place) > 1:  # a document that is no object has one finding, and quotes nothing
                assert longest_message(replaced(documents, place, long)) < 2000, place

"""Metadata of any form end in findings, never in a traceback."""

import copy
import json

import pytest
from hierarchy_cases import FILES
from hypothesis import given, settings
from hypothesis import strategies as st

from ozx.validation.hierarchy import check_documents

SEEDS = [
    case["documents"]
    for rule, file in FILES.items()
    if rule.startswith(("ome/", "conventions/"))
    for case in file["passes"]
    if all(isinstance(document, dict) for document in case["documents"].values())
]
JUNK = st.sampled_from(
    [
        *(None, True, 0, -1, 1.5, 10**400, float("nan"), float("inf"), "", "x", "../..", "/", "a/b", "0.5", "\ud800"),
        *([], {}, [[]], [None], [{}], {"path": 7}, ["x"] * 40, {"": {"": {}}}, "x" * 10_000),
    ]
)


def places(value, path=()):
    """Yield the path of every value in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def change(documents, place, junk, *, drop):
    value = documents
    for key in place[:-1]:
        value = value[key]
    if drop:
        del value[place[-1]]
    else:
        value[place[-1]] = copy.deepcopy(junk)  # lists would grow into circles


def check(data, times):
    documents = copy.deepcopy(data.draw(st.sampled_from(SEEDS)))
    for _ in range(times):
        found = [place for place in places(documents) if len(place) > 1]
        if found:
            change(documents, data.draw(st.sampled_from(found)), data.draw(JUNK), drop=data.draw(st.booleans()))
    values = {key: json.dumps(document).encode() for key, document in documents.items()}
    for finding in check_documents(values):
        json.dumps(finding.to_dict())
        assert len(finding.message) < 2000


LONG = ["x" * 10_000, ["x" * 10_000] * 3, {"y" * 10_000: 1}]


def longest_message(documents):
    values = {key: json.dumps(document).encode() for key, document in documents.items()}
    return max((len(finding.message) for finding in check_documents(values)), default=0)


@pytest.mark.parametrize(
    "place",
    [
        ("zarr.json", "attributes", "ome", "multiscales", 0, "axes", 1, "type"),
        ("zarr.json", "attributes", "zarr_conventions_metadata"),
    ],
    ids=["axes", "conventions"],
)
@pytest.mark.parametrize("junk", LONG, ids=["text", "list", "key"])
def test_what_is_long_is_shown_short(place, junk):
    holding = [seed for seed in SEEDS if place in places(seed)]
    assert holding
    for seed in holding:
        documents = copy.deepcopy(seed)
        change(documents, place, junk, drop=False)
        assert longest_message(documents) < 2000


@pytest.mark.ci
@pytest.mark.parametrize("junk", LONG, ids=["text", "list", "key"])
def test_what_is_long_is_shown_short_wherever_it_stands(junk):
    for seed in {json.dumps(seed, sort_keys=True): seed for seed in SEEDS}.values():
        for place in places(seed):
            if len(place) > 1:
                documents = copy.deepcopy(seed)
                change(documents, place, junk, drop=False)
                assert longest_message(documents) < 2000, place


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_few_changes(data):
    check(data, data.draw(st.integers(1, 3)))


@pytest.mark.ci
@given(st.data())
@settings(max_examples=3_000, deadline=None)
def test_many_changes(data):
    check(data, data.draw(st.integers(1, 12)))

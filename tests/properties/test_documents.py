"""Metadata documents with anything changed in them: there are findings or there are none, and never an exception."""

from __future__ import annotations

import copy
import json

from hierarchy_cases import FILES
from hypothesis import given
from hypothesis import strategies as st

from ozx.validation.findings import SEVERITIES
from ozx.validation.hierarchy import Options, check_documents
from ozx.validation.rules import RULES

DOCUMENTS = [
    case["documents"]
    for file in FILES.values()
    for case in file["fails"] + file["passes"]
    if all(isinstance(document, dict) for document in case["documents"].values())
]

NUMBERS = [0, -1, 1 << 63, 10**400, 0.5, float("nan"), float("inf")]
ODD = st.sampled_from([None, True, False, *NUMBERS, "", "\ud800", "NaN", "x" * 5000, [], {}])
NAMES = st.text(max_size=3)
VALUES = st.recursive(ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))


def places_in(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places_in(item, (*path, key))


@st.composite
def changed(draw):
    """Draw the documents of a case with a few values replaced, removed, renamed or repeated."""
    documents = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 4))):
        *steps, last = draw(st.sampled_from([place for place in places_in(documents) if place]))
        holder = documents
        for step in steps:
            holder = holder[step]
        how = draw(st.sampled_from(["replace", "remove", "rename", "nest"]))
        if how == "remove":
            del holder[last]
        elif how == "rename" and isinstance(holder, dict):
            holder[draw(st.text(max_size=8)) if steps else f"{draw(st.text(max_size=3))}/{last}"] = holder.pop(last)
        elif how == "nest":
            holder[last] = [holder[last]]
        else:
            holder[last] = draw(VALUES)
        if not documents:
            return {"zarr.json": {}}
    return documents


@given(changed())
def test_changed_documents_end_in_findings(documents):
    data = {key: json.dumps(document).encode("utf-8", "surrogatepass") for key, document in documents.items()}
    for finding in check_documents(data, Options(second_opinion=False)):
        assert finding.id in RULES
        assert finding.severity in SEVERITIES
        assert len(finding.message) < 5000
        json.dumps(finding.to_dict())


@given(st.sampled_from(DOCUMENTS), st.binary(max_size=8), st.integers(0, 1 << 16))
def test_changed_bytes_end_in_findings(documents, junk, place):
    data = {}
    for key, document in documents.items():
        text = json.dumps(document).encode()
        at = place % (len(text) + 1)
        data[key] = text[:at] + junk + text[at + len(junk) :]
    for finding in check_documents(data, Options(second_opinion=False)):
        assert finding.id in RULES

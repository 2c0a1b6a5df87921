"""Metadata documents with anything changed in them: there are findings or there are none, and never an exception."""

import json

import pytest
from changed_documents import as_stored, changed, documents_of_cases
from hypothesis import given, settings
from hypothesis import strategies as st

from ozx.validation.hierarchy import Options, check_documents
from ozx.validation.report import SEVERITIES
from ozx.validation.rules.table import RULES

DOCUMENTS = st.sampled_from(documents_of_cases())
# What ome-zarr-models looks at, too.
SOUND = st.sampled_from(documents_of_cases("ome/", "conventions/", kinds=("passes",)))


def check(data: dict[str, bytes], *, second_opinion: bool) -> None:
    for finding in check_documents(data, Options(second_opinion=second_opinion)):
        assert finding.id in RULES
        assert finding.severity in SEVERITIES
        assert len(finding.message) < 2000
        json.dumps(finding.to_dict())


@given(changed(DOCUMENTS))
def test_changed_documents_end_in_findings(documents):
    check(as_stored(documents), second_opinion=False)


@given(changed(SOUND, most=3))
@settings(max_examples=60)
def test_changed_ome_zarr_ends_in_findings(documents):
    check(as_stored(documents), second_opinion=True)


@pytest.mark.ci
@given(changed(SOUND, most=12))
@settings(max_examples=3_000)
def test_much_changed_ome_zarr_ends_in_findings(documents):
    check(as_stored(documents), second_opinion=True)


@given(DOCUMENTS, st.binary(max_size=8), st.integers(0, 1 << 16))
def test_changed_bytes_end_in_findings(documents, junk, place):
    data = {}
    for key, text in as_stored(documents).items():
        at = place % (len(text) + 1)
        data[key] = text[:at] + junk + text[at + len(junk) :]
    check(data, second_opinion=False)

"""Every rule about metadata documents with documents that break it, and the nearest that do not."""

from __future__ import annotations

import pytest
from hierarchy_cases import FILES, documents_of

from ozx.validation.data_table import DATA_RULES
from ozx.validation.hierarchy import check_documents
from ozx.validation.rules import RULES

CASES = [(rule, kind, case) for rule, file in FILES.items() for kind in ("fails", "passes") for case in file[kind]]

# Their cases need more than documents: test_rule_cases.py, and tests of the modules in tests/validation.
ELSEWHERE = {"zarr/json", "zarr/extension-configuration", "ome/ome-xml", "conventions/schema"} | {
    rule.id for rule in DATA_RULES
}


@pytest.mark.parametrize(("rule", "kind", "case"), CASES, ids=[f"{rule}: {case['name']}" for rule, _, case in CASES])
def test_case(rule, kind, case):
    documents = documents_of(case)
    findings = list(check_documents(documents))
    assert {finding.id: finding.severity for finding in findings} == case["found"], findings
    assert (rule in case["found"]) == (kind == "fails")
    for finding in findings:
        assert finding.message
        assert finding.where.entry in documents


def test_files_are_named_after_their_rules():
    assert {file["rule"] for file in FILES.values()} == FILES.keys()


def test_every_rule_about_documents_has_cases():
    rules = {rule for rule in RULES if not rule.startswith(("zip/", "rfc9/"))} - ELSEWHERE
    assert {rule for rule, file in FILES.items() if file["fails"] and file["passes"]} == rules

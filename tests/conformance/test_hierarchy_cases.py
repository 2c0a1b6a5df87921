"""The rules about metadata documents: each has a file in hierarchy/, named after it, with cases for and against.

A file is ``{"rule", "fails": […], "passes": […]}``; a case is ``{"name", "documents", "found"}``: the value of each
metadata key, as an object or, where it is not to be one, as text; and the ids of all findings with their severities.
Every case in ``fails`` breaks the rule; those in ``passes`` are as near to it as can be and do not.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ozx.validation.hierarchy import check_documents
from ozx.validation.rules import RULES

FOLDER = Path(__file__).parent / "hierarchy"
FILES = {f"{path.parent.name}/{path.stem}": json.loads(path.read_text("utf-8")) for path in FOLDER.glob("*/*.json")}
CASES = [
    (rule, kind, case) for rule, file in sorted(FILES.items()) for kind in ("fails", "passes") for case in file[kind]
]

# Their cases need more than documents: they stand in test_rule_cases.py and test_data_cases.py.
ELSEWHERE = {"zarr/json", "ome/ome-xml", "conventions/schema"}


def to_bytes(document):
    return (document if isinstance(document, str) else json.dumps(document)).encode()


@pytest.mark.parametrize(("rule", "kind", "case"), CASES, ids=[f"{rule}: {case['name']}" for rule, _, case in CASES])
def test_case(rule, kind, case):
    documents = {key: to_bytes(document) for key, document in case["documents"].items()}
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

"""Every rule about metadata documents with documents that break it, and the nearest that do not."""

from __future__ import annotations

import pytest
from cases.documents import FILES, documents_of
from cases.table import CASES as ARCHIVES
from cases.table import WITHOUT_CASES
from handlers import example_package  # noqa: F401 (a fixture)

from ozx.validation.hierarchy import Options, check_documents
from ozx.validation.rules.table import RULES
from ozx.validation.zarr.schemas import Schemas

CASES = [(rule, kind, case) for rule, file in FILES.items() for kind in ("fails", "passes") for case in file[kind]]


@pytest.mark.parametrize(("rule", "kind", "case"), CASES, ids=[f"{rule}: {case['name']}" for rule, _, case in CASES])
def test_case(rule, kind, case, request):
    file, documents = FILES[rule], documents_of(case)
    if file.get("handlers"):
        request.getfixturevalue("example_package")
    findings = list(check_documents(documents, Options(schemas=Schemas(file.get("schemas", {})))))
    assert {finding.id: finding.severity for finding in findings} == case["found"], findings
    assert (rule in case["found"]) == (kind == "fails")
    for finding in findings:
        assert finding.message
        assert finding.where.entry in documents


def test_files_are_named_after_their_rules():
    assert {file["rule"] for file in FILES.values()} == FILES.keys() <= RULES.keys()
    for file in FILES.values():
        assert file.keys() <= {"rule", "schemas", "handlers", "fails", "passes"}


def test_every_rule_has_a_case_that_breaks_it_and_a_nearest_one_that_does_not():
    in_archives = {case.rule for case in ARCHIVES if case.breaks_its_rule} & {
        case.rule for case in ARCHIVES if not case.breaks_its_rule
    }
    in_documents = {rule for rule, file in FILES.items() if file["fails"] and file["passes"]}
    assert in_archives | in_documents == RULES.keys() - WITHOUT_CASES.keys()
    assert not (in_archives | in_documents) & WITHOUT_CASES.keys()


def test_names_of_cases_are_unique():
    for rule, cases in FILES.items():
        names = [case["name"] for kind in ("fails", "passes") for case in cases[kind]]
        assert len(names) == len(set(names)), rule

"""Every rule about archives and stored values with a file that breaks it, and the nearest that does not."""

from __future__ import annotations

import pytest
from cases.archive_builder import ArchiveBuilder
from cases.table import CASES, WITHOUT_CASES

from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError
from ozx.places.byte_source import MemorySource
from ozx.validation.rules.table import RULES
from ozx.validation.validate import check_archive


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.name}")
def test_case(case, tmp_path):
    report = case.check(tmp_path)
    assert {finding.id: finding.severity for finding in report.findings} == case.severities(), report.findings
    for finding in report.findings:
        assert finding.message
        assert finding.hint


def test_names_of_cases_are_unique():
    names = [(case.rule, case.name) for case in CASES]
    assert len(names) == len(set(names))


class ChangingSource(MemorySource):
    def check_unchanged(self):
        raise FormatError("the file changed while it was read", rule="zip/changed")


@pytest.mark.parametrize(("source", "expected"), [(ChangingSource, ["zip/changed"]), (MemorySource, [])])
def test_a_file_that_changes_is_not_judged_as_if_it_had_not(source, expected):
    found = check_archive(ArchiveReader(source(ArchiveBuilder.valid().build())))
    assert [finding.id for finding in found] == expected


def test_every_rule_about_archives_has_a_case_that_breaks_it_and_one_that_does_not():
    # Those about metadata documents have theirs in JSON files, see test_hierarchy_cases.py.
    rules = {rule for rule in RULES if rule.startswith(("zip/", "rfc9/"))} - WITHOUT_CASES.keys()
    assert rules <= {case.rule for case in CASES if case.breaks_its_rule}
    assert rules <= {case.rule for case in CASES if not case.breaks_its_rule}
    assert WITHOUT_CASES.keys() <= RULES.keys()

"""Mutated archives and documents: findings, and nothing else. docs/reliability.md has the figures of longer runs."""

import pytest
from mutated_cases import run_archives, run_documents


@pytest.mark.ci
def test_mutated_archives_end_in_findings():
    tally = run_archives(range(4000), "ci")
    assert tally.failures == []
    assert len(tally.found) > 30
    assert tally.valid < tally.runs / 2


@pytest.mark.ci
def test_mutated_documents_end_in_findings():
    tally = run_documents(range(2500), "ci")
    assert tally.failures == []
    assert len(tally.found) > 60

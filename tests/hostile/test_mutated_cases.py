"""Mutated archives and documents: findings, and nothing else. docs/conformance.md has the figures of longer runs."""

import random

import pytest
from mutated_cases import hierarchies, mutate_documents, run_archives, run_documents


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


def test_the_same_number_is_the_same_mutation():
    documents = hierarchies()[0]
    others = list(documents.values())
    for _ in range(3):
        first, second = (mutate_documents(documents, random.Random("7"), others) for _ in range(2))
        assert first == second

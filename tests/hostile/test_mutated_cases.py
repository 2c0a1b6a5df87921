"""Mutated archives and documents: findings, and nothing else. docs/conformance.md has the figures of longer runs."""

import random

import pytest
from mutated_cases import archives, hierarchies, mutate_bytes, mutate_documents, run_archives, run_documents


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
    seeds, trees = archives(), hierarchies()
    for _ in range(3):
        one, other = random.Random("7"), random.Random("7")
        assert mutate_bytes(seeds[0], one, seeds) == mutate_bytes(seeds[0], other, seeds)
        assert mutate_documents(trees[0], one, trees) == mutate_documents(trees[0], other, trees)

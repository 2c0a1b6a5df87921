"""docs/conformance.md: every clause has a rule, code with a test, or a reason; and all that it names is there."""

import importlib
import re
from pathlib import Path

from docs.make_conformance import LEVELS, conformance_markdown, read_documents
from ozx.validation.rules.table import RULES

ROOT = Path(__file__).parent.parent.parent
CLAUSES = [clause for document in read_documents() for clause in document["clause"]]


def test_the_page_is_made_of_the_tables():
    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    assert page == conformance_markdown(), "run python -m docs.make_pages"


def test_a_clause_is_checked_or_kept_or_there_is_a_reason():
    for clause in CLAUSES:
        assert clause.keys() <= {"section", "level", "demand", "rules", "by", "test", "why", "decision"}
        assert clause["level"] in LEVELS
        assert clause.get("rules") or {"by", "test"} <= clause.keys() or clause.get("why"), clause
        for key in ("demand", "why", "decision"):
            assert clause.get(key, "x.").endswith(".")
            assert "|" not in clause.get(key, "")


def test_what_a_clause_names_is_there():
    for clause in CLAUSES:
        assert set(clause.get("rules", ())) <= RULES.keys()
        if "by" in clause:
            module, _, name = clause["by"].rpartition(".")
            assert hasattr(importlib.import_module(module), name), clause
        if "test" in clause:
            path, _, name = clause["test"].partition("::")
            text = (ROOT / path).read_text(encoding="utf-8")
            assert re.search(rf"^ *(async )?(def|class) {name}\b", text, re.MULTILINE), clause
            # The examples of a function are its test, where there is no other.
            assert path.startswith("tests/") == name.startswith("test_")
            assert path.startswith("tests/") or ">>>" in text[text.index(f" {name}") :].split("\ndef ")[0], clause


def test_every_rule_that_comes_from_these_documents_is_named_by_a_clause():
    named = {rule for document in read_documents() for clause in document["clause"] for rule in clause.get("rules", ())}
    assert {rule for rule in RULES if rule.startswith(("rfc9/", "zarr/", "conventions/"))} - named == set()


def test_no_clause_stands_there_twice():
    demands = [
        (document["name"], clause["section"], clause["demand"])
        for document in read_documents()
        for clause in document["clause"]
    ]
    assert len(demands) == len(set(demands))

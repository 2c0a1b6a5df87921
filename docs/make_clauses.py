"""Write the made part of docs/explanation/clauses.md: ``python -m docs.make_clauses``.

For each clause of RFC-9 and of its revision, the part shows the rules, the modules that check these rules, the code
that writes files as the clause demands, and the test of this code.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from docs.made_parts import DOCS, with_parts, write_files
from docs.make_conformance import read_documents
from ozx.validation.rules.table import RULES
from tests.cases.table import CASES

VALIDATION = DOCS.parent / "src" / "ozx" / "validation"


def made_files() -> dict[str, str]:
    """Return the files that this script writes: texts by their paths below ``docs/``."""
    return {"explanation/clauses.md": with_parts("explanation/clauses.md", {"clauses": clauses_markdown()})}


def clauses_markdown() -> str:
    """Return a table of the clauses of RFC-9 with their rules, modules, code and tests."""
    modules = modules_of_rules()
    lines = ["| clause | | rule and its cases | checked in | kept by | test of code |", "|---|---|---|---|---|---|"]
    documents = [document for document in read_documents() if document["name"].startswith("RFC-9")]
    for clause in (clause for document in documents for clause in document["clause"]):
        rules = clause.get("rules", ())
        checked = dict.fromkeys(module for rule in rules for module in modules[rule])
        columns = (
            clause["demand"],
            clause["level"],
            ", ".join(f"[`{rule}`](../rules.md#{rule.replace('/', '')}) {_cases(rule)}" for rule in rules),
            ", ".join(f"`{module}`" for module in checked),
            f"`{clause['by']}`" if "by" in clause else "",
            "".join(_tests(clause)),
        )
        lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines)


def modules_of_rules() -> dict[str, list[str]]:
    """Return, for each rule, the modules that make its findings.

    Examples
    --------
    >>> modules_of_rules()["rfc9/stored"]
    ['validation/container/rfc9']
    """
    modules, known = defaultdict(list), set(RULES)
    for path in sorted(VALIDATION.rglob("*.py")):
        module = f"validation/{path.relative_to(VALIDATION).with_suffix('').as_posix()}"
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            # make_finding("rfc9/stored", …), each("rfc9/stored", …), each_entry(facts, "rfc9/stored", …)
            for argument in call.args[:2] if isinstance(call, ast.Call) else ():
                rule = getattr(argument, "value", None)
                if rule in known and module not in modules[rule]:
                    modules[rule].append(module)
    return modules


def _cases(rule: str) -> str:
    cases = [case for case in CASES if case.rule == rule]
    breaking = sum(case.breaks_its_rule for case in cases)
    return f"{breaking}+{len(cases) - breaking}"


def _tests(clause: dict[str, Any]) -> Iterator[str]:
    if "test" in clause:
        yield f"`{clause['test']}`"


if __name__ == "__main__":
    write_files(made_files())

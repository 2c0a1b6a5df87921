"""Write docs/conformance.md from docs/clauses/ and the cases: ``python -m docs.make_conformance``.

The page explains the fields of a clause.
"""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

from ozx.validation.rules.table import RULES
from tests.cases.table import CASES

DOCUMENTS = ("rfc9", "rfc9-revision", "ome-zarr-0.6", "zarr-core", "zep9", "zep10", "conventions", "v2-and-codecs")
LEVELS = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "RECOMMENDED", "MAY")
FOLDER = Path(__file__).parent

HEAD = """# Conformance

The documents that ozx follows contain sentences with a key word: MUST, SHOULD, RECOMMENDED or MAY, in capital or
small letters. `docs/clauses/` lists such sentences as *clauses*, in one TOML file for each document. This page has a
section for each document, which says what its clauses are. `docs/make_conformance.py` makes this page.

## How to read a clause

| field of a clause | meaning |
|---|---|
| `section`, `level`, `demand` | the section of the document, the key word, and the demand in our words |
| `rules` | the [rules](rules.md) of `ozx validate` that check the clause |
| `by`, `test` | the function or class of ozx that fulfils the clause, and the test of this code |
| `why` | the reason why no rule checks the clause |
| `decision` | the interpretation of ozx, if the clause is ambiguous or leaves a choice |

`pytest tests/surface/test_conformance.py` fails if a clause has neither a rule, nor code with a test, nor a reason.

## How to read a case

Each rule except `zip/changed` has *cases*: files that break the rule, and the most similar files that do not.
`python -m tests.cases.export DIR` writes all cases as files, for authors of other programs; `tests/cases/export.py`
describes the files. `pytest tests/conformance` validates every case and compares the findings with the expected ones.
"""


def read_documents() -> list[dict[str, Any]]:
    """Return the documents with their clauses, in the order of the page."""
    return [_read(name) for name in DOCUMENTS]


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / "clauses" / f"{name}.toml").read_text("utf-8"))


def read_differences() -> list[dict[str, Any]]:
    """Return the differences between ozx and other programs: reader, reason, rule, names of cases."""
    return tomllib.loads((FOLDER / "clauses" / "differences.toml").read_text("utf-8"))["difference"]


def conformance_markdown() -> str:
    """Return ``docs/conformance.md``."""
    sections = [HEAD, *map(_about, DOCUMENTS), _rules(), _differences()]
    return "\n".join(sections) + (FOLDER / "clauses" / "never-a-traceback.md").read_text("utf-8")


def _about(name: str) -> str:
    """Return the section of a document: its revision, its clauses, and how many have rules, code or a reason."""
    document = _read(name)
    clauses = document["clause"]
    counts = {kind: sum(kind in clause for clause in clauses) for kind in ("rules", "by", "why")}
    outcome = (
        f"{counts['rules']} are checked by rules, {counts['by']} are met by code with a test, "
        f"and {counts['why']} are left out with a reason."
    )
    twice = sum(counts.values()) - len(clauses)
    if twice:
        outcome += f" The groups overlap: {twice} clauses are in two of them."
    lines = [
        f"## {document['name']}",
        f"Revision: {document['revision']}.",
        f"Of the {len(clauses)} clauses in `docs/clauses/{name}.toml`, {outcome}",
        document["about"],
    ]
    return "\n\n".join(lines) + "\n"


def _rules() -> str:
    """Return a table with the numbers of failing and of passing cases for each rule."""
    lines = [
        "## Rules and their cases",
        "",
        "The table lists the numbers of failing and of passing cases for each [rule](rules.md):",
        "",
        "```text",
        f"{'rule':<36}fail  pass",
    ]
    lines += [f"{rule:<34}{fail:>6}{succeed:>6}" for rule, (fail, succeed) in count_cases().items()]
    return "\n".join([*lines, "```"]) + "\n"


def count_cases() -> dict[str, tuple[int, int]]:
    """Return for each rule how many of its cases fail and how many pass.

    Examples
    --------
    >>> count_cases()["zip/not-a-zip"]
    (2, 1)
    """
    counts = dict.fromkeys(RULES, (0, 0))
    for case in CASES:
        fail, succeed = counts[case.rule]
        counts[case.rule] = (fail + case.breaks_its_rule, succeed + (not case.breaks_its_rule))
    for path in (FOLDER.parent / "tests" / "cases" / "hierarchy").rglob("*.json"):
        document = json.loads(path.read_text("utf-8"))
        fail, succeed = counts[document["rule"]]
        counts[document["rule"]] = (fail + len(document["fails"]), succeed + len(document["passes"]))
    return counts


def _differences() -> str:
    """Return the reasons why other programs judge cases differently from ozx, with the number of cases for each."""
    lines = [
        "## Where other programs judge otherwise",
        "",
        "A test gives every case to zarr-python and tensorstore (can they open it?) and to ome-zarr-models (is it",
        "valid?). A program should refuse a case if ozx finds an error in it, or a warning that names this program,",
        "and accept every other case. The test fails for a difference that is missing in",
        "`docs/clauses/differences.toml`, and for a listed difference that no longer exists. zarr-python reads",
        "archives through its `ZipStore`; ome-zarr-models uses `open_ome_zarr`. `differences.toml` names each",
        "case and its reason.",
    ]
    programs: dict[str, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
    for difference in read_differences():
        programs[difference["reader"]][difference["refuses"], difference["why"]] += len(difference["cases"])
    for program, reasons in programs.items():
        for refuses in dict.fromkeys(refuses for refuses, _ in reasons):
            accepts = f"**{program} accepts** cases that ozx refuses, for these reasons:"
            head = accepts if refuses == "ozx" else f"**{program} refuses** cases that ozx accepts, for these reasons:"
            found = {why: count for (each, why), count in reasons.items() if each == refuses}
            shown = [f"- {_naming(program, why)} ({count} cases)" for why, count in found.items() if count > 1]
            shown += [f"- {others} other reasons, one case each"] if (others := list(found.values()).count(1)) else []
            lines += ["", head, "", *shown]
    return "\n".join(lines) + "\n"


def _naming(program: str, why: str) -> str:
    """Return a reason with the name of the program instead of ``it`` at the start."""
    return why.replace("it ", f"{program} ", 1) if why.startswith("it ") else why


if __name__ == "__main__":
    FOLDER.joinpath("conformance.md").write_text(conformance_markdown(), encoding="utf-8", newline="\n")

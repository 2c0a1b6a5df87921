"""Write docs/conformance.md from docs/clauses/: ``python -m docs.make_conformance``.

The page explains the fields of a clause.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

DOCUMENTS = ("rfc9", "rfc9-revision", "ome-zarr-0.6", "zarr-core", "zep9", "zep10", "conventions", "v2-and-codecs")
LEVELS = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "RECOMMENDED", "MAY")
FOLDER = Path(__file__).parent
#: The page shows a reason for a difference if at least so many cases have it.
_MANY = 4

HEAD = """# Conformance

ozx follows the documents below. `docs/clauses/` lists their sentences with a key word (MUST, SHOULD, RECOMMENDED or
MAY, in capital or small letters) as *clauses*, in one TOML file for each document. Each clause is checked by
[rules](rules.md) of `ozx validate`, met by code with a test, or left out with a reason; some are in two of these
groups. `pytest tests/surface/test_conformance.py` fails for any other clause.

A clause has the key word (`level`), the demand in our words, and `rules` that check it; or `by` and `test` (the
function of ozx that fulfils it, and its test); or `why` no rule checks it; and a `decision` if it leaves a choice.

Each rule except `zip/changed` has *cases*: files that break the rule, and the most similar files that do not.
`python -m tests.cases.export DIR` writes all cases as files, for authors of other programs. `pytest tests/conformance`
validates every case, and compares the findings with the expected ones.

## Documents
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
    return f"{HEAD}\n{_documents()}\n{_differences()}"


def _documents() -> str:
    """Return a table of the documents and of their clauses with rules, code or a reason; then what the clauses are."""
    lines = ["| document | revision | clauses | rules | code | left out |", "|---|---|--:|--:|--:|--:|"]
    documents = read_documents()
    for document in documents:
        clauses = document["clause"]
        counts = (sum(kind in clause for clause in clauses) for kind in ("rules", "by", "why"))
        cells = (document["name"], document["revision"], len(clauses), *counts)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", *(f"- **{document['name']}.** {document['about']}" for document in documents)]
    return "\n".join(lines) + "\n"


def _differences() -> str:
    """Return the reasons why other programs judge cases differently from ozx, with the number of cases for each."""
    lines = [
        "## Where other programs judge otherwise",
        "",
        "A test gives every case to zarr-python (its `ZipStore`) and tensorstore (can they open it?), and to",
        "ome-zarr-models (is it valid?). A program should refuse a case if ozx finds an error in it, or a warning that",
        "names this program, and accept every other case. `docs/clauses/differences.toml` names each case of",
        "which this is not true, and its reason; the test fails if the list is not right. Reasons with many cases are:",
    ]
    programs: dict[str, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
    for difference in read_differences():
        programs[difference["reader"]][difference["refuses"], difference["why"]] += len(difference["cases"])
    for program, reasons in programs.items():
        for refuses in dict.fromkeys(refuses for refuses, _ in reasons):
            head = "accepts** cases that ozx refuses" if refuses == "ozx" else "refuses** cases that ozx accepts"
            found = {why: count for (each, why), count in reasons.items() if each == refuses}
            shown = [f"- {why} ({count} cases)" for why, count in found.items() if count >= _MANY]
            rest = sum(count for count in found.values() if count < _MANY)
            lines += ["", f"**{program} {head}:", "", *shown, f"- other reasons ({rest} cases)"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FOLDER.joinpath("conformance.md").write_text(conformance_markdown(), encoding="utf-8", newline="\n")

"""Write docs/conformance.md from the clauses in docs/clauses/: ``python docs/make_conformance.py``.

A clause is what one sentence of a document demands, in our own words, and what comes of it:

``section``, ``level``, ``demand``
    Where it stands, how binding it is (MUST, MUST NOT, SHOULD, SHOULD NOT, RECOMMENDED or MAY; key words in small
    letters count as well), and what is demanded.
``rules``
    The rules of `ozx validate` that check it; their cases are the test.
``by``, ``test``
    The module, class or function that does as is demanded, and the test, or the docstring with examples, that shows it.
``why``
    Why nothing checks or does it.
``decision``
    How ozx reads the clause, where that can be asked.
"""

from __future__ import annotations

import itertools
import tomllib
from collections import defaultdict
from operator import itemgetter
from pathlib import Path
from typing import Any

DOCUMENTS = ("rfc9", "rfc9-revision", "ome-zarr-0.6", "zarr-core", "zep9", "zep10", "conventions", "v2-and-codecs")
LEVELS = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "RECOMMENDED", "MAY")
FOLDER = Path(__file__).parent

HEAD = """# Conformance

Every sentence with a key word (MUST, SHOULD, RECOMMENDED, MAY; in small letters, too) of the documents that ozx
follows, in our words, with its outcome: a [rule](rules.md) of `ozx validate`, tested by its [cases](cases.md); code
that keeps it, and its test; or a reason why there is neither. `docs/make_conformance.py` makes this page from
`docs/clauses/`; a test fails where a clause has none of the three.
"""


def read_documents() -> list[dict[str, Any]]:
    """Return the documents with their clauses, in the order of the page."""
    return [tomllib.loads((FOLDER / "clauses" / f"{name}.toml").read_text("utf-8")) for name in DOCUMENTS]


def read_differences() -> list[dict[str, Any]]:
    """Return where other programs judge cases otherwise: reader, reason, rule, names of cases."""
    return tomllib.loads((FOLDER / "clauses" / "differences.toml").read_text("utf-8"))["difference"]


def conformance_markdown() -> str:
    """Return ``docs/conformance.md``."""
    documents = read_documents()
    lines = [
        HEAD,
        "| document | revision | clauses | by rules | by code | with a reason |",
        "|---|---|---|---|---|---|",
    ]
    for document in documents:
        clauses = document["clause"]
        counts = [len(clauses), *(sum(kind in clause for clause in clauses) for kind in ("rules", "by", "why"))]
        lines.append(f"| {document['name']} | {document['revision']} | {' | '.join(map(str, counts))} |")
    for document in documents:
        lines += ["", f"## {document['name']}", "", f"{document['revision']}. {document['about']}"]
        for section, clauses in itertools.groupby(document["clause"], key=itemgetter("section")):
            lines += ["", f"**{section}**", ""]
            lines += [f"- {clause['level']}: {clause['demand']} {_outcome(clause)}".rstrip() for clause in clauses]
    lines += ["", *_differences(), ""]
    return "\n".join(lines) + (FOLDER / "clauses" / "never-a-traceback.md").read_text("utf-8")


def _outcome(clause: dict[str, Any]) -> str:
    links = [_link(rule) for rule in clause.get("rules", ())]
    links += [f"`{clause[key]}`" for key in ("by", "test") if key in clause]
    sentences = [clause[key] for key in ("decision", "why") if key in clause]
    return " ".join([f"({', '.join(links)})"] * bool(links) + sentences)


def _link(rule: str) -> str:
    return f"[`{rule}`](rules.md#{rule.replace('/', '')})"


def _differences() -> list[str]:
    lines = [
        "## Where other programs judge otherwise",
        "",
        "A test asks zarr-python and tensorstore (can it be opened?) and ome-zarr-models (is it valid?) about every",
        "case. A program should refuse errors, and warnings that name it, and accept everything else. The test fails",
        "for a difference that is not listed here, and for one that is gone. zarr-python reads all chunks of archives",
        "by its `ZipStore`; ome-zarr-models is `open_ome_zarr`.",
    ]
    programs: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for difference in read_differences():
        versions = "".join(f" ({word} {difference[word]})" for word in ("until", "since") if word in difference)
        reason = f"Only {difference['refuses']} refuses{versions}: {difference['why']}."
        cases = ", ".join(f"“{name}”" for name in difference["cases"])
        programs[difference["reader"]][reason].append(f"{_link(difference['rule'])} {cases}")
    for program, reasons in programs.items():
        lines += ["", f"**{program}**", ""]
        for reason, cases in reasons.items():
            lines += (
                [f"- {reason} {cases[0]}"] if len(cases) == 1 else [f"- {reason}", *(f"    - {case}" for case in cases)]
            )
    return lines


if __name__ == "__main__":
    FOLDER.joinpath("conformance.md").write_text(conformance_markdown(), encoding="utf-8", newline="\n")

"""docs/benchmarks.json, which keeps every round, and the tables and plots of docs/benchmarks.md, made from it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import plots
from figures import Figure, from_json, markdown_table, to_json
from measuring import HERE
from versions import in_words

DOCS = HERE.parent / "docs"
#: The tables go between the two marks that each group has here.
DOCUMENT = "benchmarks.md"
RECORDS = "benchmarks.json"


def read_records(docs: Path = DOCS) -> dict[str, Any]:
    """Return what is known of each group."""
    path = docs / RECORDS
    return json.loads(path.read_text(encoding="utf-8"))["groups"] if path.is_file() else {}


def keep_record(group: str, record: dict[str, Any], figures: list[Figure], docs: Path = DOCS) -> None:
    """Put what was measured of a group in the place of what was known of it."""
    groups = read_records(docs)
    groups[group] = {**record, "figures": [to_json(figure) for figure in figures]}
    text = json.dumps({"schema": 1, "groups": groups}, indent=1, ensure_ascii=False)
    # One line for each list of numbers: a difference between two runs is read line by line.
    text = re.sub(r"\[[-+\d.e,\s]*\]", lambda found: re.sub(r"\s+", " ", found.group()), text)
    (docs / RECORDS).write_text(text + "\n", encoding="utf-8")


def draw(order: list[str], docs: Path = DOCS) -> None:
    """Write tables and plots anew from what is kept."""
    records = read_records(docs)
    for group in [name for name in order if name in records]:
        record = records[group]
        figures = [from_json(figure) for figure in record["figures"]]
        drawn = plots.draw(group, figures, docs / "plots")
        words = f"Measured on {in_words(record['measured'])}; {record['rounds']} rounds; took {record['took']:,.0f} s."
        picture = [f"![{group}](plots/{drawn.name})", ""] if drawn else []
        _write_section(docs, group, "\n".join([words, "", *picture, *(figure.to_markdown() for figure in figures)]))
    took = [(name, f"{records[name]['took'] / 60:.1f}") for name in order if name in records]
    took.append(("together", f"{sum(record['took'] for record in records.values()) / 60:.1f}"))
    _write_section(docs, "times", "\n".join(markdown_table(["group", "minutes"], took)) + "\n")


def _write_section(docs: Path, group: str, body: str) -> None:
    """Replace what the document says about a group; put a new group at its end."""
    path = docs / DOCUMENT
    text = path.read_text(encoding="utf-8")
    begin, end = f"<!-- bench: {group} -->", f"<!-- end: {group} -->"
    section = f"{begin}\n\n{body}\n{end}"
    if begin in text:
        text = re.sub(re.escape(begin) + ".*" + re.escape(end), lambda _: section, text, flags=re.DOTALL)
    else:
        text = f"{text.rstrip()}\n\n{section}\n"
    path.write_text(text, encoding="utf-8")

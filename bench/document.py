"""Keep all rounds in docs/benchmarks.json, and make the tables and plots of docs/benchmarks.md from this file."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import plots
from figures import Figure, from_json, markdown_table, side_by_side, to_json
from measuring import HERE
from versions import machine_in_words

DOCS = HERE.parent / "docs"
#: In this page, two marks enclose the tables of each group.
DOCUMENT = "benchmarks.md"
RECORDS = "benchmarks.json"


def read_records(docs: Path = DOCS) -> dict[str, Any]:
    """Return the kept record of each group."""
    path = docs / RECORDS
    return json.loads(path.read_text(encoding="utf-8"))["groups"] if path.is_file() else {}


def keep_record(group: str, record: dict[str, Any], figures: list[Figure], docs: Path = DOCS) -> None:
    """Replace the kept record of a group by a new record with these figures."""
    groups = read_records(docs)
    groups[group] = {**record, "figures": [to_json(figure) for figure in figures]}
    text = json.dumps({"schema": 1, "groups": groups}, indent=1, ensure_ascii=False)
    # One line for each list of numbers, so that a diff of two runs is readable.
    text = re.sub(r"\[[-+\d.e,\s]*\]", lambda found: re.sub(r"\s+", " ", found.group()), text)
    (docs / RECORDS).write_text(text + "\n", encoding="utf-8")


def draw(order: list[str], docs: Path = DOCS) -> None:
    """Write the tables and plots from the kept records."""
    records = {name: record for name, record in read_records(docs).items() if name in order}
    records = {name: records[name] for name in order if name in records}
    for group, record in records.items():
        figures = [from_json(figure) for figure in record["figures"]]
        drawn = plots.draw(group, figures, docs / "plots")
        picture = [f"![{group}](plots/{drawn.name})", ""] if drawn else []
        _write_section(docs, group, "\n".join([*picture, *to_markdown(figures)]))
    _write_section(docs, "times", _about_groups(records))


def to_markdown(figures: list[Figure]) -> list[str]:
    """Return the sections of a group; a goal or note that all of its figures share is written only once."""
    figures = side_by_side(figures)
    shared = {name: _shared([getattr(figure, name, "") for figure in figures]) for name in ("wanted", "note")}
    lines = [f"Wanted in each table of this group: {shared['wanted']}", ""] if shared["wanted"] else []
    lines += [shared["note"], ""] if shared["note"] else []
    for figure in figures:
        changes = {name: "" for name, text in shared.items() if text and getattr(figure, name, "") == text}
        lines.append(dataclasses.replace(figure, **changes).to_markdown())
    return lines


def _shared(texts: list[str]) -> str:
    """Return the text that several figures share; nothing if texts differ, or if fewer than two are not empty."""
    found = [text for text in texts if text]
    return found[0] if len(found) > 1 and len(set(found)) == 1 else ""


def _about_groups(records: dict[str, Any]) -> str:
    """Return a line with the machine and the versions that all groups share, and a table of durations and versions."""
    machines = Counter(machine_in_words(record["measured"]) for record in records.values())
    ((usual, _),) = machines.most_common(1)
    rounds = {record["rounds"] for record in records.values()}
    versions = [{"ozx": record["measured"]["ozx"], **record["measured"]["peers"]} for record in records.values()]
    common = {name: found for name, found in versions[0].items() if all(each.get(name) == found for each in versions)}
    rows = []
    for (name, record), found in zip(records.items(), versions, strict=True):
        words = [f"{peer} {number}" for peer, number in found.items() if peer not in common]
        machine = machine_in_words(record["measured"])
        words += [machine] if machine != usual else []
        words += [f"{record['rounds']} rounds"] if len(rounds) > 1 else []
        rows.append((name, f"{record['took'] / 60:.1f}", record["measured"]["commit"], ", ".join(words)))
    rows.append(("together", f"{sum(record['took'] for record in records.values()) / 60:.1f}", "", ""))
    about = [
        usual if len(machines) == 1 else f"{usual} unless the table says otherwise",
        *(f"{name} {found}" for name, found in common.items()),
    ]
    about += [f"{number} rounds unless the title says otherwise" for number in rounds if len(rounds) == 1]
    head = f"All groups: {', '.join(about)}.\n\n" if about else ""
    return head + "\n".join(markdown_table(["group", "minutes", "commit", "versions"], rows)) + "\n"


def _write_section(docs: Path, group: str, body: str) -> None:
    """Replace the section of a group in the page; append the section of a new group."""
    path = docs / DOCUMENT
    text = path.read_text(encoding="utf-8")
    begin, end = f"<!-- bench: {group} -->", f"<!-- end: {group} -->"
    section = f"{begin}\n\n{body}\n{end}"
    if begin in text:
        text = re.sub(re.escape(begin) + ".*" + re.escape(end), lambda _: section, text, flags=re.DOTALL)
    else:
        text = f"{text.rstrip()}\n\n{section}\n"
    path.write_text(text, encoding="utf-8")

"""Keep all rounds in docs/benchmarks.json, and make the plots and docs/benchmarks.md from this file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import plots
from figures import Figure, from_json, to_json
from measuring import HERE

DOCS = HERE.parent / "docs"
RECORDS = DOCS / "benchmarks.json"


def read_records() -> dict[str, Any]:
    """Return the kept record of each group."""
    return json.loads(RECORDS.read_text(encoding="utf-8"))["groups"] if RECORDS.is_file() else {}


def keep_record(group: str, record: dict[str, Any], figures: list[Figure]) -> None:
    """Replace the kept record of a group by a new record with these figures."""
    groups = read_records()
    groups[group] = {**record, "figures": [to_json(figure) for figure in figures]}
    text = json.dumps({"schema": 1, "groups": groups}, indent=1, ensure_ascii=False)
    # One line for each list of numbers, so that a diff of two runs is readable.
    text = re.sub(r"\[[-+\d.e,\s]*\]", lambda found: re.sub(r"\s+", " ", found.group()), text)
    RECORDS.write_text(text + "\n", encoding="utf-8")


def draw(order: list[str]) -> None:
    """Draw the plots of the kept records, and write the made parts of the page."""
    records = read_records()
    for group in filter(records.__contains__, order):
        plots.draw(group, [from_json(figure) for figure in records[group]["figures"]], DOCS / "plots")
    subprocess.run([sys.executable, "-m", "docs.make_results"], cwd=DOCS.parent, check=True)

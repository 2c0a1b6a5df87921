"""Measure ozx against its peers in one run: ``python bench/run.py [--quick] [--only GROUP] [--write]``.

Every figure is the median of several rounds in which the peers take turns, each in a fresh process, with a warm
cache; what was timed is verified. ``--write`` puts the tables of the groups that ran into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import containers
import importing
import resharding
import stores
import validating
import viewer
from measuring import HERE, Table

DOCUMENT = HERE.parent / "docs" / "benchmarks.md"

GROUPS: dict[str, Callable[..., Iterable[Table]]] = {
    **containers.GROUPS,
    **stores.GROUPS,
    **resharding.GROUPS,
    **viewer.GROUPS,
    **importing.GROUPS,
    **validating.GROUPS,
}


def write_section(group: str, body: str) -> None:
    """Replace what the document says about a group; put a new group at its end."""
    text = DOCUMENT.read_text(encoding="utf-8")
    begin, end = f"<!-- bench: {group} -->", f"<!-- end: {group} -->"
    section = f"{begin}\n\n{body}\n{end}"
    if begin in text:
        text = re.sub(re.escape(begin) + ".*" + re.escape(end), lambda _: section, text, flags=re.DOTALL)
    else:
        text = f"{text.rstrip()}\n\n{section}\n"
    DOCUMENT.write_text(text, encoding="utf-8")


def machine() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown CPU")
    import ozx

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE).stdout
    versions = f"Python {platform.python_version()}, ozx {ozx.__version__} at {commit.strip() or 'no commit'}"
    return f"{os.cpu_count()} cores ({cpu}), {platform.system()} {platform.release()}, {versions}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny data, one round: proves that everything runs")
    parser.add_argument("--only", choices=list(GROUPS), action="append", help="run one group only")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    parser.add_argument("--folder", help="where the data goes (several GB; a temporary folder by default)")
    options = parser.parse_args()
    rounds = 1 if options.quick else 7
    with tempfile.TemporaryDirectory(prefix="ozx-bench-") as temporary:
        folder = Path(options.folder or temporary)
        folder.mkdir(exist_ok=True)
        for name in options.only or GROUPS:
            texts = []
            for table in GROUPS[name](folder, quick=options.quick, rounds=rounds):
                texts.append(table.to_markdown())
                print(texts[-1], flush=True)
            if options.write:
                write_section(name, "\n".join([f"Measured on {machine()}; {rounds} rounds.\n", *texts]))
    print(f"measured on {machine()}; {rounds} rounds")


if __name__ == "__main__":
    main()

"""Measure ozx against its peers in one run: ``python bench/run.py [--quick] [--only GROUP] [--write]``.

Every figure is the median of several rounds in which the peers take turns, each in a fresh process, with a warm
cache; the results of the timed tasks are verified. ``--write`` keeps all rounds of the measured groups in
docs/benchmarks.json, and makes docs/plots/ and the made parts of docs/benchmarks.md from this file. ``--draw`` does so
without measuring.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import containers
import document
import exporting
import importing
import repair
import programs
import remote
import resharding
import scaling
import stores
import streaming
import training
import validating
import viewer
from measuring import Group
from versions import in_words, measured_on

GROUPS: dict[str, Group] = {
    **containers.GROUPS,
    **stores.GROUPS,
    **streaming.GROUPS,
    **training.GROUPS,
    **programs.GROUPS,
    **remote.GROUPS,
    **resharding.GROUPS,
    **viewer.GROUPS,
    **importing.GROUPS,
    **exporting.GROUPS,
    **repair.GROUPS,
    **validating.GROUPS,
    **scaling.GROUPS,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="use tiny data and one round: checks that everything runs")
    parser.add_argument("--only", choices=list(GROUPS), action="append", help="run only this group; may be repeated")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.json, the page and the plots")
    parser.add_argument("--draw", action="store_true", help="only make page and plots from docs/benchmarks.json")
    parser.add_argument("--folder", help="folder for the data, several GB (by default a temporary folder)")
    options = parser.parse_args()
    if options.draw:
        document.draw(list(GROUPS))
        return
    rounds, took = 1 if options.quick else 7, {}
    with tempfile.TemporaryDirectory(prefix="ozx-bench-") as temporary:
        folder = Path(options.folder or temporary)
        folder.mkdir(exist_ok=True)
        for name in options.only or GROUPS:
            started, figures = time.perf_counter(), []
            for figure in GROUPS[name].measure(folder, quick=options.quick, rounds=rounds):
                figures.append(figure)
                print(figure.to_markdown(), flush=True)
            took[name] = time.perf_counter() - started
            if options.write and figures:
                measured = measured_on(("numpy", *GROUPS[name].peers))
                record = {"measured": measured, "rounds": rounds, "took": round(took[name], 1)}
                document.keep_record(name, record, figures)
                document.draw(list(GROUPS))
    print(*(f"{name}: {seconds:.0f} s" for name, seconds in took.items()), sep="\n")
    print(
        f"together {sum(took.values()):.0f} s, measured on {in_words(measured_on(['numpy', 'zarr']))}; {rounds} rounds"
    )


if __name__ == "__main__":
    main()

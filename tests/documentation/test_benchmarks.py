"""The kept figures of the benchmarks can be read by the scripts that write them."""

import importlib.util
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_kept_figure_is_read_and_written_back():
    specification = importlib.util.spec_from_file_location("figures", ROOT / "bench" / "figures.py")
    figures = sys.modules["figures"] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(figures)
    groups = json.loads((ROOT / "docs" / "benchmarks.json").read_text(encoding="utf-8"))["groups"]
    kept = [figure for group in groups.values() for figure in group["figures"]]
    assert len(kept) > 20
    for figure in kept:
        assert json.loads(json.dumps(figures.to_json(figures.from_json(figure)))) == figure, figure["title"]

"""What newcomers typed, each walk a page in `walks/` that runs as it stands, with the answers that they saw."""

import shutil
from pathlib import Path

import pytest
from page_examples import run_page

WALKS = sorted(Path(__file__).with_name("walks").glob("*.md"))

pytestmark = [
    pytest.mark.ci,  # some seconds each
    pytest.mark.skipif(shutil.which("bash") is None, reason="examples are run by bash"),
]


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.stem)
def test_a_walk_meets_no_wrong_turn(walk, tmp_path, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run_page(walk, folder)

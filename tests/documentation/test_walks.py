"""What newcomers typed, each walk a page in `walks/` that runs as it stands, with the answers that they saw."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hierarchies import FIXTURES
from page_examples import run_page

WALKS = sorted(Path(__file__).with_name("walks").glob("*.md"))
PROGRAMS = sorted(Path(__file__).with_name("walks").glob("*.py"))

pytestmark = [
    pytest.mark.ci,  # some seconds each
    pytest.mark.skipif(shutil.which("bash") is None, reason="examples are run by bash"),
]


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.stem)
def test_a_walk_meets_no_wrong_turn(walk, here):
    run_page(walk, here)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_program_runs_and_mypy_strict_accepts_its_first_draft(program, tmp_path):
    types = ["-m", "mypy", "--strict", "--config-file=", "--cache-dir", tmp_path / "types", program]
    for arguments in ([program, FIXTURES / "plate.ome.zarr"], types):
        done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

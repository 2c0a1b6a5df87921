"""Every verb on every bomb: little memory, little time, no traceback."""

import json
import subprocess
import sys
from pathlib import Path

import bombs
import pytest

pytestmark = pytest.mark.posix("children are forked and measured")

# Of the processors: what else the machine does does not count.
SECONDS = 10
# About 95 MB of it are the loaded modules. The most is 380 MB: a crop with a text of 30 MB in the attributes.
PEAK = 420_000_000
CODES = {0, 1, 2, 3, 4}
# What decodes, once each.
SAMPLE = ("gzip", "zstd claims 40 GB", "tiff: plane count")
SAMPLE_VERBS = ("thumbnail", "validate (folder)", "import")


def runs_of(folder: Path, *names: str, verbs: tuple[str, ...] = ()) -> list[bombs.Run]:
    report = folder / "report"
    arguments = [str(folder), str(report), ",".join(verbs), *names]
    subprocess.run([sys.executable, bombs.__file__, *arguments], check=True, timeout=1500)
    return [bombs.Run(**json.loads(line)) for line in report.read_text().splitlines()]


def faults(runs: list[bombs.Run]) -> list[str]:
    found = []
    for run in runs:
        where = f"{run.bomb}, {run.verb}: "
        if run.code not in CODES:
            found.append(f"{where}code {run.code}: {run.said[-300:]}")
        if "Traceback" in run.said:
            found.append(f"{where}{run.said[-300:]}")
        if run.peak > PEAK + 3 * run.largest:
            found.append(f"{where}{run.peak:,} bytes")
        if run.seconds > SECONDS:
            found.append(f"{where}{run.seconds:.1f} s")
    return found


@pytest.mark.ci
def test_verbs_that_decode_refuse_bombs(tmp_path):
    runs = runs_of(tmp_path, *SAMPLE, verbs=SAMPLE_VERBS)
    assert len(runs) == (len(SAMPLE) - 1) * (len(SAMPLE_VERBS) - 1) + 1
    assert faults(runs) == []
    assert {run.code for run in runs if run.verb in ("thumbnail", "import")} == {1}


@pytest.mark.ci
@pytest.mark.parametrize("part", range(2))
def test_every_verb_on_every_bomb(tmp_path, part):
    names = [bomb.name for bomb in bombs.BOMBS] + [f"tiff: {name}" for name in bombs.TIFFS]
    assert faults(runs_of(tmp_path, *names[part::2])) == []

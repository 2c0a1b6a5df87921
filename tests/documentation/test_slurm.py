"""The Slurm array of the page runs, task by task, with the variables that Slurm sets."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hierarchies import FIXTURES

from ozx.flow.run_log import read_log

PAGE = FIXTURES.parent / "docs" / "howto" / "inodes-on-a-cluster.md"


@pytest.mark.ci
def test_each_task_packs_one_image(tmp_path):
    script = next(text for text in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL) if "#SBATCH" in text)
    (tmp_path / "job.sh").write_text(script)
    for number in range(1, 4):
        shutil.copytree(FIXTURES / "image.ome.zarr", tmp_path / "raw" / f"cells-{number}.ome.zarr")
    (tmp_path / "raw" / "cells-2.ome.zarr" / "zarr.json").write_text("{")
    for folder in ("packed", "logs"):
        (tmp_path / folder).mkdir()
    names = sorted(f"raw/{name}" for name in os.listdir(tmp_path / "raw"))
    (tmp_path / "images.txt").write_text("\n".join(names) + "\n")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    tasks = [
        subprocess.Popen(
            ["bash", "job.sh"], cwd=tmp_path, env=os.environ | {"PATH": path, "SLURM_ARRAY_TASK_ID": str(number)}
        )
        for number in range(1, 4)
    ]
    assert [task.wait() for task in tasks] == [0, 0, 0]
    assert sorted(name for name in os.listdir(tmp_path / "packed") if name.endswith(".ozx")) == [
        "cells-1.ozx",
        "cells-3.ozx",
    ]
    assert (tmp_path / "failed.txt").read_text() == "raw/cells-2.ome.zarr\n"
    lines = [line for log in sorted((tmp_path / "logs").iterdir()) for line in read_log(str(log))]
    assert [line.status for line in lines] == ["packed", "failed", "packed"]
    again = subprocess.run(
        ["bash", "job.sh"], cwd=tmp_path, env=os.environ | {"PATH": path, "SLURM_ARRAY_TASK_ID": "1"}, check=True
    )
    assert again.returncode == 0

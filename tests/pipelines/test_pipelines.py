"""The doors of `pipelines/`, each opened by the program that it is for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hierarchies import FIXTURES

import ozx

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.ci  # pre-commit builds an environment, Snakemake starts slowly

ROOT = Path(__file__).parents[2]
PIPELINES = ROOT / "pipelines"
#: The folder of the environment with snakemake and pre-commit.
PROGRAMS = os.environ.get("OZX_PIPELINES_BIN")


def program(name: str) -> str:
    found = shutil.which(name, path=PROGRAMS) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(*command: str | Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with the `ozx` under test."""
    programs = folder / ".programs"
    programs.mkdir(exist_ok=True)
    (programs / "ozx").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ozx "$@"\n', encoding="utf-8")
    (programs / "ozx").chmod(0o755)
    path = os.pathsep.join((str(programs), *([PROGRAMS] if PROGRAMS else []), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "HOME": str(folder), **variables}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )


def damage(path: Path) -> None:
    """Overwrite the root's metadata."""
    path.write_bytes(path.read_bytes().replace(b'"zarr_format": 3', b'"zarr_format": 7'))


@pytest.mark.parametrize("file", sorted(PIPELINES.rglob("*.*")), ids=lambda file: file.name)
def test_each_file_is_short(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 60


def test_the_action_fails_for_a_file_that_is_not_valid(tmp_path):
    action = yaml.safe_load((PIPELINES / "validate" / "action.yml").read_text(encoding="utf-8"))
    script = action["runs"]["steps"][-1]["run"]
    for name in ("one", "two words"):
        ozx.pack(FIXTURES / "image.ome.zarr", tmp_path / f"{name}.ozx")
    files = {"FILES": "*.ozx", "OPTIONS": "--level archive --strict"}
    done = run("bash", "-eo", "pipefail", "-c", script, folder=tmp_path, **files)
    assert done.returncode == 0, done.stderr
    assert "two words.ozx" in done.stdout
    damage(tmp_path / "one.ozx")
    assert run("bash", "-eo", "pipefail", "-c", script, folder=tmp_path, **files).returncode == 1
    no_file = {"FILES": "*.zip", "OPTIONS": ""}
    assert run("bash", "-eo", "pipefail", "-c", script, folder=tmp_path, **no_file).returncode != 0
    harmful = {"FILES": "$(touch\tmade) ; touch made", "OPTIONS": "$(touch made)"}
    assert run("bash", "-eo", "pipefail", "-c", script, folder=tmp_path, **harmful).returncode != 0
    assert not (tmp_path / "made").exists()


def test_the_hook_refuses_a_commit_of_a_file_that_is_not_valid(tmp_path):
    pre_commit = program("pre-commit")
    hooks = tmp_path / "hooks"
    run("git", "clone", "-q", ROOT, hooks, folder=tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    run("git", "init", "-q", work, folder=tmp_path)
    ozx.pack(FIXTURES / "image.ome.zarr", work / "cells.ozx")
    (work / "notes.txt").write_text("no image", encoding="utf-8")
    run("git", "add", ".", folder=work)
    command = (pre_commit, "try-repo", hooks, "ozx-validate", "--all-files", "--verbose")
    done = run(*command, folder=work)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout
    damage(work / "cells.ozx")
    done = run(*command, folder=work)
    assert done.returncode == 1
    assert "cells.ozx" in done.stdout


def test_the_environment_of_the_wrapper_has_keys_of_conda_and_names_of_this_package():
    environment = yaml.safe_load((PIPELINES / "snakemake" / "environment.yaml").read_text(encoding="utf-8"))
    assert environment.keys() == {"channels", "dependencies"}
    *packages, by_pip = environment["dependencies"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert packages == [f"python {project['requires-python']}", "pip"]  # conda warns if pip is not named itself
    assert by_pip == {"pip": [f"{project['name']}[all]"]}
    assert "all" in project["optional-dependencies"]


def test_snakemake_packs_and_validates_by_the_wrapper(tmp_path):
    snakemake = program("snakemake")
    shutil.copytree(FIXTURES / "image.ome.zarr", tmp_path / "cells.ome.zarr")
    (tmp_path / "Snakefile").write_text(
        f"""
rule all:
    input: "cells.json"

rule validate:
    input: "{{name}}.ozx"
    output: "{{name}}.json"
    params: verb="validate", extra="--level data"
    wrapper: "{PIPELINES.as_uri()}/snakemake"

rule pack:
    input: "{{name}}.ome.zarr"
    output: "{{name}}.ozx"
    log: "{{name}}.log"
    params: verb="pack"
    wrapper: "{PIPELINES.as_uri()}/snakemake"
""",
        encoding="utf-8",
    )
    done = run(snakemake, "--cores", "1", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ozx.is_ozx(tmp_path / "cells.ozx")
    assert '"valid": true' in (tmp_path / "cells.json").read_text(encoding="utf-8")
    assert "entries" in (tmp_path / "cells.log").read_text(encoding="utf-8")

"""Run commands of a user, in this process or by the shell, and get the schemas of their ``--json`` answers."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from hierarchies import FIXTURES

from ozx.cli.app import run


def command(*name: str) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `ozx NAME ARGUMENT …` and returns its exit code, its output and its messages."""

    def call(capsys: Any, *arguments: object) -> tuple[int, str, str]:
        code = run([*name, *map(str, arguments)])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return call


def schema_of(name: str) -> Any:
    return json.loads((FIXTURES.parent / "src" / "ozx" / "schemas" / f"{name}.json").read_bytes())


def run_shell(folder: Any, command: str, *programs: str) -> None:
    """Run a command of the shell, as for a user without options in variables; skip the test if a program is missing."""
    absent = [program for program in ("sh", *programs) if shutil.which(program) is None]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "JAVA_HOME") if name in os.environ}
    words, environment = ["sh", "-c", command], kept | {"LC_ALL": "C.UTF-8"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, (done.stdout + done.stderr).decode("utf-8", "replace")

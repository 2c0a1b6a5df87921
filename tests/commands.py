"""Run commands in this process, with the arguments of a user; get the schemas of their ``--json`` answers."""

import json
from collections.abc import Callable
from typing import Any

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

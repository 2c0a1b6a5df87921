"""The program in client.py, of which mypy knows every type, runs as well."""

import runpy
from pathlib import Path

import ozx


def test_it_runs(image, tmp_path):
    runpy.run_path(str(Path(__file__).with_name("client.py")))["use"](image, tmp_path)


def test_every_public_function_is_used_there():
    text = Path(__file__).with_name("client.py").read_text(encoding="utf-8")
    functions = {name for name in ozx.__all__ if name[0].islower()}
    assert {name for name in functions if f"ozx.{name}(" not in text} == set()

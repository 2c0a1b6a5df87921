"""Functions of src/ stay short, or say beside themselves why not: ``# long: REASON``."""

import ast
import re
from pathlib import Path

import pytest

import ozx

ROOT = Path(ozx.__file__).parent
MODULES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}

MOST_LINES_OF_CODE = 60


def count_code(function):
    """Return the lines from a function's first statement to its end, its docstring and signature left out."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def long_functions(text):
    lines = text.splitlines()
    return [
        (node.name, count_code(node))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and count_code(node) > MOST_LINES_OF_CODE
        and not any(re.search(r"# long: \S", line) for line in lines[node.lineno - 1 : node.body[0].lineno - 1])
    ]


def test_functions_are_short():
    assert {name: long for name, text in MODULES.items() if (long := long_functions(text))} == {}


@pytest.mark.parametrize("reason", ["", "  # long: a table"])
def test_what_is_longer_needs_a_reason(reason):
    expected = [] if reason else [("one", 61)]
    assert (
        long_functions(f'def one(\n    a,\n):{reason}\n    """Say.\n\n    More.\n    """\n' + "    a\n" * 61)
        == expected
    )
    assert long_functions('def one(a):\n    """Say.\n\n    More.\n    """\n' + "    a\n" * 60) == []

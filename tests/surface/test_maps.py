"""The docstring of a package is the map of its modules: it names each of them once, and none that is gone."""

import ast
import re
from pathlib import Path

import pytest

import ozx

ROOT = Path(ozx.__file__).parent
#: One verb, one file, in both; no list says more than the folder does.
NEEDS_NO_MAP = {"operations", "cli", "desktop/icons"}
PACKAGES = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.rglob("*/__init__.py")} - NEEDS_NO_MAP


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_a_map_names_every_module_once(package):
    folder = ROOT / package
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    lines = [line for line in text.splitlines() if line.startswith("``")]
    named = [name for line in lines for name in re.findall(r"``(\w+/?)``", line)]
    packages = {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}
    assert sorted(named) == sorted(({path.stem for path in folder.glob("*.py")} - {"__init__"}) | packages)

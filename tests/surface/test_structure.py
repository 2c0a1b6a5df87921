"""Imports make no circle, neither among modules nor among folders."""

import ast
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ozx

ROOT = Path(ozx.__file__).parent
FOLDERS = sorted({path.parent for path in ROOT.rglob("*.py")})


def module_names():
    names = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


MODULES = module_names()


def imports(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ozx":
            parent = node.module.removeprefix("ozx").removeprefix(".")
            for alias in node.names:
                inner = f"{parent}.{alias.name}".removeprefix(".")
                yield inner if inner in MODULES else parent
        elif isinstance(node, ast.Import):
            yield from (name for alias in node.names if (name := alias.name.removeprefix("ozx.")) in MODULES)


IMPORTS = {name: {other for other in imports(path) if other not in ("", name)} for name, path in MODULES.items()}


def circle(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_modules_import_in_no_circle():
    assert circle({name: others for name, others in IMPORTS.items() if name not in ("", "__main__")}) is None


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_rooms_of_a_folder_import_in_no_circle(folder):
    prefix = ".".join(folder.relative_to(ROOT).parts)
    start = f"{prefix}." if prefix else ""
    graph = defaultdict(set)
    for name, others in IMPORTS.items():
        if not name.startswith(start) or name in ("", "__main__"):
            continue
        room = name.removeprefix(start).split(".")[0]
        inside = {other.removeprefix(start).split(".")[0] for other in others if other.startswith(start)}
        graph[room] |= inside - {room}
    assert circle(graph) is None

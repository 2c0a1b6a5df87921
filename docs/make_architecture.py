"""Write the made part of docs/explanation/architecture.md, and its picture: ``python -m docs.make_architecture``.

The folders and modules come from the source tree, their jobs from docstrings, and the layers from the import contract.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from docs.made_parts import DOCS, Card, with_parts, write_files

ROOT = DOCS.parent
SOURCE = ROOT / "src" / "ozx"

# The job of each folder and module in a few words; the picture has no room for docstrings.
_JOBS = {
    "cli": "commands; the only place that prints",
    "integrations": "plugins for other programs",
    "desktop": "double-click, viewer, ozx serve",
    "operations": "one verb, one result",
    "validation": "rules, findings, reports",
    "images": "pixels: TIFF, pyramids, pictures",
    "store": "a zarr Store",
    "flow": "entries from a source to a sink",
    "archive": "the ZIP file as bytes",
    "hierarchy": "Zarr and OME documents",
    "atomic": "complete files only",
    "progress": "progress reports",
    "extensions": "added handlers",
    "extras": "optional packages",
    "faults": "reports of bugs of ozx",
    "errors": "error classes",
    "missing_files": "hints for wrong paths",
    "processors": "how many there are to use",
    "quoting": "words of command lines in hints",
}
#: Width of a drawing, in characters.
_WIDTH = 100
_COLORS = ("#dbe9f6", "#e3f1df", "#fdf0d5", "#f3e3f1")


def made_files() -> dict[str, str]:
    """Return the files that this script writes: texts by their paths below ``docs/``."""
    return {
        "explanation/architecture.md": with_parts("explanation/architecture.md", {"rooms": rooms_markdown()}),
        "pictures/layers.svg": layers_svg(),
    }


def layers() -> list[list[str]]:
    """Return the layers of the import contract, the highest first; folders of one layer do not import each other.

    Examples
    --------
    >>> layers()[0], layers()[-1]
    (['cli', 'integrations'], ['quoting'])
    """
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract.get("containers") == ["ozx"])
    return [layer.split(" | ") for layer in contract["layers"]]


def rooms_markdown() -> str:
    """Return a drawing of each top-level folder, the highest layer first: its folders, their jobs and modules."""
    rooms = [room for layer in layers() for room in layer if (SOURCE / room).is_dir()]
    found = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    if found != set(rooms):
        message = f"these folders are in no layer: {', '.join(sorted(found - set(rooms)))}"
        raise LookupError(message)
    lines = []
    for room in rooms:
        lines += ["", f"### {room}", "", _job(SOURCE / room), "", "```text", *_drawing(SOURCE / room), "```"]
    modules = [f"| `{path.stem}` | {_job(path)} |" for path in _modules(SOURCE)]
    lines += ["", "### Modules outside of these folders", "", "| module | |", "|---|---|", *modules]
    return "\n".join(lines)


def _drawing(folder: Path, indent: str = "") -> Iterator[str]:
    """Yield the lines of a folder: its name, its modules, then each sub-folder with its job and its imports."""
    if not indent:
        yield f"{folder.name}/"
    below = sorted(path.parent for path in folder.glob("*/__init__.py"))
    names = "  ".join(path.stem for path in _modules(folder))
    yield from wrap(
        names,
        _WIDTH,
        initial_indent=f"{indent}{'│' if below else ' '}   ",
        subsequent_indent=f"{indent}{'│' if below else ' '}   ",
    )
    for number, path in enumerate(below, 1):
        is_last = number == len(below)
        start = f"{indent}{'└' if is_last else '├'}── {path.name}/"
        rest = f"{indent}{' ' if is_last else '│'}   "
        yield from wrap(f"{start}  {_job(path)}", _WIDTH, subsequent_indent=f"{rest}    ")
        used = sorted(_imported(path, folder) & {other.name for other in below} - {path.name})
        if used:
            yield from wrap(
                f"uses {', '.join(used)}", _WIDTH, initial_indent=f"{rest}    ", subsequent_indent=f"{rest}    "
            )
        yield from _drawing(path, rest)


def _imported(folder: Path, parent: Path) -> set[str]:
    """Return the folders of `parent` that the modules of `folder` import."""
    start = "ozx." + ".".join(parent.relative_to(SOURCE).parts) + "."
    names = [
        node.module or ""
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
    ]
    return {name.removeprefix(start).split(".")[0] for name in names if name.startswith(start)}


def _modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.py") if path.stem != "__init__")


def _job(path: Path) -> str:
    source = path / "__init__.py" if path.is_dir() else path
    docstring = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
    job = " ".join(docstring.split("\n\n")[0].split())
    return job.replace("``", "`").replace("|", "\\|")


def layers_svg() -> str:
    """Return the picture of the layers: imports run downwards only."""
    width, height, gap = 620, 44, 8
    found = layers()
    card = Card(width + 120, (height + gap) * len(found) + 50, "The layers of ozx; imports run downwards only")
    for row, layer in enumerate(found):
        top = 24 + row * (height + gap)
        each = (width - gap * (len(layer) - 1)) / len(layer)
        for column, room in enumerate(layer):
            left = 24 + column * (each + gap)
            card.box(left, top, each, height, _COLORS[row % len(_COLORS)])
            card.text(left + each / 2, top + 18, room, anchor="middle", code=True)
            card.text(left + each / 2, top + 35, _JOBS[room], anchor="middle", size=12)
    card.arrow(width + 50, 30, width + 50, 24 + (height + gap) * len(found) - gap)
    card.text(width + 58, 44, "may", size=12)
    card.text(width + 58, 58, "import", size=12)
    return card.svg()


if __name__ == "__main__":
    write_files(made_files())

"""Write the made parts of docs/explanation/architecture.md: ``python -m docs.make_architecture``.

The rooms and what each module is for come from the modules' own docstrings, the layers from the import contract.
"""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from pathlib import Path

from docs.made_parts import DOCS, Card, with_parts, write_files

ROOT = DOCS.parent
SOURCE = ROOT / "src" / "ozx"

# What a layer is for, in few words; the picture has no room for docstrings.
_JOBS = {
    "cli": "commands; the only place that prints",
    "integrations": "fsspec, xarray, napari",
    "desktop": "double-click, viewer, ozx serve",
    "operations": "one verb, one result",
    "validation": "rules, findings, reports",
    "images": "pixels: TIFF, pyramids, pictures",
    "store": "a zarr Store",
    "flow": "entries from a source to a sink",
    "archive": "the ZIP file as bytes",
    "hierarchy": "Zarr and OME documents",
    "atomic": "whole or not at all",
    "progress": "how far it is",
    "extensions": "handlers of others",
    "faults": "reports of bugs of ozx",
    "errors": "what callers catch",
}
_COLORS = ("#dbe9f6", "#e3f1df", "#fdf0d5", "#f3e3f1")


def made_files() -> dict[str, str]:
    """Return what this script writes: texts by their paths below ``docs/``."""
    return {
        "explanation/architecture.md": with_parts("explanation/architecture.md", {"rooms": rooms_markdown()}),
        "pictures/layers.svg": layers_svg(),
    }


def layers() -> list[list[str]]:
    """Return the layers of the import contract, the highest first; those of one layer do not import each other.

    Examples
    --------
    >>> layers()[0], layers()[-1]
    (['cli', 'integrations'], ['errors'])
    """
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract["type"] == "layers")
    return [layer.split(" | ") for layer in contract["layers"]]


def rooms_markdown() -> str:
    """Return every module with its job, room by room, from the highest layer downwards."""
    modules = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        modules[parts[0] if len(parts) > 1 else ""].append(path)
    rooms = [room for layer in layers() for room in layer if (SOURCE / room).is_dir()]
    lines = []
    for room in rooms:
        lines += [
            "",
            f"### {room}",
            "",
            _job(SOURCE / room / "__init__.py"),
            "",
            *_table(modules.pop(room), SOURCE / room),
        ]
    lines += ["", "### Outside of the rooms", "", *_table(modules.pop(""), SOURCE)]
    if modules:
        message = f"these folders are in no layer: {', '.join(modules)}"
        raise LookupError(message)
    return "\n".join(lines)


def _table(paths: list[Path], folder: Path) -> list[str]:
    rows = [f"| `{_name(path, folder)}` | {_job(path)} |" for path in paths if path != folder / "__init__.py"]
    return ["| module | its job |", "|---|---|", *rows]


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix().removesuffix(".py").removesuffix("/__init__")


def _job(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split()).replace("``", "`").replace("|", "\\|")


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

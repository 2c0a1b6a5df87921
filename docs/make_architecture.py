"""Draw the layers of the architecture from the import contract: ``python -m docs.make_architecture``."""

from __future__ import annotations

import tomllib

from docs.made_parts import DOCS, Card, write_files

ROOT = DOCS.parent

# The job of each folder and module in a few words; the picture has no room for docstrings.
_JOBS = {
    "cli": "commands and messages",
    "integrations": "plugins for other programs",
    "torch": "crops for training",
    "desktop": "double-click, viewer, ozx serve",
    "operations": "one verb, one result",
    "validation": "rules, findings, reports",
    "images": "pixels, pyramids, pictures",
    "readers": "files of other formats as images",
    "store": "a zarr Store",
    "flow": "entries from a source to a sink",
    "codecs": "chunks to pixels and back",
    "archive": "the ZIP file as bytes",
    "cloud": "writing to object stores",
    "exporting": "OME-TIFF",
    "streaming": "frames of a camera",
    "ome": "OME-Zarr documents",
    "zarr": "Zarr documents",
    "places": "paths and URLs as bytes",
    "crc32": "checksums",
    "atomic": "complete files only",
    "progress": "progress reports",
    "extensions": "added handlers",
    "extras": "other packages",
    "faults": "bugs of ozx",
    "calls": "arguments, old names",
    "file_changes": "has a file changed?",
    "threads": "how many, in order",
    "errors": "error classes",
    "missing_files": "hints for wrong paths",
    "quoting": "words of command lines in hints",
}
_COLORS = ("#dbe9f6", "#e3f1df", "#fdf0d5", "#f3e3f1")


def made_files() -> dict[str, str]:
    """Return the files that this script writes: texts by their paths below ``docs/``."""
    return {"pictures/layers.svg": layers_svg()}


def layers() -> list[list[str]]:
    """Return the layers of the import contract, the highest first; folders of one layer do not import each other.

    Examples
    --------
    >>> layers()[0], layers()[-1]
    (['cli', 'integrations', 'torch'], ['quoting'])
    """
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract.get("containers") == ["ozx"])
    return [layer.split(" | ") for layer in contract["layers"]]


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

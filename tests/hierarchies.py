"""Hierarchies for tests: paths of the fixtures, trees of files as dictionaries, and a minimal image."""

import hashlib
import json
from pathlib import Path

from cases.archive_builder import array_document, write_tree

FIXTURES = Path(__file__).parent.parent / "fixtures"
HIERARCHIES = ("image", "plate", "series", "sharded")

State = dict[str, bytes] | bytes | None


def tree(root) -> dict[str, bytes]:
    root = Path(root)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def state(path: Path) -> State:
    """Return the contents of a file or folder, or None if it does not exist."""
    if path.is_dir():
        return tree(path)
    return path.read_bytes() if path.exists() else None


def digests(values: dict[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each value: pytest would take hours to show how large values differ."""
    return {key: hashlib.sha256(data).hexdigest() for key, data in values.items()}


def group(**ome) -> bytes:
    """Return the ``zarr.json`` of a group, with exactly these OME attributes."""
    return json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"ome": ome} if ome else {}}).encode()


def multiscales(axes: str, *levels: str, unit: str | None = None, halved: str = "", **others) -> list[dict]:
    """Return the ``multiscales`` of an image whose levels are at these paths, each half as long along some axes."""
    kinds, units = {"t": "time", "c": "channel"}, {"unit": unit} if unit else {}
    named = [{"name": axis, "type": kinds.get(axis, "space")} | (units if axis in "zyx" else {}) for axis in axes]
    scales = [[2.0**level if axis in halved else 1.0 for axis in axes] for level in range(len(levels))]
    datasets = [
        {"path": path, "coordinateTransformations": [{"type": "scale", "scale": scale}]}
        for path, scale in zip(levels, scales, strict=True)
    ]
    return [{"axes": named, "datasets": datasets} | others]


def make_image(root, chunks=None, *, version="0.5") -> Path:
    """Make a minimal OME-Zarr 0.5 image at `root`, without a library; `chunks` maps keys to bytes."""
    root = Path(root)
    array = array_document([64, 64], [32, 32], dimension_names=["y", "x"])
    values = {"zarr.json": group(version=version, multiscales=multiscales("yx", "0", name=root.name))}
    values |= {"0/zarr.json": json.dumps(array).encode()}
    values |= {"0/c/0/0": bytes(range(256)) * 4} if chunks is None else chunks
    return write_tree(root, values)

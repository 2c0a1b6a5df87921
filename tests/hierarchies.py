"""Hierarchies for tests: paths of the fixtures, trees of files as dictionaries, and a minimal image."""

import hashlib
import json
from pathlib import Path

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


def make_image(root, chunks=None, *, version="0.5") -> Path:
    """Make a minimal OME-Zarr 0.5 image at `root`, without a library; `chunks` maps keys to bytes."""
    root = Path(root)
    axes = [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    scale = [{"type": "scale", "scale": [1.0, 1.0]}]
    multiscales = [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}], "name": root.name}]
    group = {
        "zarr_format": 3,
        "node_type": "group",
        "attributes": {"ome": {"version": version, "multiscales": multiscales}},
    }
    array = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [64, 64],
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [32, 32]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes"}],
        "attributes": {},
        "dimension_names": ["y", "x"],
    }
    values = {"zarr.json": json.dumps(group).encode(), "0/zarr.json": json.dumps(array).encode()}
    values |= {"0/c/0/0": bytes(range(256)) * 4} if chunks is None else chunks
    for key, data in values.items():
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root

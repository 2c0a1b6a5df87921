"""A scene of OME-Zarr 0.6: two images in one coordinate system; the first image also has its own coordinate system."""

import json
from pathlib import Path

import numpy as np

import ozx

PIXELS = np.arange(64 * 48, dtype="uint16").reshape(64, 48)
_AXES = [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]


def _step(kind, start, stop, parameters):
    return {"type": kind, kind: parameters, "input": start, "output": stop}


def make_scene(folder, kind="rotation", parameters=((0, -1), (1, 0))) -> Path:
    """Make ``scene.ozx`` in a folder; `kind` and `parameters` are those of the first image's own transformation."""
    root = Path(folder) / "scene.zarr"
    root.mkdir(exist_ok=True)
    world = {"name": "world"}
    for name in "ab":
        file, options = (
            Path(folder) / f"{name}.ozx",
            {"pixel_size": (0.5, 0.5), "unit": "micrometer", "ome_version": "0.6"},
        )
        ozx.write_image(file, PIXELS, axes="yx", name=f"Image {name}", sync=False, **options)
        ozx.unpack(file, root / name, sync=False)
    steps = [
        _step("translation", {"path": "a", "name": "physical"}, world, [10, 200]),
        _step("affine", {"path": "b", "name": "physical"}, world, [[0, -1, 5], [1, 0, 6]]),
    ]
    scene = {"coordinateSystems": [{**world, "axes": _AXES}], "coordinateTransformations": steps}
    document = {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.6", "scene": scene}}}
    (root / "zarr.json").write_text(json.dumps(document))
    path = root / "a" / "zarr.json"
    document = json.loads(path.read_bytes())
    image = document["attributes"]["ome"]["multiscales"][0]
    image["coordinateSystems"].append({"name": "stage", "axes": _AXES})
    image["coordinateTransformations"] = [_step(kind, {"name": "physical"}, {"name": "stage"}, parameters)]
    path.write_text(json.dumps(document))
    ozx.pack(root, Path(folder) / "scene.ozx", sync=False)
    return Path(folder) / "scene.ozx"

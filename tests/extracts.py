"""Images for extraction, and a check that a part has the same pixels as its source, at the same positions."""

import json
import os
from pathlib import Path

import numpy as np
import tensorstore
import zarr
from ome_zarr_models import open_ome_zarr
from zarr.storage import ZipStore

import ozx

SCALES = {"t": 30.0, "c": 1.0, "z": 1.5, "y": 0.325, "x": 0.325}
TYPES = {"t": "time", "c": "channel"}


def write_image(
    root,
    shape,
    chunks,
    *,
    axes=None,
    levels=3,
    factor=2,
    centred=True,
    round_up=False,
    shards=None,
    scales=SCALES,
    shift=0.0,
    common=None,
    omero=None,
    label=False,
    seed=1,
):
    """Write an image whose coarser levels have every n-th pixel of the first in y and x; return its group."""
    axes = "tczyx"[-len(shape) :] if axes is None else axes
    group = zarr.open_group(str(root), mode="a", zarr_format=3)
    pixels = np.random.default_rng(seed).integers(1, 250, shape).astype("u1")
    datasets = []
    for level in range(levels):
        step = factor**level
        data = pixels[tuple(slice(None, None, step if axis in "yx" else 1) for axis in axes)]
        if not round_up:
            data = data[
                tuple(slice(max(1, n // step) if axis in "yx" else n) for axis, n in zip(axes, shape, strict=True))
            ]
        own = tuple(min(a, b) for a, b in zip(chunks, data.shape, strict=True)) if shards is None else chunks
        group.create_array(
            str(level), shape=data.shape, dtype=data.dtype, chunks=own, shards=shards, dimension_names=list(axes)
        )[...] = data
        scale = [scales[axis] * (step if axis in "yx" else 1) for axis in axes]
        steps = [{"type": "scale", "scale": scale}]
        if centred or shift:
            moved = [shift + (scales[axis] * (step - 1) / 2 if axis in "yx" and centred else 0.0) for axis in axes]
            steps.append({"type": "translation", "translation": moved})
        datasets.append({"path": str(level), "coordinateTransformations": steps})
    multiscale = {
        "name": "made",
        "axes": [{"name": axis, "type": TYPES.get(axis, "space")} for axis in axes],
        "datasets": datasets,
    }
    if common is not None:
        multiscale["coordinateTransformations"] = common
    ome = {"version": "0.5", "multiscales": [multiscale]}
    if omero is not None:
        ome["omero"] = omero
    if label:
        ome["image-label"] = {"source": {"image": "../../"}}
    group.attrs["ome"] = ome
    return group


def write_labels(root, names):
    zarr.open_group(f"{root}/labels", mode="a", zarr_format=3).attrs["ome"] = {"version": "0.5", "labels": list(names)}


def document(path, node=""):
    key = f"{node}/zarr.json".removeprefix("/")
    if os.path.isdir(path):
        return json.loads(Path(path, key).read_bytes())
    return json.loads(b"".join(ozx.read_value(path, key)))


def ome(path, node=""):
    return document(path, node)["attributes"]["ome"]


def level_steps(path, node, level):
    """Return the axes of a level, and its transformations and the common ones in one list."""
    (multiscale,) = ome(path, node)["multiscales"]
    (dataset,) = [dataset for dataset in multiscale["datasets"] if dataset["path"] == level]
    steps = [*dataset["coordinateTransformations"], *multiscale.get("coordinateTransformations", [])]
    return [axis["name"] for axis in multiscale["axes"]], steps


def place(steps, index):
    position = np.array(index, float)
    for step in steps:
        position = position * step["scale"] if step["type"] == "scale" else position + step["translation"]
    return position


def read(path, key):
    """Return the pixels of an array of an archive, as zarr-python and tensorstore read them."""
    with ZipStore(path, mode="r") as store:
        pixels = np.asarray(zarr.open_array(store, path=key, mode="r")[...])
    base = {"driver": "zip", "base": {"driver": "file", "path": os.fspath(path)}, "path": f"{key}/"}
    other = tensorstore.open({"driver": "zarr3", "kvstore": base}, read=True).result().read().result()
    np.testing.assert_array_equal(pixels, np.asarray(other))
    return pixels


def check_part(source, out, *, node="", images=None, models=True):
    """Check that a part is valid, and that each of its pixels has the value and the place of a source pixel.

    Returns, by image and level, the index in the source's array at which the level begins, and its shape.
    """
    faults = {finding.id for finding in ozx.validate(source).findings}
    # Faults of the source stay, levels that are cropped separately show different regions, sharding is for ozx repack,
    # and a list of labels may become empty.
    allowed = faults | {"ome/level-shape", "ome/schema", "rfc9/sharding"}
    assert {finding.id for finding in ozx.validate(out).findings} <= allowed
    assert not {rule for rule in faults if rule.startswith(("zip/", "rfc9/", "zarr/"))} - {"rfc9/sharding"}
    origins = {}
    for image in images or [image.path for image in (*ozx.inspect(out).images, *ozx.inspect(out).labels)]:
        with ZipStore(out, mode="r") as store:
            group = zarr.open_group(store, path=image, mode="r")
            if models:
                open_ome_zarr(group)
        (multiscale,) = ome(out, image)["multiscales"]
        above = f"{node}/{image}".strip("/")
        for dataset in multiscale["datasets"]:
            level = dataset["path"]
            (axes, old), (_, new) = level_steps(source, above, level), level_steps(out, image, level)
            whole = np.asarray(zarr.open_array(str(Path(source, above, level)), mode="r")[...])
            pixels = read(out, f"{image}/{level}".removeprefix("/"))
            # The start follows from the positions alone; the pixels from there on must be equal.
            zero, one = place(old, [0] * len(axes)), place(old, [1] * len(axes))
            start = (place(new, [0] * len(axes)) - zero) / (one - zero)
            first = tuple(np.round(start).astype(int).tolist())
            np.testing.assert_allclose(start, first, atol=1e-6)
            for corner in ([0] * len(axes), [n - 1 for n in pixels.shape], [n // 2 for n in pixels.shape]):
                there = [at + begin for at, begin in zip(corner, first, strict=True)]
                np.testing.assert_allclose(place(new, corner), place(old, there), rtol=1e-12, atol=1e-12)
            inside = whole[tuple(slice(at, at + n) for at, n in zip(first, pixels.shape, strict=True))]
            assert inside.dtype == pixels.dtype
            np.testing.assert_array_equal(pixels, inside)
            origins[image, level] = first, pixels.shape
    return origins

"""Read hierarchies of Zarr v2 by zarr-python 2, ome-zarr-py of its time and zarrita, for ``test_view_in_04.py``.

Each line of input is {"url": …, "arrays": [path, …], "images": [location, …]}. The answer is a line of JSON: for each
of these programs the digests of what it reads, and for ome-zarr-py also axes and transformations, or {"error": …}.
"""

import hashlib
import json
import sys

import numpy as np
import zarr
import zarrita
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader


def digest(pixels):
    pixels = np.asarray(pixels)
    little = pixels.astype(pixels.dtype.newbyteorder("<"))
    return [list(little.shape), little.dtype.str, hashlib.sha256(little.tobytes()).hexdigest()]


def read_by_zarrita(url, path):
    array = zarrita.ArrayV2.open(zarrita.RemoteStore(f"{url}/{path}"))
    return array[tuple(slice(0, length) for length in array.shape)]


def read_by_ome_zarr(location):
    found = [node for node in Reader(parse_url(location))() if node.data]
    image, *labels = found
    return {
        "levels": [digest(level) for level in image.data],
        "labels": [[digest(level) for level in label.data] for label in labels],
        "axes": [axis["name"] for axis in image.metadata["axes"]],
        "transformations": image.metadata["coordinateTransformations"],
        "names": image.metadata.get("channel_names") or [],
    }


def answer(asked):
    url, arrays = asked["url"], asked["arrays"]
    group = zarr.open_group(zarr.storage.FSStore(url, mode="r"), mode="r")
    return {
        "zarr": {path: digest(group[path][...]) for path in arrays},
        "zarrita": {path: digest(read_by_zarrita(url, path)) for path in arrays},
        "ome_zarr": {location: read_by_ome_zarr(location) for location in asked["images"]},
    }


answers = sys.stdout
sys.stdout = sys.stderr  # only answers go to the output
for line in sys.stdin:
    try:
        found = answer(json.loads(line))
    except Exception as error:  # noqa: BLE001 - whatever it is, it goes to the one who asked
        found = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(found), file=answers, flush=True)

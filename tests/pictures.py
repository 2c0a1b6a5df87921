"""Small OME-Zarr images for tests of pictures, in memory; the colour of a pixel shows from which values it comes."""

from io import BytesIO
from pathlib import Path

import numpy as np
import zarr
from PIL import Image
from zarr.storage import MemoryStore, WrapperStore

TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}


class CountingStore(WrapperStore):
    """A store that records the keys of all requested values."""

    def __init__(self, store):
        super().__init__(store)
        self.keys = []

    async def get(self, key, prototype, byte_range=None):
        self.keys.append(key)
        return await self._store.get(key, prototype, byte_range)

    @property
    def chunks(self):
        return [key for key in self.keys if not key.endswith("zarr.json")]


def new_group(ome=None, store=None):
    attributes = {} if ome is None else {"ome": {"version": "0.5", **ome}}
    return zarr.create_group(MemoryStore() if store is None else store, attributes=attributes)


def add_image(group, levels, axes, *, scales=None, units=None, chunks=None, shards=None, **ome):
    """Make an image of `group`: levels, full resolution first, and further metadata."""
    described = [
        {"name": name}
        | ({"type": TYPES[name]} if name in TYPES else {})
        | ({"unit": units[name]} if name in (units or ()) else {})
        for name in axes
    ]
    datasets = [
        {
            "path": str(number),
            "coordinateTransformations": [{"type": "scale", "scale": list(map(float, scales[number]))}],
        }
        if scales
        else {"path": str(number)}
        for number in range(len(levels))
    ]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": described, "datasets": datasets}], **ome}
    for number, level in enumerate(levels):
        group.create_array(str(number), data=np.ascontiguousarray(level), chunks=chunks or "auto", shards=shards)
    return group


def new_plate(wells, rows="A", columns="12", root=None):
    """Make a plate; each well, by its path, lists a number of fields, which are still to be made."""
    root = new_group() if root is None else root
    named = {"rows": [{"name": name} for name in rows], "columns": [{"name": name} for name in columns]}
    root.attrs["ome"] = {"version": "0.5", "plate": {**named, "wells": [{"path": path} for path in wells]}}
    for path, count in wells.items():
        listed = [{"path": str(number)} for number in range(count)]
        root.require_group(path.partition("/")[0])
        root.create_group(path, attributes={"ome": {"version": "0.5", "well": {"images": listed}}})
    return root


def counted(group):
    """Return the same group on a store that records requests, and this store."""
    store = CountingStore(group.store)
    return zarr.open_group(store, mode="r+", zarr_format=3), store


def omero(*channels, **defaults):
    described = []
    for color, *window in channels:
        channel = {"active": True, "color": color}
        if window:
            channel["window"] = {"min": window[0], "start": window[0], "end": window[1], "max": window[1]}
        described.append(channel)
    return {"channels": described, "rdefs": defaults}


def quarters(size, values):
    plane = np.empty((size, size), np.asarray(values).dtype)
    half = size // 2
    plane[:half, :half], plane[:half, half:], plane[half:, :half], plane[half:, half:] = values
    return plane


def quarter_colors(picture):
    """Return the colours in the middle of the four quarters, row by row."""
    height, width = picture.shape[:2]
    places = [(y * height // 4, x * width // 4) for y in (1, 3) for x in (1, 3)]
    return [tuple(picture[place].tolist()) for place in places]


def read_picture(path):
    return Image.open(BytesIO(Path(path).read_bytes()))

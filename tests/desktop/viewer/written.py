"""Files for the viewer; the colours on the screen tell which part of a file is shown."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import zarr

from ozx import OzxStore

TYPES = {"t": "time", "c": "channel"}


def write_image(
    group, data, axes, *, levels=1, scale=1.0, shards=None, omero=None, label=None, at="", chunk=64
) -> None:
    """Write an image of `data`; the lower levels leave out pixels."""
    factors = [2**number for number in range(levels)]
    spacing = lambda factor: [scale * factor if name in "yx" else 1.0 for name in axes]
    ome = {
        "version": "0.5",
        "multiscales": [
            {
                "axes": [
                    {"name": name, "type": TYPES.get(name, "space")} | ({"unit": "micrometer"} if name in "zyx" else {})
                    for name in axes
                ],
                "datasets": [
                    {"path": str(number), "coordinateTransformations": [{"type": "scale", "scale": spacing(factor)}]}
                    for number, factor in enumerate(factors)
                ],
            }
        ],
    }
    ome |= {"omero": omero} if omero else {}
    ome |= {"image-label": label} if label is not None else {}
    image = group.create_group(at) if at else group
    image.attrs["ome"] = ome
    for number, factor in enumerate(factors):
        level = data[..., ::factor, ::factor]
        chunks = tuple(
            min(chunk, length) if name in "yx" else 1 for name, length in zip(axes, level.shape, strict=True)
        )
        shard = tuple(2 * length for length in chunks) if shards else None
        image.create_array(str(number), data=level, chunks=chunks, shards=shard)


@contextmanager
def writing(path):
    """Yield the root group of a new file."""
    with OzxStore(path, mode="w", sync=False) as store:
        yield zarr.create_group(store, attributes={"ome": {"version": "0.5"}})


def omero(*channels, **rdefs):
    """Return metadata of channels: label, colour and window of each."""
    told = [
        {"label": label, "color": color, "active": True, "window": {"start": start, "end": end, "min": 0, "max": end}}
        for label, color, start, end in channels
    ]
    return {"channels": told} | ({"rdefs": rdefs} if rdefs else {})


def quarters(top_left, top_right, bottom_left, bottom_right, dtype, size=256):
    """Return a picture of four values."""
    data = np.empty((size, size), dtype)
    half = size // 2
    data[:half, :half], data[:half, half:] = top_left, top_right
    data[half:, :half], data[half:, half:] = bottom_left, bottom_right
    return data

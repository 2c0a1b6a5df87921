"""Files for the viewer; the colours on the screen tell which part of a file is shown."""

import numpy as np
import pictures
from pictures import add_image


def write_image(
    group, data, axes, *, levels=1, scale=1.0, shards=None, omero=None, label=None, at="", chunk=64
) -> None:
    """Write an image of `data`; the lower levels leave out pixels."""
    factors = [2**number for number in range(levels)]
    chunks = tuple(min(chunk, length) if name in "yx" else 1 for name, length in zip(axes, data.shape, strict=True))
    add_image(
        group.create_group(at) if at else group,
        [data[..., ::factor, ::factor] for factor in factors],
        axes,
        scales=[[scale * factor if name in "yx" else 1.0 for name in axes] for factor in factors],
        units=dict.fromkeys("zyx", "micrometer"),
        chunks=chunks,
        shards=tuple(2 * length for length in chunks) if shards else None,
        **({"omero": omero} if omero else {}),
        **({"image-label": label} if label is not None else {}),
    )


def omero(*channels, **rdefs):
    """Return metadata of channels: label, colour and window of each."""
    told = [
        {"label": label, "color": color, "active": True, "window": {"start": start, "end": end, "min": 0, "max": end}}
        for label, color, start, end in channels
    ]
    return {"channels": told} | ({"rdefs": rdefs} if rdefs else {})


def quarters(top_left, top_right, bottom_left, bottom_right, dtype, size=256):
    return pictures.quarters(size, np.array([top_left, top_right, bottom_left, bottom_right], dtype))

"""Resizing and encoding of pictures as PNG and JPEG; the only module that imports Pillow."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ozx.extras import needed

_JPEG_QUALITY = 90
_FULL_COLOR = 0  # no subsampling: these pictures have bright colours side by side
# A larger ratio of the pixel's sides comes from wrong metadata, not from a microscope.
_MOST_STRETCH = 1000.0


def pillow() -> ModuleType:
    """Return Pillow's module of images; raise `ResourceError` if it is not installed."""
    with needed("view", "drawing a picture"):
        from PIL import Image  # noqa: PLC0415 (an extra)
    return Image


def fit_size(
    shape: tuple[int, int], pixel_size: tuple[float, float] | None, size: float | tuple[float, float]
) -> tuple[int, int]:
    """Return height and width of a picture that fits into `size` and has the physical proportions of the image.

    The picture is as large as possible, but not enlarged. If pixels are not square, one direction is stretched.
    """
    height, width = map(float, shape)
    if pixel_size is not None:
        stretch = pixel_size[0] / pixel_size[1]
        if 1 < stretch <= _MOST_STRETCH:
            height *= stretch
        elif 1 / _MOST_STRETCH <= stretch < 1:
            width /= stretch
    limits = size if isinstance(size, tuple) else (size, size)
    factor = min(1.0, limits[0] / height, limits[1] / width)
    return max(1, round(height * factor)), max(1, round(width * factor))


def resize(picture: NDArray[np.uint8], shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Resize a picture (y, x, 3); each new pixel is an average of old pixels."""
    if picture.shape[:2] == shape:
        return picture
    height, width = shape
    image = pillow()
    return np.asarray(image.fromarray(picture).resize((width, height), image.Resampling.HAMMING))


def encode_png(picture: NDArray[np.uint8], texts: Mapping[str, str] | None = None) -> bytes:
    r"""Encode a picture (y, x, 3) as a PNG file, with `texts` in ``tEXt`` chunks."""
    image = pillow()
    from PIL.PngImagePlugin import PngInfo  # noqa: PLC0415 (an extra)

    chunks = PngInfo()
    for key, text in (texts or {}).items():
        chunks.add_text(key, text)
    file = BytesIO()
    image.fromarray(picture).save(file, "PNG", pnginfo=chunks)
    return file.getvalue()


def encode_jpeg(picture: NDArray[np.uint8]) -> bytes:
    """Encode a picture (y, x, 3) as a JPEG file."""
    file = BytesIO()
    pillow().fromarray(picture).save(file, "JPEG", quality=_JPEG_QUALITY, subsampling=_FULL_COLOR)
    return file.getvalue()

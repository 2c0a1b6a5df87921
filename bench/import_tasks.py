"""Checks that an imported image has the pixels of its source."""

from __future__ import annotations

from worker import Repeated


def compare(made: str, source: str) -> Repeated:
    """Compare the first two levels with the pixels of the TIFF and their 2 × 2 means, plane by plane."""
    import numpy as np
    import tifffile

    import ozx

    def run() -> None:
        pixels = tifffile.imread(source, out="memmap")
        group = ozx.open(made)
        full, half = group["0"], group["1"]
        assert full.shape == pixels.shape
        for place in np.ndindex(pixels.shape[:-2]):
            plane = pixels[place]
            assert np.array_equal(full[place], plane), place
            rows, columns = (length // 2 * 2 for length in plane.shape)
            even = plane[:rows, :columns].astype("float32")
            mean = (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) / 4
            assert np.array_equal(half[place][: rows // 2, : columns // 2], np.rint(mean)), place

    return Repeated(run, lambda _: None)


def compare_images(made: str, other: str) -> Repeated:
    """Compare the pixels of level 0 of two images, plane by plane."""
    import numpy as np

    import ozx

    def run() -> None:
        one, two = ozx.open(made)["0"], ozx.open(other)["0"]
        assert one.shape == two.shape
        for place in np.ndindex(one.shape[:-2]):
            assert np.array_equal(one[place], two[place]), place

    return Repeated(run, lambda _: None)

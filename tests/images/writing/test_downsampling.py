"""Smaller pixels out of larger ones, compared with plain numpy."""

from collections import Counter

import numpy as np
import pytest

from ozx.images.writing.downsampling import halve, halved_shape
from ozx.ome.downscaling import METHODS

INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
FLOATS = ["float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [
    ((7,), (0,)),
    ((6, 8), (0, 1)),
    ((5, 7), (0, 1)),
    ((5, 7), (1,)),
    ((5, 7), (0,)),
    ((1, 1), (0, 1)),
    ((3, 4, 5), (0, 1, 2)),
    ((2, 3, 4, 5), (2, 3)),
    ((2, 2, 5, 4, 7), (2, 3, 4)),
    ((2, 3, 2, 5, 3), (0, 1, 2, 3, 4)),
]


def reference(block, axes, method):
    """Return what halve() is to return, pixel by pixel."""
    out = np.empty(halved_shape(block.shape, axes), block.dtype)
    for place in np.ndindex(out.shape):
        spans = [slice(2 * at, 2 * at + 2) if axis in axes else slice(at, at + 1) for axis, at in enumerate(place)]
        pixels = block[tuple(spans)].ravel()
        if method == "nearest":
            out[place] = pixels[0]
        elif method == "mode":
            keys = [pixel.tobytes() for pixel in pixels]
            counts = Counter(keys)
            out[place] = pixels[keys.index(max(keys, key=counts.__getitem__))]
        elif block.dtype.kind in "iub":
            total, count = sum(map(int, pixels)), len(pixels)
            whole, rest = divmod(total, count)
            out[place] = whole + (2 * rest > count or (2 * rest == count and whole % 2))
        else:
            out[place] = pixels.astype("c16" if block.dtype.kind == "c" else "f8").mean()
    return out


def random_block(dtype, shape, seed=0):
    noise = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return noise.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        block = noise.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        block.flat[::3] = limits.max
        block.flat[1::5] = limits.min
        return block
    block = noise.normal(size=shape).astype(dtype)
    return block if dtype.kind == "f" else (block + 1j * noise.normal(size=shape)).astype(dtype)


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize(("shape", "axes"), SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_it_is_what_plain_numpy_says(dtype, shape, axes, method):
    block = random_block(dtype, shape)
    if method == "mode":
        block = block.ravel()[np.random.default_rng(1).integers(0, min(3, block.size), shape)]
    half = halve(block, axes, method)
    expected = reference(block, axes, method)
    assert half.dtype == block.dtype
    if method == "mean" and np.dtype(dtype).kind in "fc":
        np.testing.assert_allclose(half, expected, rtol=1e-3 if dtype == "float16" else 1e-6)
    else:
        np.testing.assert_array_equal(half, expected)

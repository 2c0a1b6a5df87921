"""Smaller pixels out of larger ones, compared with plain numpy."""

import itertools
from collections import Counter

import numpy as np
import pytest

from ozx.errors import UsageError
from ozx.images.writing.downsampling import METHODS, halve, halved_shape, parse_method

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


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_blocks_of_many_strips(dtype):
    block = random_block(dtype, (3, 301, 777))
    for axes in ((1, 2), (0, 1, 2)):
        corner = halve(block, axes, "mean")[:, -3:, -5:]
        expected = reference(block[:, -5:, -9:], axes, "mean")
        np.testing.assert_allclose(corner, expected, rtol=1e-6)


def test_blocks_of_any_strides():
    block = random_block("uint16", (8, 10))
    for view in (block.T, block[:, ::-1], block[1:, 1:]):
        np.testing.assert_array_equal(halve(view, (0, 1), "mean"), reference(view, (0, 1), "mean"))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64"])
def test_every_group_of_small_values(dtype):
    groups = np.array(list(itertools.product(range(5), repeat=4)), dtype)
    block = groups.reshape(-1, 2, 2).transpose(1, 0, 2).reshape(2, -1)
    np.testing.assert_array_equal(halve(block, (0, 1), "mean"), reference(block, (0, 1), "mean"))


def test_nan_does_not_spread():
    nan, inf = np.nan, np.inf
    block = np.array([[nan, 1, nan, nan, inf, 1], [3, nan, nan, nan, 1, 1]], "float32")
    np.testing.assert_array_equal(halve(block, (0, 1), "mean"), np.array([[2, nan, inf]], "float32"))


def test_a_sum_too_large_is_no_mean_too_large():
    for dtype in FLOATS:
        largest = np.finfo(dtype).max
        block = np.full((2, 2), largest, dtype)
        assert halve(block, (0, 1), "mean").item() == largest


def test_mode_counts_nan_as_a_value():
    block = np.array([[1, np.nan], [np.nan, 2]])
    assert np.isnan(halve(block, (0, 1), "mode")).all()


def test_there_are_no_other_methods():
    with pytest.raises(UsageError, match="mean, nearest, mode; got 'median'"):
        parse_method("median")

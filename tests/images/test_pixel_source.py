"""Pixels from arrays of all kinds, whole or in part."""

import pickle

import dask.array as da
import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore, MemoryStore

from ozx.images.pixel_source import ArraySource, Part, PixelSource, part_of

DATA = np.arange(60_000, dtype="uint16").reshape(3, 100, 200)
REGION = (slice(1, 3), slice(10, 90), slice(0, 33))


def make_array(kind, folder):
    if kind == "numpy":
        return DATA
    if kind == "big-endian":
        return DATA.astype(">u2")
    if kind == "dask":
        return da.from_array(DATA, chunks=(2, 30, 70))
    array = zarr.create_array(LocalStore(folder / "z"), shape=DATA.shape, dtype="uint16", chunks=(1, 50, 64))
    array[:] = DATA
    return array


@pytest.mark.parametrize("kind", ["numpy", "big-endian", "dask", "zarr"])
def test_blocks(tmp_path, kind):
    source = ArraySource(make_array(kind, tmp_path), ("z", "y", "x"))
    assert isinstance(source, PixelSource)
    assert (source.axes, source.shape, source.dtype) == (("z", "y", "x"), DATA.shape, np.dtype("uint16"))
    block = source.read(REGION)
    assert block.flags.c_contiguous
    assert block.dtype == np.dtype("uint16")
    np.testing.assert_array_equal(block, DATA[REGION])
    out = np.empty(block.shape, "uint16")
    assert source.read(REGION, out) is out
    np.testing.assert_array_equal(out, block)
    part = pickle.loads(pickle.dumps(part_of(source, REGION)))
    np.testing.assert_array_equal(part.read(), block)


def test_grain():
    options = {"store": MemoryStore(), "shape": (100, 200), "dtype": "uint8", "chunks": (10, 20)}
    assert ArraySource(DATA, "zyx").read_alignment == (1, 1, 1)
    assert ArraySource(da.from_array(DATA, chunks=((1, 2), 100, 50)), "zyx").read_alignment == (2, 100, 50)
    assert ArraySource(zarr.create_array(**options, name="a"), "yx").read_alignment == (10, 20)
    assert ArraySource(zarr.create_array(**options, name="b", shards=(50, 40)), "yx").read_alignment == (50, 40)


@pytest.mark.parametrize("kind", ["numpy", "dask"])
def test_a_part_takes_no_more_with_it_than_its_pixels(kind):
    part = part_of(ArraySource(make_array(kind, None), ("z", "y", "x")), (slice(0, 1), slice(0, 10), slice(0, 10)))
    assert len(pickle.dumps(part)) < DATA.nbytes / 2


def test_a_part_of_another_source_is_the_source_and_a_region(tmp_path):
    source = ArraySource(make_array("zarr", tmp_path), ("z", "y", "x"))
    assert part_of(source, REGION) == Part(source, REGION)


def test_a_dask_graph_is_reduced_once(monkeypatch):
    """Pickling again, in the thread of a cluster's client, must not wait for locks of dask."""
    part = part_of(ArraySource(da.from_array(DATA, chunks=(2, 30, 70)) + 1, ("z", "y", "x")), REGION)
    first = pickle.dumps(part)
    monkeypatch.setattr("dask.optimize", None)
    for data in (first, pickle.dumps(part)):
        np.testing.assert_array_equal(pickle.loads(data).read(), (DATA + 1)[REGION])

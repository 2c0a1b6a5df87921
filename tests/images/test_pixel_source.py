"""Pixels from arrays, and blocks that differ from what their array declares."""

import pickle

import dask.array as da
import numpy as np
import pytest
import xarray as xr

from ozx.errors import UsageError
from ozx.images.pixel_source import ArraySource, MaskSource, check_block, part_of

DATA = np.arange(6000, dtype="uint16").reshape(3, 40, 50)
REGION = (slice(0, 1), slice(17, 34), slice(0, 13))


class Lying:
    shape, dtype = DATA.shape, DATA.dtype

    def __init__(self, change):
        self._change = change

    def __getitem__(self, key):
        return self._change(DATA[key])


def lying_dask(change, chunks=(1, 17, 13)):
    return da.from_array(DATA, chunks=chunks).map_blocks(change, dtype="uint16", meta=np.empty((0, 0, 0), "uint16"))


def read_part(source):
    part, region = part_of(source, REGION)
    return part.read(region)


@pytest.mark.parametrize(
    "change", [lambda block: block[:, :5, :5], lambda block: block[:, :1, :1], lambda block: block[0]]
)
@pytest.mark.parametrize(
    "make",
    [Lying, lying_dask, lambda change: xr.DataArray(lying_dask(change), dims=("z", "y", "x"))],
    ids=["array-like", "dask", "xarray"],
)
def test_a_block_of_another_shape_is_refused(make, change):
    found = change(DATA[REGION]).shape
    with pytest.raises(UsageError) as caught:
        read_part(ArraySource(make(change), ("z", "y", "x")))
    assert caught.value.message == (
        f"expected a block of the shape (1, 17, 13) at z=0:1, y=17:34, x=0:13; found the shape {found}"
    )
    assert "chunks=" in caught.value.hint


def test_a_region_inside_a_block_that_is_too_large_is_refused():
    """Here the region has the expected shape, but the pixels come from another place."""
    array = lying_dask(lambda block: block.repeat(2, 1).repeat(2, 2), chunks=(3, 40, 50))
    with pytest.raises(UsageError, match=r"\(3, 40, 50\) at z=0:3, y=0:40, x=0:50; found the shape \(3, 80, 100\)"):
        read_part(ArraySource(array, ("z", "y", "x")))


@pytest.mark.parametrize(
    ("declared", "found", "is_held"),
    [
        ("uint16", ">u2", True),
        ("uint16", "uint8", True),
        ("float32", "float64", True),
        ("float64", "uint16", True),
        ("uint16", "float64", False),
        ("uint16", "int32", False),
        ("uint16", "uint64", False),
        ("uint8", "int8", False),
        ("bool", "uint8", False),
    ],
)
def test_a_block_of_another_type_is_refused_unless_the_declared_type_holds_its_values(declared, found, is_held):
    block, region = np.zeros((2, 3), found), (slice(0, 2), slice(3, 6))
    if is_held:
        assert check_block(block, region, axes=("y", "x"), dtype=np.dtype(declared)) is block
        return
    with pytest.raises(UsageError) as caught:
        check_block(block, region, axes=("y", "x"), dtype=np.dtype(declared))
    assert caught.value.message == f"expected a block of the type {declared} at y=0:2, x=3:6; found the type {found}"
    assert "astype" in caught.value.hint


def test_a_check_takes_the_same_room_for_any_number_of_blocks():
    few, many = (da.zeros((count, 9), "uint8", chunks=(1, 9)) + 1 for count in (10, 10_000))
    region = (slice(3, 4), slice(0, 9))
    sizes = [len(pickle.dumps(part_of(ArraySource(array, ("y", "x")), region))) for array in (few, many)]
    assert sizes[1] < sizes[0] + 100


def test_a_part_of_a_mask_without_z_holds_only_its_block():
    mask = MaskSource(ArraySource(DATA[0] > 900, ("y", "x")), ("z", "y", "x"), (1, 40, 50), (None, 0, 1))
    part = part_of(mask, REGION)
    assert len(pickle.dumps(part)) < DATA[0].size / 2
    source, region = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(source.read(region), (DATA[:1] > 900)[REGION])


def test_a_dask_graph_is_reduced_once(monkeypatch):
    """Pickling again, in the thread of a cluster's client, must not wait for locks of dask."""
    part = part_of(ArraySource(da.from_array(DATA, chunks=(2, 30, 20)) + 1, ("z", "y", "x")), REGION)
    first = pickle.dumps(part)
    monkeypatch.setattr("dask.optimize", None)
    for data in (first, pickle.dumps(part)):
        source, region = pickle.loads(data)
        np.testing.assert_array_equal(source.read(region), (DATA + 1)[REGION])

"""The order of metadata, and the first entry that breaks it."""

import numpy as np
import pytest

from ozx.hierarchy.entry_order import order_fault


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        (["zarr.json", "a/zarr.json", "b/zarr.json", "a/x/zarr.json", "b/x/zarr.json"], None),
        (["zarr.json", "b/zarr.json", "a/zarr.json", "b/x/zarr.json", "a/x/zarr.json"], None),  # siblings are free
        (["zarr.json", "a/x/zarr.json", "a/zarr.json"], "a/zarr.json"),
        (["zarr.json", "a/zarr.json", "b/zarr.json", "b/x/zarr.json", "a/x/zarr.json"], "a/x/zarr.json"),
    ],
)
def test_breadth_first(keys, fault):
    found = order_fault(keys, np.arange(len(keys)))
    assert (None if found is None else found[0]) == fault


def test_metadata_after_data():
    assert order_fault(["zarr.json", "a/zarr.json"], np.array([0, 2]))[0] == "a/zarr.json"

"""Pixels from arrays of all kinds, whole or in part."""

import pickle

import dask.array as da
import numpy as np

from ozx.images.pixel_source import ArraySource, part_of

DATA = np.arange(60_000, dtype="uint16").reshape(3, 100, 200)
REGION = (slice(1, 3), slice(10, 90), slice(0, 33))


def test_a_dask_graph_is_reduced_once(monkeypatch):
    """Pickling again, in the thread of a cluster's client, must not wait for locks of dask."""
    part = part_of(ArraySource(da.from_array(DATA, chunks=(2, 30, 70)) + 1, ("z", "y", "x")), REGION)
    first = pickle.dumps(part)
    monkeypatch.setattr("dask.optimize", None)
    for data in (first, pickle.dumps(part)):
        np.testing.assert_array_equal(pickle.loads(data).read(), (DATA + 1)[REGION])

import pickle

import numpy as np
import pytest

from ozx.store.pixels.basic import empty_pixels


@pytest.mark.parametrize("shape", [(), (0, 7), (3, 5), (1024, 1024), (1025, 1031), (3, 2048, 2048)])
@pytest.mark.parametrize("dtype", ["u2", ">f4", "b1", "M8[ns]"])
def test_results_are_ordinary_arrays(shape, dtype):
    pixels = empty_pixels(shape, np.dtype(dtype))
    assert pixels.shape == shape
    assert pixels.dtype == dtype
    assert pixels.flags.c_contiguous
    pixels[...] = np.ones(shape, dtype)
    assert np.array_equal(pickle.loads(pickle.dumps(pixels)), np.ones(shape, dtype))

"""Which channels are shown, in which colours, between which values."""

import numpy as np

from ozx.hierarchy.ome.colors import Window
from ozx.images.pictures.channels import percentile_window


def test_zeros_need_no_memory():
    values = np.array([5, 7], "uint16")
    assert percentile_window(values, 10**15) == Window(0, 5, 0, 65535)
    assert percentile_window(values[:0], 3) == percentile_window(np.array([0], "uint16"))

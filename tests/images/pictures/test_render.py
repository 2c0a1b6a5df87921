"""Planes to colours, value by value."""

import numpy as np

from ozx.images.pictures.render import percentile_window, render_labels
from ozx.ome.colors import LabelDisplay, Window


def test_labels_have_their_colours():
    display = LabelDisplay({1: (1, 2, 3, 255), 5: (9, 9, 9, 40)}, {})
    values = np.array([[0, 1], [5, 6]], "i4")
    assert render_labels(values, display).tolist() == [
        [[0, 0, 0, 0], [1, 2, 3, 255]],
        [[9, 9, 9, 40], [128, 128, 128, 255]],
    ]


def test_zeros_need_no_memory():
    values = np.array([5, 7], "uint16")
    assert percentile_window(values, 10**15) == Window(0, 5, 0, 65535)
    assert percentile_window(values[:0], 3) == percentile_window(np.array([0], "uint16"))

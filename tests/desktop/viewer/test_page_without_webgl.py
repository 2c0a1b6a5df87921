"""The page in a browser without WebGL: the same pictures as with it, drawn on a 2-D canvas."""

import numpy as np
import pytest
from hierarchies import FIXTURES
from shown_pages import shown

pytestmark = pytest.mark.browser


def drawn_by(browser):
    return browser.run("return document.getElementById('metadata').textContent").rpartition("Drawn by")[2]


def test_the_same_pixels_as_with_webgl(plain, start):
    """Of a zoomed picture, in which samples are many pixels wide, all but their edges are the same."""
    pictures = []
    for one, name in ((start(), "WebGL 2"), (plain, "2-D canvas")):
        with shown(one, FIXTURES / "image.ome.zarr"):
            assert drawn_by(one).startswith(name)
            for _ in range(3):
                one.press("+")
            pictures.append(one.screenshot()[:, :560].astype(int))
    apart = np.abs(pictures[0] - pictures[1]).max(axis=2)
    assert (apart > 4).mean() < 0.001
    assert pictures[0].max() > 100


def test_without_a_graphics_card_the_processor_draws(start):
    session = start()
    for wish, name in (("", "2-D canvas"), ("canvas", "2-D canvas"), ("webgl", "WebGL 2")):
        with shown(session, FIXTURES / "image.ome.zarr", draw=wish):
            assert drawn_by(session).startswith(name)

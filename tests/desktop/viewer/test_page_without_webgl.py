"""The page in a browser without WebGL: the same pictures, drawn on a 2-D canvas."""

import numpy as np
import pytest
import zarr
from chromium import Browser, colors, near
from hierarchies import FIXTURES
from shown_pages import (
    BLACK,
    GREEN,
    QUARTERS,
    RED,
    YELLOW,
    check_labels,
    check_numbers,
    enter,
    shown,
    shown_planes,
    write_labels_over_an_image,
    write_two_channels,
)

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def plain(chromium):
    """A browser without WebGL that the tests share."""
    session = Browser(chromium, "--disable-gpu", "--disable-3d-apis")
    yield session
    session.close()


@pytest.fixture
def browser(plain):
    plain.open("about:blank")
    plain.log()
    return plain


def drawn_by(browser):
    return browser.run("return document.getElementById('metadata').textContent").rpartition("Drawn by")[2]


def test_channels_contrast_and_colours(browser, tmp_path):
    write_two_channels(tmp_path / "a.ozx")
    with shown(browser, tmp_path / "a.ozx"):
        assert "2-D canvas" in drawn_by(browser)
        assert colors(browser, *QUARTERS) == [YELLOW, GREEN, RED, BLACK]
        browser.press("1")
        assert colors(browser, *QUARTERS) == [GREEN, GREEN, BLACK, BLACK]
        enter(browser, "[aria-label='colour of Actin']", "#ff0000")
        enter(browser, "[aria-label='value that is full in Actin']", 2000)
        assert near(colors(browser, *QUARTERS), [(128, 0, 0), (128, 0, 0), BLACK, BLACK])


@pytest.mark.parametrize(
    ("values", "dtype"),
    [((-100, -50, 0, 100), "int8"), ((0, 10**9, 2 * 10**9, 4 * 10**9), "uint32"), ((0.0, 0.25, 0.5, 1.0), "float64")],
)
def test_types_of_numbers(browser, tmp_path, values, dtype):
    check_numbers(browser, tmp_path / "a.ozx", values, dtype)


def test_planes_in_z_and_t(browser, tmp_path):
    with shown_planes(browser, tmp_path / "a.ozx"):
        pass


def test_labels(browser, tmp_path):
    check_labels(browser, tmp_path / "a.ozx")


def test_labels_with_colours_lie_over_the_image(browser, tmp_path):
    write_labels_over_an_image(tmp_path / "a.ozx")
    with shown(browser, tmp_path / "a.ozx"):
        found = colors(browser, *QUARTERS)
        assert near(found, [(200, 200, 200), (228, 100, 100), (200, 200, 200), (164, 164, 164)])


def test_the_same_pixels_as_with_webgl(browser, start):
    """Of a zoomed picture, in which samples are many pixels wide, all but their edges are the same."""
    pictures = []
    for one in (start(), browser):
        with shown(one, FIXTURES / "image.ome.zarr"):
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


def test_a_plate(browser):
    with shown(browser, FIXTURES / "plate.ome.zarr"):
        first = zarr.open_array(FIXTURES / "plate.ome.zarr/A/1/0/0", mode="r")[:]
        assert first.any()
        assert (browser.screenshot()[:, :560].max(axis=2) > 60).mean() > 0.01

"""The histogram of a channel on the page, and its gamma."""

import numpy as np
import pytest
from chromium import colors, near
from shown_pages import BLACK, QUARTERS, WHITE, enter, shown, wait
from stores import writing
from written import omero, quarters, write_image

pytestmark = pytest.mark.browser

# The share of bright pixels in each of ten parts of the histogram, from the left.
BARS = """
const histogram = document.querySelector('.histogram');
const { width, height } = histogram;
const copy = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d');
copy.drawImage(histogram, 0, 0);
const { data } = copy.getImageData(0, 0, width, height);
const bars = Array(10).fill(0);
for (let pixel = 0; pixel < width * height; pixel++) {
  if (data[4 * pixel + 3] > 20) bars[Math.floor(((pixel % width) * 10) / width)] += 10 / (width * height);
}
return bars;
"""


@pytest.fixture
def four(tmp_path):
    with writing(tmp_path / "a.ozx") as root:
        told = omero(("A", "FFFFFF", 0, 100))
        write_image(root, quarters(0, 25, 50, 100, "uint8"), "yx", levels=2, omero=told)
    return tmp_path / "a.ozx"


def test_gamma_bends_the_curve(browser, four):
    with shown(browser, four):
        assert near(colors(browser, *QUARTERS), [BLACK, (64,) * 3, (128,) * 3, WHITE])
        enter(browser, "[aria-label='gamma of A']", 1)
        assert near(colors(browser, *QUARTERS), [BLACK, (16,) * 3, (64,) * 3, WHITE])
        enter(browser, "[aria-label='number of gamma of A']", 0.5)
        assert near(colors(browser, *QUARTERS), [BLACK, (128,) * 3, (180,) * 3, WHITE])
        browser.run("document.querySelector('.gamma').click()")
        browser.settle()
        assert near(colors(browser, *QUARTERS), [BLACK, (64,) * 3, (128,) * 3, WHITE])


def test_gamma_without_webgl(plain, four):
    with shown(plain, four):
        enter(plain, "[aria-label='number of gamma of A']", 0.5)
        assert near(colors(plain, *QUARTERS), [BLACK, (128,) * 3, (180,) * 3, WHITE])


def test_the_histogram_is_of_what_is_in_view(browser, tmp_path):
    with writing(tmp_path / "a.ozx") as root:
        data = np.zeros((256, 256), "uint8")
        data[:, 128:] = 200
        write_image(root, data, "yx", omero=omero(("A", "FFFFFF", 50, 150)))  # the sliders reach from 0 to 250
    with shown(browser, tmp_path / "a.ozx", "#at=64,128,8"):
        browser.run("document.querySelector('.curve').open = true")
        wait(browser, f"(() => {{ {BARS} }})()[0] > 0.08")
        assert browser.run(BARS)[7] < 0.08
        browser.run("location.hash = '#at=200,128,8'")
        wait(browser, f"(() => {{ {BARS} }})()[0] < 0.08")
        wait(browser, f"(() => {{ {BARS} }})()[7] > 0.08")


def test_a_line_of_the_window_is_dragged(browser, four):
    with shown(browser, four):
        browser.run("document.querySelector('.curve').open = true")
        box = browser.run("return document.querySelector('.histogram').getBoundingClientRect().toJSON()")
        # The window ends at 100, in the middle of a histogram that reaches to 200.
        x, y = int(box["left"] + box["width"] / 2), int(box["top"] + box["height"] / 2)
        browser.pointer(
            {"type": "pointerMove", "duration": 0, "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "duration": 0, "x": x - int(box["width"] / 4), "y": y},
            {"type": "pointerUp", "button": 0},
        )
        browser.settle()
        end = browser.run("return document.querySelector('[aria-label=\"value that is full in A\"]').valueAsNumber")
        assert abs(end - 50) <= 2
        assert near(colors(browser, *QUARTERS), [BLACK, (128,) * 3, WHITE, WHITE], tolerance=8)

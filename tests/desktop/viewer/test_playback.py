"""Playback on the page: the planes one after the other, without gaps."""

from itertools import pairwise

import numpy as np
import pytest
from shown_pages import shown, text_of, wait
from stores import writing
from written import omero, write_image

pytestmark = pytest.mark.browser

# Which planes are shown, and when.
WATCH = """
window.seen = [];
const told = document.querySelector('#planes .value');
new MutationObserver(() => window.seen.push([performance.now(), parseInt(told.textContent)]))
  .observe(told, { childList: true });
"""


@pytest.fixture
def film(tmp_path):
    generator = np.random.default_rng(1)
    data = generator.integers(0, 60, (30, 1024, 1024), "uint16")
    data += np.arange(30, dtype="uint16")[:, None, None] * 30
    with writing(tmp_path / "a.ozx") as root:
        write_image(root, data, "tyx", levels=2, omero=omero(("A", "FFFFFF", 0, 1000), defaultT=0), chunk=1024)
    return tmp_path / "a.ozx"


def test_planes_are_played_around_the_end_and_stop(browser, film):
    with shown(browser, film, draw="canvas"):
        browser.run(WATCH)
        browser.run("document.querySelector('.play').click()")
        wait(browser, "window.seen.length > 70")
        assert "per s" in text_of(browser, "#planes .value")
        browser.run("document.querySelector('.play').click()")
        seen = browser.run("return window.seen")
        stopped = text_of(browser, "#planes .value")
        planes = [plane for number, (_, plane) in enumerate(seen) if number == 0 or seen[number - 1][1] != plane]
        assert set(planes) == set(range(1, 31))
        assert all((after - before) % 30 in (0, 1) for before, after in pairwise(planes))
        began = seen[0][0]
        rate = (len(planes) - 1) * 1000 / (seen[-1][0] - began)
        assert 1 < rate < 27, rate  # 25 on a machine that has nothing else to do
        browser.settle()
        assert text_of(browser, "#planes .value") == stopped


def test_the_space_bar_plays_and_stops(browser, film):
    with shown(browser, film, draw="canvas"):
        browser.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: ' ', bubbles: true}))")
        wait(
            browser,
            "document.querySelector('.play.playing') && !document.querySelector('.value').textContent.startsWith('1 ')",
        )
        browser.press(" ")
        assert browser.run("return document.querySelector('.play.playing')") is None
        assert browser.settle() == "settled"

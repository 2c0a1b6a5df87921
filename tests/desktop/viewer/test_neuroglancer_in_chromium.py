"""neuroglancer's page as a person sees it, in a real browser."""

from __future__ import annotations

import importlib.util
import os
import time

import numpy as np
import pytest
from chromium import near
from hierarchies import FIXTURES
from packed import pack_tree
from written import omero, quarters, write_image, writing

import ozx
from ozx.desktop.viewer.viewing import page_serving

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def _client():
    if importlib.util.find_spec("neuroglancer") is None:
        message = "neuroglancer is not installed"
        if os.environ.get("OZX_REQUIRE_JUDGES"):
            pytest.fail(message)
        pytest.skip(message)


def wait_for_colors(browser, expected, seconds=30):
    """Wait until the picture has these colours in the middle of its quarters; say what it has when it never does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        box = browser.run(
            "const panel = document.querySelector('.neuroglancer-rendered-data-panel');"
            "return panel && panel.getBoundingClientRect().toJSON()"
        )
        if box:
            pixels = browser.screenshot()
            middle = round(box["top"] + box["height"] / 2), round(box["left"] + box["width"] / 2)
            places = [(middle[0] + y, middle[1] + x) for y in (-60, 60) for x in (-60, 60)]
            found = [tuple(int(part) for part in pixels[place]) for place in places]
            if near(found, expected):
                return
    pytest.fail(f"expected {expected}, found {found if box else 'no picture'}; {browser.log()}")


@pytest.mark.parametrize("kind", ["file", "directory", "0.6"])
def test_channels_are_added_in_their_colours(browser, tmp_path, kind):
    data = np.stack([quarters(1000, 0, 1000, 0, "uint16"), quarters(1000, 1000, 0, 0, "uint16")])
    with writing(tmp_path / "a.ozx") as root:
        told = omero(("Nuclei", "FF0000", 0, 1000), ("Actin", "00FF00", 0, 1000))
        write_image(root, data, "cyx", levels=2, shards=True, omero=told, scale=0.5)
    path = tmp_path / "a.ozx"
    if kind == "directory":
        path = ozx.unpack(path).path
    elif kind == "0.6":
        path = ozx.repack(path, tmp_path / "b.ozx", ome_version="0.6", sync=False).path
    with page_serving(path, viewer="neuroglancer") as (server, page):
        browser.open(server.origin + page.gate.page_path)
        wait_for_colors(browser, [(255, 255, 0), (0, 255, 0), (255, 0, 0), (0, 0, 0)])
        asked = browser.requests()
        assert all(url.startswith((server.origin + page.gate.page_path, "blob:", "data:")) for url in asked), asked
        assert page.presence.count == 1
        browser.open("about:blank")


def test_the_wells_of_a_plate_stand_in_their_places(browser, tmp_path):
    path = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    with page_serving(path, viewer="neuroglancer") as (server, page):
        browser.open(server.origin + page.gate.page_path)
        end = time.monotonic() + 30
        while not lit_quarters(browser.screenshot()) and time.monotonic() < end:
            pass
        assert lit_quarters(browser.screenshot())
        browser.open("about:blank")


def lit_quarters(pixels):
    """Tell whether there is something bright in every quarter of the picture."""
    picture = pixels[60:540, 10:580].max(axis=2) > 60
    return all(part.mean() > 0.05 for half in np.array_split(picture, 2) for part in np.array_split(half, 2, axis=1))

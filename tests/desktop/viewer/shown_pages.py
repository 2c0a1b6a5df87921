"""Show files on the page in a browser, and check their colours."""

from contextlib import contextmanager

import numpy as np
from chromium import colors, near
from written import omero, quarters, write_image, writing

from ozx.desktop.viewer.viewing import page_serving
from ozx.images.pictures.render import render_labels
from ozx.ome.colors import LabelDisplay

BLACK, RED, GREEN, BLUE, YELLOW, WHITE = (0, 0, 0), (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (255,) * 3
GRAY = (128, 128, 128)
QUARTERS = ((0.3, 0.3), (0.7, 0.3), (0.3, 0.7), (0.7, 0.7))


@contextmanager
def shown(browser, path, fragment="", draw="webgl"):
    """Show a file, and wait until it is drawn; yield the address of its page.

    The browser of the tests has no graphics card, so without the argument `draw` the page would not use WebGL.
    """
    with page_serving(path) as (server, page):
        url = server.origin + page.gate.page_path
        browser.show(f"{url}?draw={draw}{fragment}")
        yield url
        assert [line for line in browser.log() if "favicon" not in line] == []
        browser.open("about:blank")


@contextmanager
def shown_planes(browser, path):
    """Write planes of different grays in z and t; show z 3, t 2; yield a function that reads the shown gray."""
    data = np.zeros((2, 1, 4, 128, 128), "uint8")
    for t, z in np.ndindex(2, 4):
        data[t, 0, z] = 60 * z + 20 * t
    with writing(path) as root:
        write_image(root, data, "tczyx", levels=2, omero=omero(("A", "FFFFFF", 0, 255), defaultZ=1, defaultT=0))
    with shown(browser, path):
        gray = lambda: colors(browser, (0.5, 0.5))[0][0]
        assert gray() == 60
        browser.press("ArrowUp")
        assert gray() == 120
        browser.press("ArrowRight")
        assert gray() == 140
        yield gray


def write_two_channels(path, shards=None):
    """Write two channels, red and green, of which each quarter has another sum."""
    data = np.stack([quarters(1000, 0, 1000, 0, "uint16"), quarters(1000, 1000, 0, 0, "uint16")])
    with writing(path) as root:
        told = omero(("Nuclei", "FF0000", 0, 1000), ("Actin", "00FF00", 0, 1000))
        write_image(root, data, "cyx", levels=3, shards=shards, omero=told, scale=0.5)


def check_numbers(browser, path, values, dtype):
    """Write and show four values of a type, and check their shades of gray."""
    low, high = values[0], values[-1]
    with writing(path) as root:
        write_image(root, quarters(*values, dtype), "yx", omero=omero(("A", "FFFFFF", low, high)))
    with shown(browser, path):
        expected = [(round(255 * (value - low) / (high - low)),) * 3 for value in values]
        assert near(colors(browser, *QUARTERS), expected)


def write_labels_over_an_image(path, **label):
    """Write labels, half as fine as the image, over the same area; no colour is given for 77."""
    label["colors"] = [{"label-value": 1, "rgba": [255, 0, 0, 255]}, {"label-value": 2, "rgba": [0, 0, 255, 0]}]
    with writing(path) as root:
        write_image(root, quarters(200, 200, 200, 200, "uint8"), "yx", omero=omero(("A", "FFFFFF", 0, 255)))
        labels = root.create_group("labels", attributes={"ome": {"version": "0.5", "labels": ["cells"]}})
        write_image(labels, quarters(0, 1, 2, 77, "int32", 128), "yx", label=label, at="cells", scale=2.0)


def check_labels(browser, path):
    """Write and show labels without colours, and check that they get the colours of the thumbnail."""
    values = quarters(1, 2, 77, 123456, "uint32")
    with writing(path) as root:
        write_image(root, values, "yx", label={})
    expected = render_labels(values[::128, ::128], LabelDisplay({}, {}))[..., :3].reshape(-1, 3)
    with shown(browser, path):
        assert near(colors(browser, *QUARTERS), expected)


def text_of(browser, selector):
    return browser.run("return document.querySelector(arguments[0]).innerText", selector)


def enter(browser, selector, value):
    browser.run(
        "const input = document.querySelector(arguments[0]); input.value = arguments[1];"
        "for (const name of ['input', 'change']) input.dispatchEvent(new Event(name, { bubbles: true }))",
        selector,
        value,
    )
    browser.settle()


def wait(browser, condition):
    browser._ask("POST", "/execute/async", {"script": _WAIT % condition, "args": []})


_WAIT = """
const done = arguments[arguments.length - 1];
const look = () => ((%s) ? done() : setTimeout(look, 20));
look();
"""

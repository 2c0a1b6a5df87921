"""The page as a person sees it: the right colours in the right places, in a real browser."""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import sys
import threading
import time
from http import HTTPStatus

import numpy as np
import pytest
import zarr
from chromium import colors, near
from hierarchies import FIXTURES
from packed import pack_tree
from pictures import new_plate
from shown_pages import BLACK, BLUE, GRAY, GREEN, QUARTERS, RED, WHITE, YELLOW, enter, shown, text_of, wait
from stores import writing
from written import omero, quarters, write_image

import ozx
from ozx.desktop.viewer.loopback import LoopbackServer, Response, serving
from ozx.desktop.viewer.viewing import page_serving, show_page
from ozx.images.pictures.render import render_labels
from ozx.images.thumbnail import draw_thumbnail
from ozx.ome.colors import LabelDisplay

pytestmark = pytest.mark.browser


@pytest.fixture(params=["webgl", "canvas"])
def either(request):
    """A browser with and one without WebGL."""
    return request.getfixturevalue("browser" if request.param == "webgl" else "plain")


def test_a_recovered_file_says_what_is_missing(browser, path, tmp_path):
    with shown(browser, path):
        assert not browser.run("return document.getElementById('recovered').checkVisibility()")
    data = bytearray(path.read_bytes())
    data[data.index(b"0/c/1/3/0") + len("0/c/1/3/0") + 40] ^= 1
    path.write_bytes(data)
    ozx.recover(path, tmp_path / "saved.ozx")
    with shown(browser, tmp_path / "saved.ozx"):
        sentence = "1 of 32 chunks of level 0 is missing, within c=1:2, y=192:256, x=0:64"
        assert text_of(browser, "#recovered") == f"This file was recovered.\n{sentence}"
        assert browser.run("return document.getElementById('recovered').checkVisibility()")


@pytest.mark.parametrize("shards", [False, True])
def test_channels_are_added_in_their_colours(either, tmp_path, shards):
    data = np.stack([quarters(1000, 0, 1000, 0, "uint16"), quarters(1000, 1000, 0, 0, "uint16")])
    with writing(tmp_path / "a.ozx") as root:
        told = omero(("Nuclei", "FF0000", 0, 1000), ("Actin", "00FF00", 0, 1000))
        write_image(root, data, "cyx", levels=3, shards=shards, omero=told, scale=0.5)
    with shown(either, tmp_path / "a.ozx"):
        assert colors(either, *QUARTERS) == [YELLOW, GREEN, RED, BLACK]
        either.press("1")
        assert colors(either, *QUARTERS) == [GREEN, GREEN, BLACK, BLACK]
        assert "Nuclei" in either.run("return document.getElementById('channels').innerText")
        assert either.run("return document.title") == "a.ozx – ozx"
        enter(either, "[aria-label='colour of Actin']", "#ff0000")
        enter(either, "[aria-label='value that is full in Actin']", 2000)
        assert near(colors(either, *QUARTERS), [(128, 0, 0), (128, 0, 0), BLACK, BLACK])


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ((0, 50, 100, 200), "uint8"),
        ((-100, -50, 0, 100), "int8"),
        ((-30000, -15000, 0, 30000), ">i2"),
        ((0, 10**9, 2 * 10**9, 4 * 10**9), "uint32"),
        ((-(10**9), -(10**8) * 5, 0, 10**9), "int32"),
        ((0.0, 0.25, 0.5, 1.0), "float32"),
        ((0.0, 0.25, 0.5, 1.0), "float64"),
        ((0, 2**40, 2**41, 2**42), "uint64"),
        ((0, 0.25, 0.5, 1), "float16"),
    ],
)
def test_every_type_of_numbers_is_shown(either, tmp_path, values, dtype):
    low, high = values[0], values[-1]
    with writing(tmp_path / "a.ozx") as root:
        write_image(root, quarters(*values, dtype), "yx", omero=omero(("A", "FFFFFF", low, high)))
    with shown(either, tmp_path / "a.ozx"):
        expected = [(round(255 * (value - low) / (high - low)),) * 3 for value in values]
        assert near(colors(either, *QUARTERS), expected)


TWO = omero(("A", "FF0000", 0, 255), ("B", "00FF00", 0, 255), model="greyscale")
PHOTOGRAPH = [(255, 0, 0, 255), (0, 255, 0, 255), (0, 0, 255, 255)]


@pytest.mark.parametrize(
    ("data", "more", "expected"),
    [
        pytest.param(quarters(True, False, False, True, "bool"), {}, [WHITE, BLACK, BLACK, WHITE], id="truth values"),
        # What is no number is black.
        pytest.param(quarters(np.nan, -3.0, 5.0, 1.0, "float32"), {}, [BLACK, BLACK, WHITE, GRAY], id="no contrast"),
        pytest.param(np.stack([quarters(*c, "uint8") for c in PHOTOGRAPH]), {}, [RED, GREEN, BLUE, WHITE], id="photo"),
        pytest.param(
            *(np.stack([quarters(0, 100, 200, 255, "uint8")] * 2), {"omero": TWO}),
            [BLACK, (100,) * 3, (200,) * 3, WHITE],
            id="shades of gray show one channel",
        ),
    ],
)
def test_what_little_metadata_say_is_enough(browser, tmp_path, data, more, expected):
    with writing(tmp_path / "a.ozx") as root:
        write_image(root, data, "cyx"[-data.ndim :], **more)
    with shown(browser, tmp_path / "a.ozx"):
        assert near(colors(browser, *QUARTERS), expected)


@pytest.mark.parametrize("name", ["image", "series", "sharded"])
def test_page_and_thumbnail_show_the_same(browser, name):
    still = draw_thumbnail(zarr.open_group(FIXTURES / f"{name}.ome.zarr", mode="r"), 2048).pixels
    height, width = still.shape[:2]
    with shown(browser, FIXTURES / f"{name}.ome.zarr"):
        browser.press("l")
        # In the middle of pixels.
        places = [(int(y * height), int(x * width)) for x, y in QUARTERS]
        found = colors(browser, *(((x + 0.5) / width, (y + 0.5) / height) for y, x in places), size=(width, height))
        assert near(found, [still[place] for place in places])


def test_labels_without_colours_have_those_of_the_thumbnail(either, tmp_path):
    values = quarters(1, 2, 77, 123456, "uint32")
    with writing(tmp_path / "a.ozx") as root:
        write_image(root, values, "yx", label={})
    expected = render_labels(values[::128, ::128], LabelDisplay({}, {}))[..., :3].reshape(-1, 3)
    with shown(either, tmp_path / "a.ozx"):
        assert near(colors(either, *QUARTERS), expected)


def test_directories_of_either_version(browser):
    with shown(browser, FIXTURES / "legacy.ome.zarr"):
        assert "0.4" in browser.run("return document.getElementById('metadata').textContent")
        assert (browser.screenshot()[:, :600].max(axis=2) > 60).mean() > 0.01


def test_planes_in_z_and_t(either, tmp_path):
    data = np.zeros((2, 1, 4, 128, 128), "uint8")
    for t, z in np.ndindex(2, 4):
        data[t, 0, z] = 60 * z + 20 * t
    with writing(tmp_path / "a.ozx") as root:
        write_image(root, data, "tczyx", levels=2, omero=omero(("A", "FFFFFF", 0, 255), defaultZ=1, defaultT=0))
    with shown(either, tmp_path / "a.ozx"):
        gray = lambda: colors(either, (0.5, 0.5))[0][0]
        assert gray() == 60
        either.press("ArrowUp")
        assert gray() == 120
        either.press("ArrowRight")
        assert gray() == 140
        for _ in range(5):
            either.press("ArrowDown")
        assert gray() == 20
        assert "z\n1 / 4" in either.run("return document.getElementById('planes').innerText")


def test_the_frames_of_a_stream_appear_while_it_is_written(browser, tmp_path):
    """The slider grows; it stays at the last frame, or at another one."""
    frame = lambda t: np.full((64, 64), 40 * (t + 1), "uint8")
    words = {"channel_names": [{"label": "A", "window": (0, 255), "color": "FFFFFF"}], "shards": "none"}
    stream = ozx.stream(tmp_path / "a.ozx", axes="tyx", shape=(None, 64, 64), dtype="uint8", **words)
    gray = lambda: colors(browser, (0.5, 0.5))[0][0]
    text = lambda name: browser.run(f"return document.getElementById('{name}').innerText")

    def shows(place, title):
        end = time.monotonic() + 20
        while time.monotonic() < end and (place not in text("planes") or text("title") != title):
            time.sleep(0.05)
        assert (place in text("planes"), text("title")) == (True, title)
        browser.settle()

    stream.append(frame(0))
    stream.flush()
    with page_serving(tmp_path / "a.ozx", live=True) as (server, page):
        browser.show(server.origin + page.access.page_path)
        assert (text("planes"), gray()) == ("", 40)
        for t in (1, 2):
            stream.append(frame(t))
            stream.flush()
            shows(f"{t + 1} / {t + 1}", "a.ozx (growing)")
            assert gray() == 40 * (t + 1)
        browser.press("ArrowLeft")
        stream.append(frame(3))
        stream.close()
        shows("2 / 4", "a.ozx")
        assert gray() == 80
        browser.press("ArrowRight")
        browser.press("ArrowRight")
        assert gray() == 160
        browser.open("about:blank")


def test_labels_lie_over_the_image(either, tmp_path):
    colors_of_labels = [{"label-value": 1, "rgba": [255, 0, 0, 255]}, {"label-value": 2, "rgba": [0, 0, 255, 0]}]
    label = {"colors": colors_of_labels, "properties": [{"label-value": 1, "kind": "mitotic"}]}
    with writing(tmp_path / "a.ozx") as root:
        write_image(root, quarters(200, 200, 200, 200, "uint8"), "yx", omero=omero(("A", "FFFFFF", 0, 255)))
        labels = root.create_group("labels", attributes={"ome": {"version": "0.5", "labels": ["cells"]}})
        # Half as fine as the image, over the same area.
        write_image(labels, quarters(0, 1, 2, 77, "int32", 128), "yx", label=label, at="cells", scale=2.0)
    with shown(either, tmp_path / "a.ozx"):
        found = colors(either, *QUARTERS)
        # No colour is given for 77: it is gray, among others that have one.
        assert near(found, [(200, 200, 200), (228, 100, 100), (200, 200, 200), (164, 164, 164)])
        either.press("l")
        assert near(colors(either, *QUARTERS), [(200, 200, 200)] * 4)
        either.press("l")
        enter(either, "#labels input[type=range]", 1)
        assert colors(either, (0.7, 0.3)) == [RED]
        either.press("o")
        assert colors(either, (0.7, 0.3)) == [(200, 200, 200)]  # inside of the outline
        either.press("o")
        assert colors(either, (0.7, 0.3)) == [RED]


def test_position_and_value_under_the_pointer(browser, tmp_path):
    with writing(tmp_path / "a.ozx") as root:
        data = np.arange(256 * 256, dtype="uint64").reshape(256, 256) + 2**60
        write_image(root, data, "yx", scale=0.5, omero=omero(("A", "FFFFFF", 2**60, 2**60 + 65536)))
    with shown(browser, tmp_path / "a.ozx"):
        box = browser.run("return document.getElementById('overlay').getBoundingClientRect().toJSON()")
        x, y = int(box["left"] + box["width"] / 2), int(box["top"] + box["height"] / 2)
        browser.move(x, y)
        told = browser._ask("POST", "/execute/async", {"script": WAIT_FOR_VALUE, "args": []})
        assert "µm" in told
        column, row = (int(part) for part in (told.split()[1], told.split()[3]))
        assert max(abs(column - 128), abs(row - 128)) <= 1
        assert told.endswith(f"A {2**60 + row * 256 + column}")  # exact, though no graphics card has such integers


WAIT_FOR_VALUE = """
const done = arguments[arguments.length - 1], output = document.getElementById("readout");
const look = () => /A \\d+$/.test(output.textContent) && done(output.textContent);
new MutationObserver(look).observe(output, {childList: true, characterData: true, subtree: true});
look();
"""


def test_a_plate_its_wells_and_fields(browser, tmp_path):
    wells = {"A/1": [RED], "B/2": [GREEN, BLUE]}
    with writing(tmp_path / "a.ozx") as root:
        new_plate({path: len(fields) for path, fields in wells.items()}, "AB", "12", root)
        for path, fields in wells.items():
            for number, color in enumerate(fields):
                data = np.broadcast_to(np.array(color, "uint8")[:, None, None], (3, 64, 64))
                write_image(root[path], np.array(data), "cyx", levels=2, at=str(number))
    with shown(browser, tmp_path / "a.ozx"):
        assert colors(browser, *QUARTERS) == [RED, BLACK, BLACK, GREEN]
        browser.press("ArrowRight")  # the second field of each well
        assert colors(browser, *QUARTERS) == [BLACK, BLACK, BLACK, BLUE]
        box = browser.run("return document.getElementById('overlay').getBoundingClientRect().toJSON()")
        browser.click(int(box["left"] + box["width"] * 0.65), int(box["top"] + box["height"] * 0.7))
        browser.settle()
        assert "B2" in browser.run("return document.getElementById('navigation').innerText")
        assert colors(browser, (0.2, 0.2), (0.8, 0.8)) == [GREEN, GREEN]
        choose(browser, 1)
        assert colors(browser, (0.2, 0.2), (0.8, 0.8)) == [BLUE, BLUE]
        browser.press("Escape")
        assert colors(browser, *QUARTERS) == [RED, BLACK, BLACK, GREEN]


def choose(browser, number):
    """Choose an item of the list in the navigation."""
    script = "const list = document.querySelector('#navigation select'); list.selectedIndex = arguments[0];"
    browser.run(f"{script} list.dispatchEvent(new Event('change'))", number)
    browser.settle()


def test_the_images_of_a_series(browser, tmp_path):
    with writing(tmp_path / "a.ozx") as root:
        root.attrs["ome"] = {"version": "0.5", "bioformats2raw.layout": 3}
        root.create_group("OME", attributes={"ome": {"version": "0.5", "series": ["0", "1"]}})
        told = omero(("A", "FFFFFF", 0, 255))
        for number, value in enumerate((50, 250)):
            write_image(root, np.full((64, 64), value, "uint8"), "yx", at=str(number), omero=told)
    with shown(browser, tmp_path / "a.ozx"):
        assert colors(browser, (0.5, 0.5)) == [(50,) * 3]
        choose(browser, 1)
        assert colors(browser, (0.5, 0.5)) == [(250,) * 3]


def test_only_tiles_in_view_are_asked_for_and_nobody_else_is_asked(browser, tmp_path):
    with writing(tmp_path / "a.ozx") as root:
        data = np.zeros((4096, 4096), "uint8")
        data[2000:2100, 2000:2100] = 255
        write_image(root, data, "yx", levels=4, shards=True, omero=omero(("A", "FFFFFF", 0, 255)))
    with shown(browser, tmp_path / "a.ozx") as url:
        asked = lambda: browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        assert len([name for name in asked() if "/tile?" in name]) <= 5
        for _ in range(6):
            browser.press("+")
        full = [name for name in asked() if "level=0" in name]
        assert 1 <= len(full) <= 9
        everything = browser.requests()
        assert len(everything) > 10
        assert all(name.startswith(url) for name in everything), everything


def test_scripts_of_others_and_requests_to_them_are_forbidden_to_the_page(browser, path):
    asked = []

    def other(request):
        asked.append(request.path)
        return Response(HTTPStatus.OK, b"document.title = 'foreign'", "text/javascript")

    with serving(LoopbackServer(other)) as foreign, page_serving(path) as (server, page):
        browser.show(server.origin + page.access.page_path)
        script = """
            const [origin, done] = [arguments[0], arguments[1]];
            const part = (name, values) => document.body.append(Object.assign(document.createElement(name), values));
            part("script", { src: `${origin}/script.js` });
            part("script", { textContent: "document.title = 'inline'" });
            part("img", { src: `${origin}/picture.png` });
            part("iframe", { src: `${origin}/frame.html` });
            fetch(`${origin}/fetched`).then(() => done("reached"), () => setTimeout(() => done("refused"), 200));
        """
        body = {"script": script, "args": [foreign.origin]}
        assert browser._ask("POST", "/execute/async", body) == "refused"
        assert browser.run("return document.title") == "cells.ozx – ozx"
        assert asked == []
        browser.open("about:blank")


@pytest.mark.parametrize("name", ["image", "plate", "series", "sharded"])
def test_the_fixtures(either, tmp_path, name):
    path = pack_tree(FIXTURES / f"{name}.ome.zarr", tmp_path / f"{name}.ozx")
    with shown(either, path):
        assert either.run("return document.getElementById('message').hidden")
        picture = either.screenshot()[:, :600]
        assert (picture.max(axis=2) > 60).mean() > 0.01
        assert either.run("return document.querySelectorAll('#metadata dt').length") > 5


def test_a_damaged_chunk_is_named_and_the_rest_is_shown(browser, tmp_path):
    with writing(tmp_path / "good.ozx") as root:
        write_image(root, np.full((1024, 1024), 200, "uint8"), "yx", levels=2, omero=omero(("A", "FFFFFF", 0, 255)))
    found = next(item for item in ozx.list_entries(tmp_path / "good.ozx") if item.key == "0/c/1/1")
    data = bytearray((tmp_path / "good.ozx").read_bytes())
    data[found.offset + 1] ^= 255
    (tmp_path / "bad.ozx").write_bytes(data)
    with page_serving(tmp_path / "bad.ozx") as (server, page):
        browser.open(server.origin + page.access.page_path)
        browser.settle()
        for _ in range(3):
            browser.press("+")
        told = text_of(browser, "#message p")
        assert told.startswith(
            "Part of this image is damaged and is shown from a coarser level; `ozx validate --level data`"
        )
        assert "0/c/1/1" in told
        # Where the tile is missing the lower level stands in.
        assert set(colors(browser, *QUARTERS)) == {(200, 200, 200)}
        browser.open("about:blank")


def test_when_the_command_has_ended_the_page_says_so(browser, tmp_path):
    with writing(tmp_path / "a.ozx") as root:
        write_image(root, np.zeros((2, 64, 64), "uint8"), "zyx", omero=omero(("A", "FFFFFF", 0, 255)))
    command = [sys.executable, "-m", "ozx", "view", tmp_path / "a.ozx", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        browser.show(process.stdout.readline().strip())
        process.kill()
    message = lambda: text_of(browser, "#message p")
    browser.press("ArrowUp")  # a tile is requested
    wait(browser, "!document.getElementById('message').hidden")
    assert message() == "ozx view has ended.\nThis window can be closed."
    browser.run("document.querySelector('#message button').click()")
    browser.press("a")
    wait(browser, "!document.getElementById('message').hidden")
    assert message() == "ozx view has ended.\nThis window can be closed."
    browser.open("about:blank")


def test_the_command_ends_with_its_window_and_not_when_that_is_loaded_anew(start, path, tmp_path):
    told = tmp_path / "told"
    os.mkfifo(told)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{told}"\n')
    browser.chmod(0o700)
    session = start()
    environment = os.environ | {"BROWSER": f"{browser} %s", "DISPLAY": ":0"}
    with subprocess.Popen([sys.executable, "-m", "ozx", "view", path], env=environment, text=True) as process:
        session.show(told.read_text())
        session.show(session.run("return location.href.split('#')[0]"))
        assert process.poll() is None
        session.close()
        assert process.wait(30) == 0


def test_the_server_ends_when_the_window_goes_elsewhere(browser, path):
    urls = queue.Queue()
    options = {"browser": lambda url: urls.put(url) or (lambda: None), "announce": urls.put}
    server = threading.Thread(target=show_page, args=(path,), kwargs=options, daemon=True)
    server.start()
    url = urls.get(timeout=30)
    browser.show(url)
    browser.open("about:blank")
    server.join(30)
    assert not server.is_alive()
    port = int(url.split(":")[2].partition("/")[0])
    with socket.socket() as connection:
        assert connection.connect_ex(("127.0.0.1", port)) != 0


def test_a_page_of_another_site_reaches_nothing(browser, path):

    def evil(_):
        return Response(HTTPStatus.OK, b"<html></html>", "text/html")

    with page_serving(path) as (server, page), serving(LoopbackServer(evil)) as other:
        browser.open(other.origin)
        script = (
            "const done = arguments[1]; fetch(arguments[0]).then((answer) => answer.text())"
            ".then(done, (error) => done('refused: ' + error.name))"
        )
        body = {"script": script, "args": [f"{server.origin}{page.access.page_path}api/file"]}
        assert browser._ask("POST", "/execute/async", body).startswith("refused")
        browser.open("about:blank")

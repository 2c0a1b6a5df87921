"""The page's row of tools: zoom, the link to a view, and saved pictures."""

import time
from contextlib import closing

import numpy as np
import pytest
from chromium import Browser, colors, near
from hierarchies import FIXTURES
from PIL import Image
from shown_pages import RED, enter, shown, text_of, wait
from stores import writing
from written import omero, quarters, write_image

import ozx

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(chromium, downloads):
    with closing(Browser(chromium, downloads=downloads)) as session:
        yield session


@pytest.fixture
def stack(tmp_path):
    """A stack of three planes in red, green and blue, with labels."""
    with writing(tmp_path / "a.ozx") as root:
        data = np.zeros((3, 3, 1200, 700), "uint8")
        for number in range(3):
            data[number, number] = 255
        write_image(root, data, "czyx", levels=3, scale=0.5, omero=omero(*CHANNELS, defaultZ=0))
        labels = root.create_group("labels", attributes={"ome": {"version": "0.5", "labels": ["cells"]}})
        given = [{"label-value": 1, "rgba": [255, 255, 255, 255]}]
        write_image(labels, quarters(0, 0, 0, 1, "uint8", 600), "yx", label={"colors": given}, at="cells", scale=1.0)
    return tmp_path / "a.ozx"


CHANNELS = (("A", "FF0000", 0, 255), ("B", "00FF00", 0, 255), ("C", "0000FF", 0, 255))


def arrived(downloads, name):
    """Return the path of a saved file, as soon as it is complete."""
    end = time.monotonic() + 60
    while not (downloads / name).exists():
        assert time.monotonic() < end, name
        time.sleep(0.05)
    return downloads / name


def saved(downloads, name):
    """Return the pixels of a saved picture."""
    with Image.open(arrived(downloads, name)) as picture:
        return np.asarray(picture.convert("RGB"))


def choose(browser, name):
    browser.run(
        "[...document.querySelectorAll('#tools button')].find((one) => one.textContent === arguments[0]).click()", name
    )


def test_zoom_in_percent(browser, stack):
    with shown(browser, stack):
        height = browser.run("return document.getElementById('picture').height")
        assert text_of(browser, "#zoom") == f"{round(100 * height / 1200)} %"
        browser.press("+")
        assert text_of(browser, "#zoom") == f"{round(150 * height / 1200)} %"
        browser.run("document.getElementById('zoom').click()")
        browser.settle()
        assert text_of(browser, "#zoom") == "100 %"
        choose(browser, "Fit")
        browser.settle()
        assert text_of(browser, "#zoom") == f"{round(100 * height / 1200)} %"


def test_a_link_restores_the_view(browser, stack):
    with shown(browser, stack):
        browser.press("ArrowUp")
        browser.press("+")
        browser.press("3")
        enter(browser, "[aria-label='colour of B']", "#00ff80")
        enter(browser, "[aria-label='value that is full in B']", 510)
        browser.press("l")
        seen = browser.screenshot()
        wait(browser, "location.hash.includes('channel.2=1,00FF80,0,510,1') && location.hash.includes('plane.z=2')")
        fragment = browser.run("return location.hash")
        assert "labels.1=0,0.5" in fragment
        assert "channel.3=0" in fragment
    with shown(browser, stack, fragment):
        assert near(browser.screenshot(), seen, tolerance=0)
        # Another fragment in the address bar, of which parts are wrong.
        browser.run(
            "location.hash = '#at=600,350,1&plane.z=3&channel.2=1,nothing&channel.3=1,FF0000,0,255,1&labels.1=7,7'"
        )
        wait(browser, "document.querySelector('#planes .value').textContent.startsWith('3 / 3')")
        browser.settle()
        assert colors(browser, (0.5, 0.5)) == [RED]
        assert text_of(browser, "#zoom") == "100 %"


def test_a_link_leads_to_the_field_of_a_well(browser):
    with shown(browser, FIXTURES / "plate.ome.zarr", "#image=B/2/1"):
        assert "B2" in text_of(browser, "#navigation")
        assert browser.run("return document.querySelector('#navigation select').selectedIndex") == 1
        wait(browser, "location.hash.includes('image=B/2/1')")


def test_the_link_is_copied(browser, stack):
    with shown(browser, stack) as url:
        browser.run(
            "const value = { writeText: async (text) => { window.got = text; } };"
            "Object.defineProperty(navigator, 'clipboard', { value })"
        )
        choose(browser, "Link")
        wait(browser, "document.querySelector('#tools').textContent.includes('Copied')")
        assert browser.run("return window.got").startswith(f"{url}?draw=webgl#at=350,600,")


def test_the_view_is_saved_with_its_scale_bar(browser, stack, downloads):
    with shown(browser, stack):
        browser.press("ArrowUp")
        choose(browser, "This view")
        picture = saved(downloads, "a-z2.png")
        seen = browser.screenshot()
        height, width = picture.shape[:2]
        assert (height, width) == tuple(browser.run("const {width, height} = picture; return [height, width]"))
        assert near(picture, seen[:height, :width], tolerance=1)
        assert (picture[-30:, -220:].min(axis=2) > 250).sum() > 300  # the bar


@pytest.mark.parametrize("flags", [(), ("--disable-gpu", "--disable-3d-apis")])
def test_the_whole_plane_is_saved_in_full_resolution(chromium, stack, tmp_path, flags):
    with closing(Browser(chromium, *flags, downloads=tmp_path)) as session, shown(session, stack):
        session.press("+")
        choose(session, "Whole plane")
        picture = saved(tmp_path, "a-z1-full.png")
        assert picture.shape == (1200, 700, 3)
        assert set(map(tuple, picture[:500].reshape(-1, 3))) == {RED}
        assert near(picture[700:1100, 400:].reshape(-1, 3), [(255, 128, 128)])
        assert (picture[1150:].min(axis=2) > 250).sum() > 300
        wait(session, "document.getElementById('message').hidden")


@pytest.mark.parametrize(("name", "ending"), [("Region as .ozx", ".ozx"), ("Region as OME-TIFF", ".ome.tif")])
def test_the_region_in_view_is_saved_with_all_channels_and_planes(chromium, stack, tmp_path, name, ending):
    view = "#at=350,300,4&labels.1=1,0.5,outlines"
    with closing(Browser(chromium, downloads=tmp_path / "saved")) as session, shown(session, stack, view):
        width, height = session.run("const {width, height} = picture; return [width, height]")
        choose(session, name)
        path = arrived(tmp_path / "saved", f"a-crop{ending}")
        path = path if ending == ".ozx" else ozx.import_image(path, tmp_path / "again.ozx").path
        with ozx.open_image(path) as image:
            assert (image.read()[0, 0] == 255).all()
            assert image.shape[:2] == (3, 3)
            assert max(abs(image.shape[2] - height / 4), abs(image.shape[3] - width / 4)) <= 2
            assert set(image.labels) == ({"cells"} if ending == ".ozx" else set())


def test_the_plate_is_saved(browser, downloads):
    with shown(browser, FIXTURES / "plate.ome.zarr"):
        choose(browser, "Whole plane")
        assert saved(downloads, "plate-field1-full.png").shape == (128, 128, 3)
        hidden = "[...document.querySelectorAll('#tools .menu button')].map(({ hidden }) => hidden)"
        assert browser.run(f"return {hidden}") == [False, False, True, True]  # no region of several images


def test_napari_is_started_with_the_link_of_the_view(browser, stack, monkeypatch):
    views = []
    monkeypatch.setattr(
        "ozx.desktop.viewer.page_server.start_napari", lambda _, view: views.append(view) or "ozx view …"
    )
    with shown(browser, stack):
        choose(browser, "Open in napari")
        wait(browser, "document.getElementById('message').innerText.includes('ozx view …')")
        wait(browser, "location.hash")
        assert views == [browser.run("return location.hash.slice(1)")]

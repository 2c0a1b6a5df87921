"""Keeping of colours in the file, as a person does it on the page."""

import pytest
import zarr
from hierarchies import FIXTURES
from shown_pages import enter, shown, text_of, wait

import ozx

pytestmark = pytest.mark.browser


def answer(browser, name):
    browser.run("document.getElementById('keep').click()")
    assert "Keep these colours in cells.ozx?" in text_of(browser, "dialog h2")
    browser.run(
        "[...document.querySelectorAll('dialog button')].find((one) => one.textContent === arguments[0]).click()", name
    )
    wait(browser, "!document.querySelector('dialog')")


def test_colours_are_kept_after_a_question(browser, path):
    before = path.read_bytes()
    with shown(browser, path) as url:
        enter(browser, "[type=color]", "#ff0000")
        browser.press("2")
        answer(browser, "Cancel")
        assert path.read_bytes() == before
        answer(browser, "Keep")
        wait(browser, "document.getElementById('message').innerText.includes('The colours are in cells.ozx')")
        with ozx.OzxStore(path, mode="r") as store:
            first, second = zarr.open_group(store, mode="r").attrs["ome"]["omero"]["channels"]
        assert (first["color"], first["window"]["start"], first["active"]) == ("FF0000", 93, True)
        assert second["active"] is False
        browser.open("about:blank")
        browser.show(url)
        assert browser.run("return document.querySelector('[type=color]').value") == "#ff0000"
        browser.press("+")  # other tiles are read from the new file
        assert browser.run("return document.getElementById('message').hidden")


@pytest.mark.parametrize("name", ["image", "legacy"])
def test_it_is_not_offered_for_directories(browser, name):
    with shown(browser, FIXTURES / f"{name}.ome.zarr"):
        assert browser.run("return document.getElementById('keep')") is None

"""The page of "Convert to .ozx" in a real browser: what it shows, and its buttons."""

import threading

import pytest
from private_desktop import wait_for

from ozx.desktop.conversion import convert
from ozx.desktop.conversion.convert import open_progress_window

pytestmark = pytest.mark.browser

TEXT = "return document.getElementById('text').textContent"
CLICK = "document.getElementById(arguments[0]).click()"
VISIBLE = "return [...document.querySelectorAll('button')].filter(b => b.offsetParent).map(b => b.textContent)"


@pytest.fixture
def window(browser, monkeypatch):
    """A conversion whose page the browser shows."""
    monkeypatch.setattr(convert, "has_screen", lambda: False)  # for zenity
    monkeypatch.setattr(convert, "open_window", lambda url: browser.open(url) is None)
    monkeypatch.setattr(convert, "_GRACE", 0.2)
    monkeypatch.setattr("ozx.desktop.viewer.page_access._PING", 0.2)
    with open_progress_window() as window:
        yield window
        assert [line for line in browser.log() if "favicon" not in line] == []
        browser.open("about:blank")


def test_text_bar_and_cancel(window, browser):
    window.show("cells.tif (1 of 2)", 0.25)
    wait_for(lambda: browser.run(TEXT) == "cells.tif (1 of 2)")
    assert browser.run("return document.getElementById('bar').value") == 0.25
    assert browser.run(VISIBLE) == ["Cancel"]
    browser.run(CLICK, "cancel")
    wait_for(lambda: window.is_cancelled)


@pytest.mark.parametrize(("button", "expected"), [("yes", True), ("no", False)])
def test_a_question(window, browser, button, expected):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(window.ask("cells.ozx exists. Replace it?", "Replace")))
    thread.start()
    wait_for(lambda: browser.run(VISIBLE) == ["Replace", "Keep the old file", "Cancel"])
    browser.run(CLICK, button)
    thread.join(20)
    assert answers == [expected]
    wait_for(lambda: browser.run(VISIBLE) == ["Cancel"])


def test_the_result_stays_until_the_page_is_closed(window, browser):
    thread = threading.Thread(target=lambda: window.finish("cells.ozx is complete.", is_error=False))
    thread.start()
    wait_for(lambda: browser.run(TEXT) == "cells.ozx is complete.")
    assert browser.run(VISIBLE) == []
    assert thread.is_alive()
    browser.open("about:blank")
    thread.join(20)
    assert not thread.is_alive()
    assert not window.is_cancelled


def test_closing_the_page_cancels(window, browser):
    wait_for(lambda: browser.run("return document.readyState") == "complete")
    wait_for(lambda: window.access.count == 1)
    browser.open("about:blank")
    wait_for(lambda: window.is_cancelled)

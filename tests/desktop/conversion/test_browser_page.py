"""The page of a conversion: its secret address, its state, its buttons, and what closing it does."""

import json
import threading
import urllib.error
import urllib.request

import pytest
from private_desktop import wait_for

from ozx.desktop.conversion import convert
from ozx.desktop.conversion.convert import open_progress_window


class Page:
    """What a browser does with the page."""

    def __init__(self, url):
        self.url = urllib.request.urlopen(url, timeout=20).url
        self.alive = urllib.request.urlopen(f"{self.url}alive", timeout=20)

    def get(self, name):
        with urllib.request.urlopen(f"{self.url}{name}", timeout=20) as answer:
            return answer.headers, answer.read()

    def state(self):
        return json.loads(self.get("state")[1])

    def press(self, name):
        urllib.request.urlopen(urllib.request.Request(f"{self.url}{name}", method="POST"), timeout=20).close()

    def close(self):
        self.alive.close()


@pytest.fixture
def browser(monkeypatch):
    """A list of the opened addresses; closing is noticed at once."""
    opened = []
    monkeypatch.setattr(convert, "has_screen", lambda: False)  # for zenity
    monkeypatch.setattr(convert, "open_window", lambda url: opened.append(url) or True)
    monkeypatch.setattr(convert, "_GRACE", 0.1)
    monkeypatch.setattr("ozx.desktop.viewer.page_access._PING", 0.1)
    return opened


@pytest.fixture
def opened(browser):
    with open_progress_window() as window:
        page = Page(browser[0])
        yield window, page
        page.close()


def test_the_page_is_at_a_secret_address_and_safe(opened, browser):
    _, page = opened
    headers, text = page.get("")
    assert b"Convert to .ozx" in text
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    for name in ("main.js", "style.css"):
        assert page.get(name)[1]
    root = page.url.split("/", 3)[:3]
    for url in (browser[0], "/".join([*root, "state"]), "/".join([*root, "wrong/cancel"]), f"{page.url}none"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(url, timeout=20)
        assert caught.value.code == 404
        caught.value.close()


def test_progress_is_shown_and_the_button_cancels(opened):
    window, page = opened
    window.show("cells.tif", 0.5)
    state = page.state()
    assert (state["text"], state["fraction"], state["question"], state["ended"]) == ("cells.tif", 0.5, None, False)
    with pytest.raises(urllib.error.HTTPError) as caught:
        page.get("cancel")
    assert caught.value.code == 405
    caught.value.close()
    assert not window.is_cancelled
    page.press("cancel")
    assert window.is_cancelled


@pytest.mark.parametrize(("press", "expected"), [("answer?yes=1", True), ("answer?yes=0", False), ("cancel", False)])
def test_a_question_waits_for_an_answer(opened, press, expected):
    window, page = opened
    answers = []
    thread = threading.Thread(target=lambda: answers.append(window.ask("Replace it?", "Replace")))
    thread.start()
    wait_for(lambda: page.state()["question"] == "Replace it?")
    page.press(press)
    thread.join(20)
    assert answers == [expected]
    assert page.state()["question"] is None
    assert window.is_cancelled == (press == "cancel")


def test_closing_the_page_cancels(opened):
    window, page = opened
    assert not window.is_cancelled
    page.close()
    wait_for(lambda: window.is_cancelled)
    assert window.ask("Replace it?", "Replace") is False


def test_the_result_stays_until_the_page_is_closed(opened):
    window, page = opened
    thread = threading.Thread(target=lambda: window.finish("cells.ozx is complete.", is_error=False))
    thread.start()
    wait_for(lambda: page.state()["ended"])
    assert page.state()["text"] == "cells.ozx is complete."
    thread.join(0.5)
    assert thread.is_alive()
    page.close()
    thread.join(20)
    assert not thread.is_alive()
    assert not window.is_cancelled


def test_a_page_that_never_comes_cancels_nothing_and_errors_are_shown(browser, monkeypatch):
    said = []
    monkeypatch.setattr(convert, "_PATIENCE", 0.1)
    monkeypatch.setattr(convert, "show_message", said.append)
    with open_progress_window() as window:
        window.finish("complete", is_error=False)
        assert not window.is_cancelled
        window.finish("wrong", is_error=True)
    assert said == ["wrong"]

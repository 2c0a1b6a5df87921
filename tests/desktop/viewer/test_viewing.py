"""A window from its opening to its end, with a stand-in for the browser."""

import urllib.request

import pytest
from hierarchies import FIXTURES
from packed import pack_tree

from ozx.desktop.viewer import viewing
from ozx.desktop.viewer.viewing import show_page
from ozx.errors import ResourceError


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(viewing, "_GRACE", 0)
    return pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "cells.ozx")


def test_it_returns_when_the_page_is_gone(path):
    def browse(url):
        with urllib.request.urlopen(url, timeout=30) as page:  # led on from the address that works once
            assert b"<title>" in page.read()
            with urllib.request.urlopen(f"{page.url}api/alive", timeout=30) as alive:
                assert alive.readline() == b": here\n"
        return True

    told = []
    show_page(path, browser=browse, announce=told.append)
    assert told == []


def test_a_window_that_never_comes_is_an_error(path, monkeypatch):
    monkeypatch.setattr(viewing, "_PATIENCE", 0)
    with pytest.raises(ResourceError, match="did not show the page") as raised:
        show_page(path, browser=lambda _: True, announce=print)
    assert "--no-browser" in raised.value.hint


@pytest.mark.parametrize("browser", [None, lambda _: False])
def test_without_a_browser_the_address_is_told(path, monkeypatch, browser):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(viewing.Presence, "wait_for_ever", interrupt)
    told = []
    with pytest.raises(KeyboardInterrupt):
        show_page(path, browser=browser, announce=told.append)
    assert told[0].startswith("http://127.0.0.1:")

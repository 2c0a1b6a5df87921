"""A window from its opening to its end, with a stand-in for the browser."""

import subprocess
import sys
import time
import urllib.request
from functools import partial

import pytest
import zarr
from growing import growing
from hierarchies import FIXTURES
from packed import pack_tree

import ozx
from ozx.desktop.viewer import browser, viewing
from ozx.desktop.viewer.browser import check_browser
from ozx.desktop.viewer.viewing import page_serving, show_page
from ozx.errors import FormatError, ResourceError


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
        return lambda: None

    told = []
    show_page(path, browser=browse, announce=told.append)
    assert told == []


def test_a_window_that_never_comes_is_an_error(path, monkeypatch):
    monkeypatch.setattr(viewing, "_PATIENCE", 0)
    with pytest.raises(ResourceError, match="did not show the page") as raised:
        show_page(path, browser=lambda _: lambda: None, announce=print)
    assert "--no-browser" in raised.value.hint


@pytest.mark.parametrize(("root", "hint"), [(True, "do not run as root"), (False, "set BROWSER")])
def test_a_browser_that_ends_with_an_error_is_an_error_at_once(path, monkeypatch, root, hint):
    monkeypatch.setattr(browser, "_is_root", lambda: root)
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    began = time.monotonic()
    with subprocess.Popen(command) as process, pytest.raises(ResourceError, match="exit code 3") as raised:
        show_page(path, browser=lambda _: partial(check_browser, process), announce=print)
    assert time.monotonic() - began < 30
    assert hint in raised.value.hint
    assert "--no-browser" in raised.value.hint


@pytest.mark.parametrize("opening", [None, lambda _: None])
def test_without_a_browser_the_address_is_told(path, monkeypatch, opening):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("ozx.desktop.viewer.viewing.wait_for_ever", interrupt)
    told = []
    with pytest.raises(KeyboardInterrupt):
        show_page(path, browser=opening, announce=told.append)
    assert told[0].startswith("http://127.0.0.1:")


@pytest.mark.parametrize("positions", [(), ("left", "right")])
def test_a_stream_is_shown_from_its_first_frames_on(tmp_path, monkeypatch, positions):
    monkeypatch.setattr(viewing, "_PERIOD", 0.01)
    out, waits = tmp_path / "a.ozx", []
    with growing(out, positions=positions) as append:
        append(1)

        def waiting():
            waits.append(1)
            append(1)

        with page_serving(out, live=True, waiting=waiting) as (_, page):
            assert page.pictures.image("0" if positions else "").view.levels[0].shape[0] == 2
    assert waits == [1]


def test_what_cannot_be_followed(tmp_path):
    with pytest.raises(ResourceError, match="no such file"), page_serving(tmp_path / "a.ozx", live=True):
        pass
    pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "a.ozx")
    with page_serving(tmp_path / "a.ozx", live=True) as (_, page):
        assert page.pictures.image("").view.levels
    with ozx.OzxStore(tmp_path / "b.ozx", mode="w") as store:
        zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
    with pytest.raises(FormatError, match="found none"), page_serving(tmp_path / "b.ozx", live=True):
        pass

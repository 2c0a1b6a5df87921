"""The choice of the window of a conversion."""

import sys

import pytest

from ozx.desktop.conversion import browser_page, convert
from ozx.desktop.conversion.browser_page import PageWindow
from ozx.desktop.conversion.convert import NoWindow, ZenityWindow, open_progress_window

pytestmark = pytest.mark.posix("programs here are shell scripts")


@pytest.fixture(autouse=True)
def _bare(monkeypatch, tmp_path):
    """No programs of a desktop, on a screen."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")


def test_zenity_is_first(tmp_path, program):
    program(tmp_path / "bin/zenity", "#!/bin/sh\nexit 0\n")
    with open_progress_window() as window:
        assert isinstance(window, ZenityWindow)


def test_a_browser_is_next(monkeypatch):
    opened = []
    monkeypatch.setattr(browser_page, "open_window", lambda url: opened.append(url) or True)
    with open_progress_window() as window:
        assert isinstance(window, PageWindow)
    assert opened[0].startswith("http://127.0.0.1:")


def test_without_a_screen_there_is_no_window(monkeypatch, tmp_path, program):
    program(tmp_path / "bin/zenity", "#!/bin/sh\nexit 1\n")
    monkeypatch.delenv("DISPLAY")
    with open_progress_window() as window:
        assert isinstance(window, NoWindow)
        window.show("a", 0.5)
        assert not window.is_cancelled
        assert not window.ask("Replace it?", "Replace")


def test_without_a_window_errors_are_shown_as_messages(monkeypatch):
    said = []
    monkeypatch.setattr(convert, "show_message", said.append)
    NoWindow().finish("complete", is_error=False)
    NoWindow().finish("wrong", is_error=True)
    assert said == ["wrong"]

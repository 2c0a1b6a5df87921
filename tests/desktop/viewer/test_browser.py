"""Which browser is started, and how."""

import os
import shutil
import sys

import pytest

from ozx.desktop.viewer import browser
from ozx.desktop.viewer.browser import app_command, open_window

URL = "http://127.0.0.1:1/x/"


@pytest.fixture
def on(monkeypatch):
    """Return a function that chooses the system, its environment, and the programs that it has."""

    def choose(platform, environment=(), programs=()):
        monkeypatch.setattr(sys, "platform", platform)
        for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
            monkeypatch.delenv(name, raising=False)
        for name, value in dict(environment).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(shutil, "which", lambda name: name if name in programs else None)
        monkeypatch.setattr(os.path, "isfile", lambda path: path in programs)

    return choose


EDGE = "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"
CHROME, FOLDER = r"C:\Program Files\Google\Chrome\Application\chrome.exe", {"PROGRAMFILES": r"C:\Program Files"}
NAMED = "/opt/bin/google-chrome"


@pytest.mark.parametrize(
    ("platform", "environment", "programs", "expected"),
    [
        ("linux", {}, ["chromium"], "chromium"),
        ("darwin", {}, [EDGE], EDGE),
        ("win32", FOLDER, [CHROME], CHROME),
        ("linux", {}, [], None),
        ("darwin", {}, [], None),
        ("win32", FOLDER, [], None),
        # Who names a browser gets that one, in a window of its own if it is a relative of Chromium.
        ("linux", {"BROWSER": "firefox"}, ["firefox", "chromium"], None),
        ("linux", {"BROWSER": NAMED}, [NAMED], NAMED),
        ("linux", {"BROWSER": NAMED}, [], None),
    ],
)
def test_a_browser_with_windows_of_their_own_is_found(on, platform, environment, programs, expected):
    on(platform, environment, programs)
    assert app_command(URL) == (expected and [expected, f"--app={URL}"])


@pytest.fixture
def started(monkeypatch):
    """What was started, and what the default browser was asked to open."""
    found = []
    monkeypatch.setattr(browser.subprocess, "Popen", lambda command, **_: found.append(command))
    monkeypatch.setattr(browser.webbrowser, "open", lambda url: found.append(url) or True)
    return found


@pytest.mark.parametrize(
    ("platform", "environment", "programs", "expected"),
    [
        ("linux", {}, [], []),  # no screen
        ("linux", {"DISPLAY": ":0"}, ["chromium"], [["chromium", f"--app={URL}"]]),
        ("linux", {"WAYLAND_DISPLAY": ":0"}, ["chromium"], [["chromium", f"--app={URL}"]]),
        ("darwin", {}, [], [URL]),  # in the default browser
    ],
)
def test_a_window_is_opened_where_there_is_a_screen(on, started, platform, environment, programs, expected):
    on(platform, environment, programs)
    assert bool(open_window(URL)) == bool(expected)
    assert started == expected


def test_a_browser_that_does_not_start_is_left_for_the_default_one(on, started, monkeypatch):
    on("linux", {"DISPLAY": ":0"}, ["chromium"])

    def fail(*_, **__):
        raise PermissionError

    monkeypatch.setattr(browser.subprocess, "Popen", fail)
    assert open_window(URL)
    assert started == [URL]

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


@pytest.mark.parametrize(
    ("platform", "path"),
    [
        ("linux", "chromium"),
        ("darwin", "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"),
        ("win32", r"C:\Program Files\Google\Chrome\Application\chrome.exe"),
    ],
)
def test_a_browser_is_found_where_the_system_keeps_it(on, platform, path):
    on(platform, {"PROGRAMFILES": r"C:\Program Files"}, [path])
    assert app_command(URL) == [path, f"--app={URL}"]
    on(platform)
    assert app_command(URL) is None


def test_who_names_a_browser_gets_that_one(on):
    on("linux", {"BROWSER": "firefox"}, ["firefox", "chromium"])
    assert app_command(URL) is None


def test_who_names_a_relative_of_chromium_gets_a_window_of_it(on):
    named = {"BROWSER": "/opt/bin/google-chrome"}
    on("linux", named, ["/opt/bin/google-chrome"])
    assert app_command(URL) == ["/opt/bin/google-chrome", f"--app={URL}"]
    on("linux", named)
    assert app_command(URL) is None


@pytest.fixture
def started(monkeypatch):
    """What was started, and what the default browser was asked to open."""
    found = []
    monkeypatch.setattr(browser.subprocess, "Popen", lambda command, **_: found.append(command))
    monkeypatch.setattr(browser.webbrowser, "open", lambda url: found.append(url) or True)
    return found


def test_without_a_screen_nothing_is_started(on, started):
    on("linux")
    assert not open_window(URL)
    assert started == []


@pytest.mark.parametrize("screen", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_a_window_of_its_own(on, started, screen):
    on("linux", {screen: ":0"}, ["chromium"])
    assert open_window(URL)
    assert started == [["chromium", f"--app={URL}"]]


def test_else_the_default_browser(on, started):
    on("darwin")
    assert open_window(URL)
    assert started == [URL]


def test_a_browser_that_does_not_start_is_left_for_the_default_one(on, started, monkeypatch):
    on("linux", {"DISPLAY": ":0"}, ["chromium"])

    def fail(*_, **__):
        raise PermissionError

    monkeypatch.setattr(browser.subprocess, "Popen", fail)
    assert open_window(URL)
    assert started == [URL]

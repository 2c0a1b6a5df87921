"""Which browser is started, and how."""

import pytest

from ozx.desktop.viewer import browser
from ozx.desktop.viewer.browser import app_command, open_window

URL = "http://127.0.0.1:1/x/"
NOTHING = {"which": lambda _: None, "is_file": lambda _: False, "environment": {}}


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_without_chromium_there_is_no_app_window(platform):
    assert app_command(URL, platform=platform, **NOTHING) is None


@pytest.mark.parametrize(
    ("platform", "path"),
    [
        ("darwin", "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"),
        ("win32", r"C:\Program Files\Google\Chrome\Application\chrome.exe"),
    ],
)
def test_a_browser_is_found_where_the_system_keeps_it(platform, path):
    found = app_command(
        URL, platform=platform, environment={"PROGRAMFILES": r"C:\Program Files"}, is_file=lambda name: name == path
    )
    assert found == [path, f"--app={URL}"]


def test_who_names_a_browser_gets_that_one():
    assert app_command(URL, platform="linux", environment={"BROWSER": "firefox"}, which=lambda name: name) is None


def test_who_names_a_relative_of_chromium_gets_a_window_of_it():
    named = {"BROWSER": "/opt/bin/google-chrome"}
    found = app_command(URL, platform="linux", environment=named, which=lambda name: name)
    assert found == ["/opt/bin/google-chrome", f"--app={URL}"]
    assert app_command(URL, platform="linux", environment=named, which=lambda _: None) is None


@pytest.fixture
def started(monkeypatch):
    """What was started, and what the default browser was asked to open."""
    found = []
    monkeypatch.setattr(browser.subprocess, "Popen", lambda command, **_: found.append(command))
    monkeypatch.setattr(browser.webbrowser, "open", lambda url: found.append(url) or True)
    return found


def test_without_a_screen_nothing_is_started(started):
    assert not open_window(URL, platform="linux", environment={})
    assert started == []


@pytest.mark.parametrize("screen", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_a_window_of_its_own(started, monkeypatch, screen):
    monkeypatch.setattr(browser, "app_command", lambda url, **_: ["chromium", url])
    assert open_window(URL, platform="linux", environment={screen: ":0"})
    assert started == [["chromium", URL]]


def test_else_the_default_browser(started, monkeypatch):
    monkeypatch.setattr(browser, "app_command", lambda *_, **__: None)
    assert open_window(URL, platform="darwin", environment={})
    assert started == [URL]


def test_a_browser_that_does_not_start_is_left_for_the_default_one(started, monkeypatch):
    monkeypatch.setattr(browser, "app_command", lambda url, **_: ["chromium", url])

    def fail(*_, **__):
        raise PermissionError

    monkeypatch.setattr(browser.subprocess, "Popen", fail)
    assert open_window(URL, platform="linux", environment={"DISPLAY": ":0"})
    assert started == [URL]

"""Find a browser, and open a window in it, without toolbars and tabs if possible."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Mapping

__all__ = ["app_command", "open_window"]

_COMMANDS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("microsoft-edge", "microsoft-edge-stable", "brave-browser", "vivaldi-stable"),
)
_MAC = tuple(
    f"/Applications/{name}.app/Contents/MacOS/{name}"
    for name in ("Google Chrome", "Chromium", "Microsoft Edge", "Brave Browser", "Vivaldi")
)
_WINDOWS = (
    r"Google\Chrome\Application\chrome.exe",
    r"Microsoft\Edge\Application\msedge.exe",
    r"Chromium\Application\chrome.exe",
    r"BraveSoftware\Brave-Browser\Application\brave.exe",
)
_WINDOWS_ROOTS = ("LOCALAPPDATA", "PROGRAMFILES", "PROGRAMFILES(X86)")


def app_command(
    url: str,
    *,
    platform: str = sys.platform,
    environment: Mapping[str, str] = os.environ,
    which: Callable[[str], str | None] = shutil.which,
    is_file: Callable[[str], bool] = os.path.isfile,
) -> list[str] | None:
    """Return the command that opens `url` in a window of a Chromium browser; None if there is no such browser.

    If ``BROWSER`` is set, that browser is used: None, too. The other parameters let tests try other systems.
    """
    if environment.get("BROWSER"):
        return None
    if platform == "win32":
        roots = [environment[name] for name in _WINDOWS_ROOTS if environment.get(name)]
        found = next((path for root in roots for end in _WINDOWS if is_file(path := rf"{root}\{end}")), None)
    elif platform == "darwin":
        found = next(filter(is_file, _MAC), None)
    else:
        found = next(filter(None, map(which, _COMMANDS)), None)
    return None if found is None else [found, f"--app={url}"]


def open_window(url: str, *, platform: str = sys.platform, environment: Mapping[str, str] = os.environ) -> bool:
    """Open `url` in a browser; return False if there is no browser or no screen."""
    has_screen = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    if platform not in ("win32", "darwin") and not has_screen:
        return False
    command = app_command(url, platform=platform, environment=environment)
    if command is not None:
        try:
            # Left running; if the browser runs already, it takes over the window and this process ends at once.
            subprocess.Popen(  # noqa: S603 (a browser's path, and a URL of our own)
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            pass  # use the default browser
        else:
            return True
    return webbrowser.open(url)

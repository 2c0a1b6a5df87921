"""Find a browser, and open a window in it, without toolbars and tabs if possible."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import webbrowser
from collections.abc import Callable
from functools import partial

from ozx.errors import ResourceError

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


#: Raises an error once a window can no longer come.
Check = Callable[[], None]


def check_browser(process: subprocess.Popen[bytes]) -> None:
    """Check that a started browser runs, or has passed the window to another browser process.

    A browser that is already running takes over the window; the started process then ends without an error.
    """
    if code := process.poll():
        name = os.path.basename(str(process.args[0])) if isinstance(process.args, list) else "the browser"
        by_hand = "Use ozx view --no-browser and open the printed address by hand"
        raise ResourceError(
            f"{name} ended with exit code {code} and showed no page",
            hint=f"Chromium and its relatives do not run as root. Run ozx view as another user. Or u{by_hand[1:]}."
            if _is_root()
            else f"{by_hand}, or set BROWSER to another browser.",
        )


def app_command(url: str) -> list[str] | None:
    """Return the command that opens `url` in a window of a Chromium browser; None if there is no such browser.

    If ``BROWSER`` is set, only that browser is used; the result is None unless it is a Chromium browser.
    """
    wanted = os.environ.get("BROWSER")
    if wanted:
        # Not by the standard library, which would not notice if the browser ends with an error.
        found = shutil.which(wanted) if os.path.basename(wanted) in _COMMANDS else None
    elif sys.platform == "win32":
        roots = [os.environ[name] for name in _WINDOWS_ROOTS if os.environ.get(name)]
        found = next((path for root in roots for end in _WINDOWS if os.path.isfile(path := rf"{root}\{end}")), None)
    elif sys.platform == "darwin":
        found = next(filter(os.path.isfile, _MAC), None)
    else:
        found = next(filter(None, map(shutil.which, _COMMANDS)), None)
    return None if found is None else [found, f"--app={url}"]


def has_screen() -> bool:
    """Return whether programs can show windows; on Linux, an environment variable names the screen."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_window(url: str) -> Check | None:
    """Open `url` in a browser, and return the check of its window; None if there is no browser or no screen."""
    if not has_screen():
        return None
    command = app_command(url)
    if command is not None:
        try:
            # Left running. A browser that is already running takes over the window, and this process ends at once.
            process = subprocess.Popen(  # noqa: S603 (a browser's path, and a URL of our own)
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            pass  # use the default browser
        else:
            return partial(check_browser, process)
    return (lambda: None) if webbrowser.open(url) else None


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0

"""A separate desktop for tests: a home directory, a message bus and a virtual screen, with access to its pixels."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

#: Beginnings of the environment variables that tell programs their desktop.
_BELONGING = ("XDG_", "DBUS_", "GNOME_", "KDE_", "DISPLAY", "WAYLAND_")


def wait_for(condition, seconds=20, nudge=lambda: None):
    """Return the first true answer of `condition`; call `nudge` every two seconds."""
    now = time.monotonic()
    end, next_nudge = now + seconds, now + 2
    while now < end:
        answer = condition()
        if answer:
            return answer
        if now > next_nudge:
            nudge()
            next_nudge = now + 2
        time.sleep(0.05)
        now = time.monotonic()
    raise AssertionError(f"nothing came within {seconds} s")


@contextlib.contextmanager
def started(*command, **options):
    process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def private_session(folder):
    """Set a home directory in `folder` and a message bus in `os.environ`; yield the home directory."""
    home, runtime = folder / "home", folder / "run"
    home.mkdir()
    runtime.mkdir(mode=0o700)
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith(_BELONGING)]:
        del os.environ[name]
    os.environ |= {
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(runtime),
        "XDG_CURRENT_DESKTOP": "X-Generic",
        "LC_ALL": "C.UTF-8",
        "BROWSER": "false",
    }
    options = ("--session", "--nofork", "--print-address=1")
    try:
        with started("dbus-daemon", *options, stdout=subprocess.PIPE, text=True) as bus, bus.stdout:
            os.environ["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()
            yield home
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def private_screen(width=800, height=600):
    """Set a screen in `os.environ`; yield a function that returns its pixels, as rows of red, green and blue."""
    reading, writing = os.pipe()
    size = f"{width}x{height}x24"
    with tempfile.TemporaryDirectory() as folder, open(reading, encoding="ascii") as pipe:
        options = ("-screen", "0", size, "-fbdir", folder, "-nolisten", "tcp", "-displayfd", str(writing))
        with started("Xvfb", *options, pass_fds=[writing], stderr=subprocess.DEVNULL):
            os.close(writing)
            os.environ["DISPLAY"] = f":{pipe.readline().strip()}"
            yield lambda: _read_window_dump((Path(folder) / "Xvfb_screen0").read_bytes())
            del os.environ["DISPLAY"]


def press(*command):
    subprocess.run(["xdotool", *map(str, command)], check=True)


def reload():
    """Let a file manager read the folder again, as a user does.

    Thunar 4.18 requests the first thumbnails several times at once, and tumbler 4.18 writes all answers under one
    temporary name. If the last answer fails, Thunar shows the icon.
    """
    press("key", "F5")


def _read_window_dump(data):
    head = np.frombuffer(data, ">u4", 25)
    header, width, height, line, colors = (int(head[number]) for number in (0, 4, 5, 12, 19))
    offset = header + 12 * colors
    pixels = np.frombuffer(data, np.uint8, height * line, offset).reshape(height, line // 4, 4)
    return pixels[:, :width, 2::-1]

"""A headless Chromium that tests steer by the WebDriver protocol, and pictures of what it shows."""

from __future__ import annotations

import base64
import json
import shutil
import struct
import subprocess
import threading
import urllib.request
import zlib
from contextlib import contextmanager

import numpy as np

SETTLED = """
const done = arguments[arguments.length - 1], root = document.documentElement;
const state = () => ["settled", "failed"].includes(root.dataset.state) && done(root.dataset.state);
new MutationObserver(state).observe(root, {attributes: true});
state();
"""
# WebGL without a graphics card; and nothing that Chromium does for itself in the background.
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--force-device-scale-factor=1", "--hide-scrollbars", "--disable-dev-shm-usage"),
)


def missing_programs() -> list[str]:
    """Return which of the programs needed are not installed."""
    return [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]


class Browser:
    """One session of a browser."""

    def __init__(self, driver: str, *arguments: str) -> None:
        options = {"binary": shutil.which("chromium"), "args": [*OPTIONS, *arguments]}
        wanted = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
        self._driver = driver
        self._session = ""
        self._session = f"/session/{self._ask('POST', '/session', {'capabilities': wanted})['sessionId']}"
        self._ask("POST", "/window/rect", {"width": 900, "height": 700})

    def _ask(self, method, path, body=None):
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self._driver + self._session + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(json.load(error)["value"]["message"]) from None

    def open(self, url: str) -> None:
        """Load a page."""
        self._ask("POST", "/url", {"url": url})

    def run(self, script: str, *arguments):
        """Return what a function with this body returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def settle(self) -> str:
        """Wait until all that is in view is drawn; return the page's state."""
        return self._ask("POST", "/execute/async", {"script": SETTLED, "args": []})

    def show(self, url: str) -> None:
        """Load a page and wait for its picture."""
        self.open(url)
        state = self.settle()
        assert state == "settled", (self.run("return document.getElementById('message').textContent"), self.log())

    def press(self, key: str) -> None:
        """Press a key, and wait for what it changes to be drawn."""
        self.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))", key)
        self.settle()

    def pointer(self, *steps: dict) -> None:
        """Move and click the mouse."""
        action = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": list(steps)}
        self._ask("POST", "/actions", {"actions": [action]})

    def move(self, x: int, y: int) -> None:
        """Move the mouse to a point of the window."""
        self.pointer({"type": "pointerMove", "duration": 0, "x": x, "y": y})

    def click(self, x: int, y: int) -> None:
        """Click at a point of the window."""
        self.pointer(
            {"type": "pointerMove", "duration": 0, "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        )

    def screenshot(self) -> np.ndarray:
        """Return the window's pixels, rows × columns × red, green, blue."""
        return decode_png(base64.b64decode(self._ask("GET", "/screenshot")))

    def save(self, path) -> None:
        """Write the window's pixels as a PNG."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._ask("GET", "/screenshot")))

    def log(self) -> list[str]:
        """Return what the page said on its console since this was last called."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def close(self) -> None:
        """End the session, and with it the browser; does nothing the second time."""
        if self._session:
            self._ask("DELETE", "")
            self._session = ""


@contextmanager
def driver():
    """Give the address of a running chromedriver; it is stopped at the end."""
    command = [shutil.which("chromedriver"), "--port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        line = next(line for line in process.stdout if "successfully on port" in line)
        # Nobody else reads what it says later, and it must not wait for that.
        reader = threading.Thread(target=process.stdout.read)
        reader.start()
        try:
            port = line.rstrip(".\n").rpartition(" ")[2]
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()
            reader.join()


def decode_png(data: bytes) -> np.ndarray:
    """Return the pixels of a PNG as Chromium writes it: 8 bits, not interlaced; transparency is left out."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    offset, body, header = 8, b"", ()
    while offset < len(data):
        length, kind = struct.unpack_from(">I4s", data, offset)
        content = data[offset + 8 : offset + 8 + length]
        header = struct.unpack(">IIBBBBB", content) if kind == b"IHDR" else header
        body += content if kind == b"IDAT" else b""
        offset += length + 12
    width, height, depth, color, _, _, interlaced = header
    assert (depth, interlaced) == (8, 0)
    channels = {2: 3, 6: 4}[color]
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, 1 + width * channels)
    pixels = np.zeros((height, width, channels), np.uint8)
    above = np.zeros((width, channels), np.int32)
    for number, row in enumerate(rows):
        above = _unfilter(int(row[0]), row[1:].reshape(width, channels).astype(np.int32), above)
        pixels[number] = above
    return pixels[..., :3]


def _unfilter(kind, line, above):
    # PNG specification, 9.2: none, sub, up, average, Paeth.
    if kind == 0:
        return line
    if kind == 1:
        return np.cumsum(line, axis=0) & 255
    if kind == 2:
        return (line + above) & 255
    out = np.zeros_like(line)
    left = upper_left = np.zeros(line.shape[1], np.int32)
    for x in range(len(line)):
        up = above[x]
        if kind == 3:
            guess = (left + up) >> 1
        else:
            base = left + up - upper_left
            near = [np.abs(base - part) for part in (left, up, upper_left)]
            guess = np.where(
                (near[0] <= near[1]) & (near[0] <= near[2]), left, np.where(near[1] <= near[2], up, upper_left)
            )
        left, upper_left = (line[x] + guess) & 255, up
        out[x] = left
    return out

"""A headless Chromium that tests control by the WebDriver protocol, and pictures of its window."""

import base64
import json
import shutil
import subprocess
import threading
import urllib.request
from contextlib import contextmanager
from io import BytesIO

import numpy as np
from PIL import Image

SETTLED = """
const done = arguments[arguments.length - 1], root = document.documentElement;
const state = () => ["settled", "failed"].includes(root.dataset.state) && done(root.dataset.state);
new MutationObserver(state).observe(root, {attributes: true});
state();
"""
# WebGL without a graphics card, and no background work of Chromium.
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--force-device-scale-factor=1", "--hide-scrollbars", "--disable-dev-shm-usage"),
)


# The height of a window that headless Chromium does not give to the page.
FRAME = 143


def missing_programs() -> list[str]:
    return [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]


class Browser:
    """One session of a browser.

    `loading` defines how long `open` waits: ``normal``, or ``eager``; without `listens`, no requests are recorded;
    `downloads` is the folder for saved files.
    """

    def __init__(
        self, driver: str, *arguments: str, loading: str = "normal", listens: bool = True, downloads=None
    ) -> None:
        wanted = {
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": [*OPTIONS, *arguments]},
            "goog:loggingPrefs": {"browser": "ALL"} | ({"performance": "ALL"} if listens else {}),
            "pageLoadStrategy": loading,
        }
        if downloads is not None:
            wanted["goog:chromeOptions"]["prefs"] = {"download.default_directory": str(downloads)}
        self._driver = driver
        self._session = ""
        self._session = (
            f"/session/{self._ask('POST', '/session', {'capabilities': {'alwaysMatch': wanted}})['sessionId']}"
        )
        self.resize(900, 557)

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

    def resize(self, width: int, height: int) -> None:
        self._ask("POST", "/window/rect", {"width": width, "height": height + FRAME})

    def open(self, url: str) -> None:
        self._ask("POST", "/url", {"url": url})

    def run(self, script: str, *arguments):
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def settle(self) -> str:
        """Wait until everything in view is drawn; return the state of the page."""
        return self._ask("POST", "/execute/async", {"script": SETTLED, "args": []})

    def show(self, url: str) -> None:
        self.open(url)
        state = self.settle()
        assert state == "settled", (self.run("return document.getElementById('message').textContent"), self.log())

    def press(self, key: str) -> None:
        self.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))", key)
        self.settle()

    def pointer(self, *steps: dict) -> None:
        action = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": list(steps)}
        self._ask("POST", "/actions", {"actions": [action]})

    def move(self, x: int, y: int) -> None:
        self.pointer({"type": "pointerMove", "duration": 0, "x": x, "y": y})

    def click(self, x: int, y: int) -> None:
        self.pointer(
            {"type": "pointerMove", "duration": 0, "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        )

    def screenshot(self) -> np.ndarray:
        with Image.open(BytesIO(base64.b64decode(self._ask("GET", "/screenshot")))) as picture:
            return np.asarray(picture.convert("RGB"))

    def save(self, path) -> None:
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._ask("GET", "/screenshot")))

    def log(self) -> list[str]:
        """Return the messages on the console of the page since the last call."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """Return the URL of every request of the browser since the last call, from any of its parts."""
        told = [
            json.loads(entry["message"])["message"] for entry in self._ask("POST", "/se/log", {"type": "performance"})
        ]
        return [event["params"]["request"]["url"] for event in told if event["method"] == "Network.requestWillBeSent"]

    def close(self) -> None:
        """End the session and its browser; a second call does nothing."""
        if self._session:
            self._ask("DELETE", "")
            self._session = ""


def colors(browser, *places, size=(1, 1)):
    """Return the colours at places of the image, each as (x, y) from 0 to 1; the whole image has to be in view."""
    box = "const {left, top, width, height} = document.getElementById('picture').getBoundingClientRect();"
    box = browser.run(f"{box} return [left, top, width, height]")
    left, top, width, height = box
    zoom = min(width / size[0], height / size[1])
    pixels = browser.screenshot()
    found = []
    for x, y in places:
        column = left + width / 2 + (x - 0.5) * size[0] * zoom
        row = top + height / 2 + (y - 0.5) * size[1] * zoom
        found.append(tuple(int(part) for part in pixels[int(row), int(column)]))
    return found


def near(found, expected, tolerance=3):
    return np.abs(np.array(found, int) - np.array(expected, int)).max() <= tolerance


@contextmanager
def driver():
    """Yield the address of a running chromedriver; stop it at the end."""
    command = [shutil.which("chromedriver"), "--port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        line = next(line for line in process.stdout if "successfully on port" in line)
        # Read the later output, so that chromedriver does not wait for a reader.
        reader = threading.Thread(target=process.stdout.read)
        reader.start()
        try:
            port = line.rstrip(".\n").rpartition(" ")[2]
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()
            reader.join()

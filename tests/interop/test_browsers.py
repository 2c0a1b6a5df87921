"""What web viewers show of a served file: zarrita and Viv in Node, neuroglancer and a page of Viv in Chromium."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chromium import Browser, driver, missing_programs
from hierarchies import FIXTURES
from judges import NODE
from PIL import Image
from servers import serving_folder

import ozx

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

pytestmark = [pytest.mark.ci, pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")]

HERE = Path(__file__).parent
#: How `ozx serve` shows a file: as it is, and as OME-Zarr 0.4.
VIEWS = {"0.5": ["|zarr3:"], "0.4": ["|zarr2:", "--ome-version", "0.4"]}
PLANE = (np.add.outer(np.arange(96) * 3, np.arange(120) * 2) % 251).astype("uint8")
#: Six images: one of chunks, a field of a plate, three codecs, and one in shards.
IMAGES = ("image", "plate/A/1/0", "none", "zstd", "gzip", "shards")


def make(name: str, folder: Path) -> Path:
    """Write an image, or pack that of the fixtures."""
    path = folder / f"{name.partition('/')[0]}.ozx"
    if name in ("none", "zstd", "gzip", "shards"):
        pixels, chunks = np.stack([PLANE, PLANE[::-1]]), {"y": 32, "x": 32}
        shards, codec = ({"y": 64, "x": 64}, "zstd") if name == "shards" else ("none", name)
        ozx.write_image(path, pixels, axes="cyx", pixel_size="0.5um", chunks=chunks, shards=shards, codec=codec)
    else:
        ozx.pack(FIXTURES / f"{path.stem}.ome.zarr", path)
    return path


@contextmanager
def served(path: Path, *options: str) -> Iterator[str]:
    """Serve a file by the command; yield its URL."""
    command = [sys.executable, "-m", "ozx", "serve", str(path), "--cors", "*", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    if missing := missing_programs():
        pytest.skip(f"not installed: {', '.join(missing)}")
    with driver() as address:
        one = Browser(address, f"--user-data-dir={folder / 'profile'}")
        try:
            yield one
        finally:
            one.close()


def ask_node(script: str, url: str, out: Path) -> dict[str, Any]:
    done = subprocess.run(["node", NODE / script, url, out], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("version", VIEWS)
@pytest.mark.parametrize("name", IMAGES)
def test_zarrita_and_viv_read_the_pixels_and_sizes_of_a_served_image(name, version, tmp_path):
    path, node = make(name, tmp_path), name.partition("/")[2]
    image = ozx.open_image(path, node)
    with served(path, *VIEWS[version][1:]) as url:
        shown = f"{url}/{node}".rstrip("/")
        told = ask_node("viv.mjs", shown, tmp_path / "viv")
        array = ask_node("zarrita_url.mjs", f"{shown}/0", tmp_path / "zarrita")
    assert [tuple(level["shape"]) for level in told["levels"]] == [level.shape for level in image.levels]
    assert [tuple(steps[0]["scale"]) for steps in told["scales"]] == [level.scale for level in image.levels]
    pixels = image.read()
    assert array == {"dtype": pixels.dtype.name, "shape": list(pixels.shape)}
    for judge in ("viv", "zarrita"):
        assert (tmp_path / judge).read_bytes() == pixels.tobytes(), judge


@pytest.mark.parametrize("version", VIEWS)
@pytest.mark.parametrize("name", IMAGES)
def test_neuroglancer_shows_a_served_image_in_chromium(name, version, tmp_path):
    pytest.importorskip("neuroglancer")
    path, node = make(name, tmp_path), name.partition("/")[2]
    kind, *options = VIEWS[version]
    out = tmp_path / "picture.png"
    with served(path, *options) as url, browser(tmp_path) as page:
        source = f"{url}/{node}".rstrip("/") + f"/{kind}"
        command = [sys.executable, HERE / "neuroglancer_picture.py", source, out]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            page.open(process.stdout.readline().strip())
            state = json.loads(process.communicate(timeout=120)[0])
    image = ozx.open_image(path, node)
    axes = [axis.name for axis in image.axes]
    sizes = dict(zip(axes, image.scale, strict=True))
    assert state["displayDimensions"] == ["x", "y"]
    for axis, (size, unit) in state["dimensions"].items():
        assert (size, unit) == (pytest.approx(sizes[axis] * (1 if axis == "t" else 1e-6)), "s" if axis == "t" else "m")
    at = dict(zip(state["dimensions"], state["position"], strict=True)) | {"c": state["layers"][0]["localPosition"][0]}
    plane = image.read()[tuple(int(at[axis]) for axis in axes[:-2])]
    # The centre of a pixel lies on the corner of four pixels of the screen, of which the lower ones show it.
    top, left = (255 - int(at[axis]) for axis in "yx")
    shown = np.asarray(Image.open(out).convert("RGB"))[top : top + plane.shape[0], left : left + plane.shape[1]]
    values = shown[..., :2].astype(int) @ (1, 256)
    inner = slice(1, -1)  # on the outermost pixels lies the line around the image
    assert np.array_equal(values[inner, inner], plane[inner, inner])


@pytest.mark.parametrize("version", VIEWS)
def test_a_page_of_viv_shows_a_served_plate_in_chromium(version, tmp_path):
    path = make("plate", tmp_path)
    bundle = [NODE / "node_modules" / ".bin" / "esbuild", NODE / "viv_page.mjs", "--bundle", "--format=esm"]
    script = subprocess.run(bundle, stdout=subprocess.PIPE, text=True, check=True).stdout
    page = f'<!doctype html><body style="margin:0"><script type="module">{script}</script>'
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    with served(path, *VIEWS[version][1:]) as url, serving_folder(tmp_path) as site, browser(tmp_path) as window:
        site.headers = {"Content-Type": "text/html; charset=utf-8"}
        window.open(f"{site.url}/index.html?source={url}")
        wells = [(row, column) for row in range(2) for column in range(2)]
        expected = {at: ozx.open_image(path, f"{'AB'[at[0]]}/{at[1] + 1}/0").read()[0] for at in wells}
        assert wait_until_shown(window, expected) == set(wells), "\n".join(window.log())


def wait_until_shown(window: Browser, expected: dict[tuple[int, int], npt.NDArray[Any]]) -> set[tuple[int, int]]:
    """Wait until the page shows the pixels of all wells, a minute at most; return the wells that it shows."""
    right: set[tuple[int, int]] = set()
    for _ in range(120):
        shown = window.screenshot()[..., 0].astype(int)
        for (row, column), field in expected.items():
            top, left = row * 72, column * 72  # 64 pixels and the gap of the page
            if np.abs(shown[top : top + 64, left : left + 64] - field).max() <= 1:
                right.add((row, column))
        if len(right) == len(expected):
            break
        time.sleep(0.5)
    return right

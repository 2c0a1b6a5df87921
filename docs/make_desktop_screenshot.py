"""Write docs/screenshots/desktop.png: .ozx files in a file manager after ``ozx associate``.

``python docs/make_desktop_screenshot.py [OUT]`` draws some images, packs them, and shows them with Thunar, in a
temporary home directory and on a virtual screen. The script needs the same programs as the tests with the marker
``desktop``. If root runs the script, Thunar shows a warning above the files.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from PIL import Image

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "tests"))

from pictures import add_image, omero  # noqa: E402
from private_desktop import press, private_screen, private_session, reload, started, wait_for  # noqa: E402

import ozx  # noqa: E402
from ozx.desktop.association.associate import associate  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Plane = NDArray[np.floating[Any]]

SIZE = 320
WINDOW = (700, 420)
BLUE, GREEN, RED, AMBER, MAGENTA, CYAN = "3A7BFF", "30D060", "FF4040", "FFB000", "FF30C0", "30E0E0"
# Settings of Thunar: thumbnails of 128 pixels, and no side pane.
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<channel name="thunar" version="1.0">
  <property name="last-icon-view-zoom-level" type="string" value="THUNAR_ZOOM_LEVEL_200_PERCENT"/>
  <property name="last-window-width" type="int" value="{}"/>
  <property name="last-window-height" type="int" value="{}"/>
  <property name="last-location-bar" type="string" value="ThunarLocationButtons"/>
  <property name="last-side-pane" type="string" value="void"/>
</channel>
"""


def main() -> None:
    """Draw and pack images, run ``ozx associate``, and write a screenshot of the file manager."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "screenshots" / "desktop.png"
    with tempfile.TemporaryDirectory() as folder, private_session(Path(folder)) as home:
        images = home / "microscopy"
        images.mkdir()
        make_files(images, Path(folder))
        settings = home / ".config/xfce4/xfconf/xfce-perchannel-xml/thunar.xml"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS.format(*WINDOW), encoding="utf-8")
        associate()
        with private_screen() as screen, started("thunar", str(images), stderr=subprocess.DEVNULL):
            thumbnails = home / ".cache/thumbnails"
            wanted = len(list(images.glob("*.ozx")))
            wait_for(lambda: len(list(thumbnails.glob("*/*.png"))) >= wanted, 60)
            reload()
            press("mousemove", WINDOW[0] + 50, WINDOW[1] + 50)
            picture = at_rest(screen)[: WINDOW[1], : WINDOW[0]]
    image = Image.fromarray(picture).quantize(128, dither=Image.Dither.NONE)
    image.save(out, optimize=True)


def at_rest(screen: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Return a picture of the screen when it has not changed for two seconds, or after 40 seconds."""
    picture = screen()
    for _ in range(20):
        time.sleep(2)
        before, picture = picture, screen()
        if np.array_equal(before, picture):
            break
    return picture


def make_files(folder: Path, scratch: Path) -> None:
    """Write .ozx files and one text file to `folder`."""
    noise = np.random.default_rng(4)
    places = np.stack(np.mgrid[20:SIZE:40, 20:SIZE:40], -1).reshape(-1, 2)
    centers = places + noise.uniform(-13, 13, places.shape)
    nuclei, membranes = cells(centers)
    lines = filaments(noise)
    disk = centers[np.hypot(*(centers - SIZE / 2).T) < SIZE * 0.36]
    embryo, shell = cells(disk)[0], ring(SIZE * 0.42)
    scenes = {
        "cells": {BLUE: nuclei, AMBER: membranes},
        "filaments": {GREEN: lines, BLUE: nuclei * 0.8},
        "embryo #3": {MAGENTA: embryo, CYAN: shell},
        "beads": {"FFFFFF": spots(places, 5)},
        "Zellränder": {RED: membranes, GREEN: spots(noise.uniform(0, SIZE, (150, 2)), 2.5)},
    }
    for name, channels in scenes.items():
        pixels = [noise.poisson(plane.clip(0, 1) * 900 + 30) for plane in channels.values()]
        tree = scratch / f"{name}.ome.zarr"
        group = zarr.create_group(str(tree))
        add_image(group, [np.array(pixels, np.uint16)], "cyx", omero=omero(*((color, 60, 950) for color in channels)))
        ozx.pack(tree, folder / f"{name}.ozx")
    ozx.pack(HERE.parent / "fixtures/plate.ome.zarr", folder / "plate.ozx")
    (folder / "notes.txt").write_text("What was measured, when and why.\n", encoding="utf-8")


def distances(points: Plane) -> Plane:
    """Return, for each pixel, the distances to all points, the nearest first."""
    y, x = np.mgrid[:SIZE, :SIZE]
    found = np.hypot(y[..., None] - points[:, 0], x[..., None] - points[:, 1])
    found.sort(axis=-1)
    return found


def cells(centers: Plane) -> tuple[Plane, Plane]:
    """Return nuclei around the points, and membranes half-way between neighbouring points."""
    found = distances(centers)
    nearest, second = found[..., 0], found[..., 1]
    return np.clip((13 - nearest) / 5, 0, 1), np.exp(-((second - nearest) ** 2) / 8)


def spots(centers: Plane, radius: float) -> Plane:
    """Return soft spots at some points."""
    return np.exp(-((distances(centers)[..., 0] / radius) ** 2))


def ring(radius: float) -> Plane:
    """Return a ring around the middle."""
    return np.exp(-(((distances(np.full((2, 2), SIZE / 2))[..., 0] - radius) / 5) ** 2))


def filaments(noise: np.random.Generator) -> Plane:
    """Return lines that wander through the plane."""
    plane = np.zeros((SIZE, SIZE))
    for _ in range(45):
        place, direction = noise.uniform(0, SIZE, 2), noise.uniform(0, 2 * np.pi)
        for _ in range(400):
            direction += noise.normal(0, 0.06)
            place += np.sin(direction), np.cos(direction)
            y, x = place.astype(int) % SIZE
            plane[y, x] = 1
    # Two pixels wide.
    return np.maximum(plane, np.maximum(np.roll(plane, 1, 0), np.roll(plane, 1, 1)))


if __name__ == "__main__":
    main()

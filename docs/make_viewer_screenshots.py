"""Write the screenshots of the viewer that the documents show: ``python docs/make_viewer_screenshots.py``.

The script needs Chromium and its driver. It makes the images from the same artificial cells as fixtures/.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import zarr
from PIL import Image

from ozx import OzxStore
from ozx.desktop.viewer.viewing import page_serving

sys.path.append(str(Path(__file__).parents[1] / "fixtures"))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "desktop" / "viewer"))
from chromium import Browser, driver
from make_fixtures import (
    ZSTD,
    Layout,
    describe_labels,
    describe_multiscale,
    expose,
    make_pyramid,
    make_scene,
    make_texture,
    write_image,
    write_levels,
)

HERE = Path(__file__).parent
SIZE = (920, 600)
QUALITY = 70
DRUGS = 6  # columns of the plate
COMPOUND = {("B", 5), ("D", 6)}  # wells without images


def make_cells(path: Path) -> None:
    """Write three channels of a stack of five planes, and its cells as labels."""
    height, width = 600, 672
    scene = make_scene(7, height, width, radius=34.0, count=110)
    threads = np.clip(make_texture(5, height, width, 9.0), 0.1, None) * (scene.cytoplasm > 0.12)
    focus = np.exp(-(((np.arange(5) - 2) / 1.8) ** 2))
    planes = [
        np.stack([expose(signal * sharp, 40 + number, "uint16") for sharp in focus])
        for number, signal in enumerate((scene.nuclei, scene.cytoplasm, 0.7 * threads))
    ]
    with OzxStore(path, mode="w", sync=False) as store:
        image = zarr.create_group(store)
        levels = make_pyramid(np.stack(planes), 3, "mean")
        write_image(image, "Cells", levels, Layout("czyx", (1, 1, 256, 256), (ZSTD,)), default_z=2)
        ome = dict(image.attrs["ome"])
        ends = (2100, 1800, 900)
        ome["omero"]["channels"] = [
            {
                "label": label,
                "color": color,
                "active": True,
                "window": {"start": 100, "end": end, "min": 0, "max": 65535},
            }
            for (label, color), end in zip(
                (("Nuclei", "3A7BFF"), ("Actin", "28C850"), ("Mitochondria", "FF30B0")), ends, strict=True
            )
        ]
        image.attrs["ome"] = ome
        labels = image.create_group("labels", attributes={"ome": {"version": "0.5", "labels": ["cells"]}})
        multiscale = describe_multiscale("cells", "yx", 3, "nearest")
        told = {"version": "0.5", "multiscales": [multiscale], "image-label": describe_labels(scene.cells)}
        cells = labels.create_group("cells", attributes={"ome": told})
        write_levels(cells, make_pyramid(scene.cells, 3, "nearest"), Layout("yx", (256, 256), (ZSTD,)))


def make_plate(path: Path) -> None:
    """Write a plate of 4 × 6 wells; each column has fewer cells than the column before."""
    places = [(row, column) for row in "ABCD" for column in range(1, DRUGS + 1) if (row, column) not in COMPOUND]
    plate = {
        "name": "Dose response",
        "rows": [{"name": row} for row in "ABCD"],
        "columns": [{"name": str(column)} for column in range(1, DRUGS + 1)],
        "wells": [
            {"path": f"{row}/{column}", "rowIndex": "ABCD".index(row), "columnIndex": column - 1}
            for row, column in places
        ],
    }
    with OzxStore(path, mode="w", sync=False) as store:
        root = zarr.create_group(store, attributes={"ome": {"version": "0.5", "plate": plate}})
        for number, (row, column) in enumerate(places):
            well = root.require_group(row).create_group(
                str(column), attributes={"ome": {"version": "0.5", "well": {"images": [{"path": "0"}]}}}
            )
            scene = make_scene(300 + number, 128, 128, radius=11.0, count=64 - 10 * column)
            signals = scene.nuclei * (0.5 + 0.1 * column), scene.cytoplasm
            pixels = np.stack([expose(signal, number + 7, "uint8") for signal in signals])
            levels = make_pyramid(pixels, 2, "mean")
            write_image(well.create_group("0"), f"{row}{column}", levels, Layout("cyx", (1, 128, 128), (ZSTD,)))


def take(browser: Browser, path: Path, name: str, *scripts: str) -> None:
    """Show a file, run `scripts` in the page, and store a screenshot as a JPEG."""
    with page_serving(path) as (server, page):
        browser.show(server.origin + page.access.page_path)
        for script in scripts:
            browser.run(script)
            browser.settle()
        seen = Image.fromarray(browser.screenshot())
        out = HERE / "screenshots" / name
        out.parent.mkdir(exist_ok=True)
        seen.save(out, quality=QUALITY, subsampling=2, optimize=True)
        print(f"{out.relative_to(HERE.parent)}: {out.stat().st_size:,} bytes")  # noqa: T201
        browser.open("about:blank")


def main() -> None:
    """Write all screenshots."""
    hide_labels = "document.querySelector('#labels input').click()"
    with tempfile.TemporaryDirectory() as temporary, driver() as address:
        cells, plate = Path(temporary) / "cells.ozx", Path(temporary) / "plate.ozx"
        make_cells(cells)
        make_plate(plate)
        browser = Browser(address, f"--window-size={SIZE[0]},{SIZE[1]}", listens=False)
        try:
            browser.resize(*SIZE)
            take(browser, cells, "viewer.jpg", hide_labels)
            take(browser, plate, "viewer-plate.jpg")
        finally:
            browser.close()


if __name__ == "__main__":
    main()

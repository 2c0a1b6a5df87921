"""A developer of an image tool, after the README and "Read an image in Python": a reader and a writer, first draft."""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ozx


# The reader of my tool: what a table of files shows, and pixels for the screen.
def describe(source: str | Path | io.BytesIO) -> dict[str, Any]:
    """Return what my tool lists about an image."""
    with ozx.open_image(source) as image:
        sizes = {axis.name: axis.size for axis in image.axes}
        return {
            "name": image.name,
            "sizes": sizes,
            "unit": image.axes[-1].unit,
            "pixel": None if image.scale is None else image.scale[-1],
            "channels": [(channel.name, channel.color, channel.contrast) for channel in image.channels],
            "labels": list(image.labels),
            "preview": image.thumbnail(64).shape,
        }


def window(source: str | Path | io.BytesIO, channel: str, microns: tuple[float, float]) -> NDArray[Any]:
    """Return a square of one channel, in micrometers."""
    with ozx.open_image(source) as image:
        return image.read(channels=channel, region={"y": microns, "x": microns}, unit="um")


def objects(source: Path, name: str) -> int:
    """Return how many objects a segmentation has."""
    with ozx.open_image(source) as image:
        return int(image.labels[name].read().max())


def well(plate: Path, name: str) -> list[NDArray[Any]]:
    """Return the fields of a well."""
    with ozx.open_image(plate) as image:
        return [image.fields[path].read() for path in image.wells[name]]


# The writer of my tool: to a file, or to bytes that a web service sends.
def save(target: str | Path | io.BytesIO, pixels: NDArray[Any], mask: NDArray[Any] | None = None) -> str:
    """Write two channels; return a sentence for the user."""
    try:
        result = ozx.write_image(
            target,
            pixels,
            axes="cyx",
            pixel_size=0.5,
            unit="micrometer",
            channel_names=["DAPI", "GFP"],
            name="Cells",
            labels={} if mask is None else {"cells": mask},
        )
    except ozx.UsageError as error:
        return f"not written: {error.message}"
    except ozx.ResourceError as error:
        return f"disk: {error}"
    return f"{result.bytes > 0}: {result.entries} entries"


def fault(source: str | Path) -> str:
    """Return which of the errors a file raises."""
    try:
        ozx.read(source)
    except FileNotFoundError:
        return "missing"
    except ozx.FormatError as error:
        return f"damaged: {error.rule}"
    except ozx.UsageError as error:
        return f"call: {error.message}"
    return "whole"


def main(plate: Path) -> None:
    """Use all of it once."""
    pixels = np.random.default_rng(0).integers(0, 4000, (2, 200, 300), dtype="uint16")
    mask = np.zeros((200, 300), "uint8")
    mask[20:40, 20:40] = 7
    assert save(Path("cells.ozx"), pixels, mask).startswith("True: ")
    assert save(Path("cells.ozx"), pixels) == "not written: the file exists already"
    assert describe("cells.ozx")["sizes"] == {"c": 2, "y": 200, "x": 300}
    assert (describe("cells.ozx")["pixel"], describe("cells.ozx")["unit"]) == (0.5, "micrometer")
    assert describe("cells.ozx")["labels"] == ["cells"]
    assert np.array_equal(window("cells.ozx", "GFP", (10, 60)), pixels[1, 20:120, 20:120])
    assert objects(Path("cells.ozx"), "cells") == 7

    memory = io.BytesIO()
    assert save(memory, pixels).startswith("True: ")
    assert describe(memory)["name"] == "Cells"
    assert np.array_equal(window(io.BytesIO(memory.getvalue()), "DAPI", (0, 50)), pixels[0, :100, :100])

    packed = Path(ozx.pack(plate, "plate.ozx").path)
    assert [field.shape for field in well(packed, "A/1")] == [(2, 64, 64), (2, 64, 64)]
    assert np.array_equal(ozx.read("plate.ozx/A/1/0"), well(packed, "A/1")[0])
    try:
        well(packed, "H/9")
    except KeyError as error:
        told = str(error)
    assert "A/1, A/2, B/1, B/2" in told

    Path("cut.ozx").write_bytes(Path("cells.ozx").read_bytes()[:5000])
    found = [fault(name) for name in ("cells.ozx", "none.ozx", "cut.ozx", "plate.ozx/A/1")]
    assert found[:3] == ["whole", "missing", "damaged: zip/truncated"]
    assert found[3].startswith("call: expected one image")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

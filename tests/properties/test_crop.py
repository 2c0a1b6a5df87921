"""A crop of a random image has the pixels of numpy's slice, and the levels that `ozx.write_image` makes of the slice.

`OZX_CROPS=2000 pytest tests/properties/test_crop.py` tries as many images; `OZX_SEED=N` begins with another one.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import ozx

CROPS = int(os.environ.get("OZX_CROPS", "36"))
FIRST = int(os.environ.get("OZX_SEED", "0")) or (random.randrange(1 << 40) if os.environ.get("OZX_RANDOM") else 0)
AXES = ["yx", "cyx", "zyx", "tyx", "czyx", "tczyx"]
LONGEST = {"t": 3, "c": 4, "z": 9}
# The least length along y and x of an image with z: an axis of one pixel is not halved, so that voxels get another
# shape, by which `ozx.write_image` may choose other axes to halve than those of the source.
LEAST = 9


def least_of(axes: str, axis: str) -> int:
    """Return the least length of an axis of an image or a region."""
    return LEAST if "z" in axes and axis in "yx" else 1


def make_image(draw: random.Random) -> tuple[np.ndarray[Any, Any], str, dict[str, Any]]:
    """Return pixels, their axes, and how they are written."""
    axes = draw.choice(AXES)
    long = draw.choice(["yx", "y", "x", ""])  # axes that are long enough to be halved
    shape = tuple(
        draw.randint(260, 700) if axis in long else draw.randint(least_of(axes, axis), LONGEST.get(axis, 90))
        for axis in axes
    )
    if np.prod(shape) > 2_000_000:
        shape = tuple(min(length, 2) if axis in "tcz" else length for axis, length in zip(axes, shape, strict=True))
    dtype = draw.choice(["uint8", "uint16", "int32", "float32", "bool", "uint64"])
    rng = np.random.default_rng(draw.randrange(1 << 40))
    pixels = rng.integers(0, draw.choice([2, 3000]), shape).astype(dtype)
    chunks = {axis: draw.choice([draw.randint(1, 4) if axis in "tcz" else draw.randint(20, 300)]) for axis in axes}
    written: dict[str, Any] = {
        "chunks": ",".join(f"{axis}={min(length, n)}" for (axis, length), n in zip(chunks.items(), shape, strict=True)),
        "shards": draw.choice(["auto", "none"]),
        "codec": draw.choice(["none", "zstd:1", "gzip:1", "blosc-lz4:5", None]),
        "method": draw.choice(["mean", "mean", "nearest", "mode"]),
    }
    if draw.random() < 0.5:
        written["pixel_size"] = {axis: 0.5 if axis in "yx" else draw.choice([0.5, 2.0]) for axis in axes}
        written["unit"] = {axis: "second" if axis == "t" else "micrometer" for axis in axes if axis != "c"}
    if draw.random() < 0.4:
        of_labels = tuple(length for axis, length in zip(axes, shape, strict=True) if axis != "c")
        written["labels"] = {"cells": rng.integers(0, 9, of_labels, "uint16")}
    return pixels, axes, written


def choose_region(draw: random.Random, axes: str, shape: tuple[int, ...], chunks: str) -> dict[str, tuple[int, int]]:
    """Return a region, which often begins and ends at chunks."""
    lengths = {axis: int(length) for axis, length in (part.split("=") for part in chunks.split(","))}
    region = {}
    for axis, whole in zip(axes, shape, strict=True):
        if draw.random() < 0.7:
            unit = lengths[axis] if draw.random() < 0.5 else 1
            start = draw.randrange(0, whole, unit)
            stop = min(whole, start + unit * draw.randint(1, -(-(whole - start) // unit)))
            if stop - start >= least_of(axes, axis):
                region[axis] = (start, stop)
    return region or {"x": (0, draw.randint(least_of(axes, "x"), shape[-1]))}


def as_plate(image: Path, folder: Path) -> Path:
    """Put an image into the only well of a plate."""
    names = {"rows": [{"name": "A"}], "columns": [{"name": "1"}], "field_count": 1}
    plate = {**names, "wells": [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}]}
    for path, ome in (("", {"plate": plate}), ("A", None), ("A/1", {"well": {"images": [{"path": "0"}]}})):
        group = zarr.open_group(str(folder / path), mode="a", zarr_format=3)
        if ome is not None:
            group.attrs["ome"] = {"version": "0.5", **ome}
    ozx.unpack(image, folder / "A/1/0")
    return folder


def assert_same_levels(found: Any, expected: Any) -> None:
    """Check that two images have equal levels, of the same scales."""
    (levels,), (others,) = (node.attrs["ome"]["multiscales"] for node in (found, expected))
    assert [level["path"] for level in levels["datasets"]] == [level["path"] for level in others["datasets"]]
    for level, other in zip(levels["datasets"], others["datasets"], strict=True):
        first, second = found[level["path"]], expected[level["path"]]
        np.testing.assert_array_equal(first[...], second[...])
        assert first.dtype == second.dtype
        assert level["coordinateTransformations"][0] == other["coordinateTransformations"][0]
        places = [level_["coordinateTransformations"][1:] for level_ in (levels["datasets"][0], level)]
        apart = [level_["coordinateTransformations"][1:] for level_ in (others["datasets"][0], other)]
        np.testing.assert_allclose(*(_apart(*pair, first.ndim) for pair in (places, apart)), atol=1e-9)
    for key in ("type", "metadata") if len(others["datasets"]) > 1 else ():
        assert levels[key] == others[key]


def _apart(first: Any, second: Any, ndim: int) -> Any:
    """Return how far a level lies from the first one."""
    zero = [{"translation": [0.0] * ndim}]
    return np.subtract((second or zero)[0]["translation"], (first or zero)[0]["translation"])


@pytest.mark.parametrize("seed", range(FIRST, FIRST + CROPS))
def test_crop_is_numpys_slice(tmp_path, seed):
    draw = random.Random(seed)
    pixels, axes, written = make_image(draw)
    ozx.write_image(tmp_path / "a.ozx", pixels, axes=axes, sync=False, **written)
    source: Path = tmp_path / "a.ozx"
    node = ""
    if draw.random() < 0.2:
        source, node = as_plate(source, tmp_path / "plate"), "A/1/0"
    elif draw.random() < 0.2:
        ozx.unpack(source, tmp_path / "a.ome.zarr")
        source = tmp_path / "a.ome.zarr"
    region = choose_region(draw, axes, pixels.shape, written["chunks"])
    result = ozx.extract(source, tmp_path / "b.ozx", region=region, sync=False)
    if draw.random() < 0.3 and "unit" in written and not {"t", "c"} & set(region):
        parts = [
            f"{axis}={a * written['pixel_size'][axis]}:{b * written['pixel_size'][axis]}um"
            for axis, (a, b) in region.items()
        ]
        ozx.extract(source, tmp_path / "c.ozx", region=",".join(parts), sync=False)
        assert (tmp_path / "b.ozx").read_bytes() == (tmp_path / "c.ozx").read_bytes()
    part = tuple(slice(*region.get(axis, (None, None))) for axis in axes)
    if "labels" in written:
        inside = tuple(one for one, axis in zip(part, axes, strict=True) if axis != "c")
        written["labels"] = {"cells": written["labels"]["cells"][inside]}
    ozx.write_image(
        tmp_path / "expected.ozx", pixels[part], axes=axes, sync=False, **_fitting(written, pixels[part], axes)
    )
    found, expected = ozx.open(tmp_path / "b.ozx"), ozx.open(tmp_path / "expected.ozx")
    found = found[node] if node else found
    assert_same_levels(found, expected)
    if "labels" in written:
        assert_same_levels(found["labels/cells"], expected["labels/cells"])
    assert result.images[0].region == region
    old, new = (ozx.validate(path) for path in (source, tmp_path / "b.ozx"))
    assert {finding.id for finding in new.findings} <= {finding.id for finding in old.findings}
    assert not result.notes


def _fitting(written: dict[str, Any], pixels: np.ndarray[Any, Any], axes: str) -> dict[str, Any]:
    """Return how a part is written: its chunks are no longer than the part."""
    lengths = dict(part.split("=") for part in written["chunks"].split(","))
    chunks = {axis: min(int(lengths[axis]), length) for axis, length in zip(axes, pixels.shape, strict=True)}
    return {**written, "chunks": chunks}

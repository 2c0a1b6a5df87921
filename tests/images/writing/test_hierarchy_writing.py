"""New images: the pixels that readers find in all levels, and how often the source is read."""

import itertools
import threading

import numpy as np
import pytest
import xarray as xr

import ozx
from ozx.images.writing.downsampling import halve
from ozx.ome.downscaling import METHODS


def random_pixels(shape):
    return np.random.default_rng(0).integers(0, 120, shape).astype("uint16")


def assert_pyramid(path, data, names, method="mean"):
    expected, halved = data, [number for number, name in enumerate(names) if name in "zyx"]
    for number, level in enumerate(ozx.open_image(path).levels):
        if number:
            expected = halve(expected, tuple(axis for axis in halved if expected.shape[axis] > 1), method)
        assert level.array.dtype == data.dtype
        np.testing.assert_array_equal(level.array[...], expected)


@pytest.mark.parametrize(("names", "shape"), [
    ("yx", (1001, 777)),
    ("yx", (2049, 3)),
    ("yx", (1, 600)),
    ("yx", (1, 1)),
    ("cyx", (3, 515, 513)),
    ("zyx", (5, 300, 301)),
    ("tyx", (7, 259, 300)),
    ("czyx", (2, 9, 300, 257)),
    ("tczyx", (2, 2, 3, 300, 270)),
])  # fmt: skip
@pytest.mark.parametrize("method", METHODS)
def test_every_number_of_dimensions(tmp_path, names, shape, method):
    data, path = random_pixels(shape), tmp_path / "a.ozx"
    unit = {axis: "second" if axis == "t" else "micrometer" for axis in names if axis != "c"}
    ozx.write_image(path, data, axes=names, pixel_size=dict.fromkeys(unit, 1), unit=unit, method=method, sync=False)
    assert_pyramid(path, data, names, method)
    assert not ozx.validate(path).findings


class Tiles:
    """An array of tiles that counts how often each pixel is read."""

    def __init__(self, data, chunks):
        self.shape, self.dtype, self.chunks = data.shape, data.dtype, chunks
        self.data, self.reads, self.regions, self._lock = data, np.zeros(data.shape, "u1"), [], threading.Lock()

    def __getitem__(self, region):
        with self._lock:
            self.reads[region] += 1
            self.regions.append(region)
        return self.data[region]


@pytest.mark.ci
@pytest.mark.parametrize("tile", [(1, 1), (256, 256), (240, 240), (8, 3001), (3001, 3001), (1024, 768), (7, 3001)])
@pytest.mark.parametrize("layout", [{}, {"chunks": "y=300,x=300"}])
def test_each_pixel_is_read_once_in_whole_pieces_where_they_fit(tmp_path, tile, layout):
    data = np.add.outer(np.arange(3001), np.arange(3001)).astype("uint16")
    source = Tiles(data, tile)
    ozx.write_image(tmp_path / "a.ozx", source, axes="yx", sync=False, **layout)
    assert (source.reads == 1).all()
    assert_pyramid(tmp_path / "a.ozx", data, "yx")
    if not layout and tile != (7, 3001):
        for region, (axis, piece) in itertools.product(source.regions, enumerate(tile)):
            assert region[axis].start % piece == 0
            assert region[axis].stop % piece == 0 or region[axis].stop == 3001


@pytest.mark.parametrize(
    ("scale", "unit", "is_halved"),
    [
        ((1.0, 1.0, 1.0), "micrometer", True),
        ((1.4, 1.0, 1.0), "micrometer", True),
        ((1.5, 1.0, 1.0), "micrometer", False),
        ((0.3, 1.0, 1.0), "micrometer", True),
        ((1.0, 1.0, 1.0), None, False),  # nobody knows
        ((0.5, 0.5, 0.5), None, True),
    ],
)
def test_z_is_halved_where_the_voxel_is_nearly_a_cube(tmp_path, scale, unit, is_halved):
    pixels, path = np.zeros((10, 400, 400), "u1"), tmp_path / "a.ozx"
    ozx.write_image(path, pixels, axes="zyx", pixel_size=scale, unit=unit, sync=False)
    assert ozx.open_image(path).levels[1].array.shape == (5 if is_halved else 10, 200, 200)


def test_pixels_are_where_their_level_says(tmp_path):
    """A ramp whose values are its own places shows where each pixel of a lower level lies."""
    places = {"y": 3 + 0.5 * np.arange(1024), "x": -1 + 0.25 * np.arange(2048)}
    ramp, found = xr.DataArray(np.tile(places["x"], (1024, 1)), dims=("y", "x"), coords=places), {}
    for method in METHODS:
        ozx.write_image(tmp_path / "a.ozx", ramp, method=method, force=True, sync=False)
        levels = ozx.open_image(tmp_path / "a.ozx").levels
        found[method] = [(level.scale, level.translation) for level in levels]
        for level in levels if method != "mode" else ():
            assert level.array[0, :2].tolist() == [level.translation[1], level.translation[1] + level.scale[1]]
    assert len(found["mean"]) == 4
    assert found["mode"] == found["mean"] != found["nearest"]

"""New hierarchies: the pixels that readers find in them, and how often the source is read."""

import itertools
import threading

import numpy as np
import pytest
import tensorstore
import zarr

import ozx
from ozx.hierarchy.ome.colors import LabelDisplay
from ozx.hierarchy.ome.model import Axis
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.images.pixel_source import ArraySource
from ozx.images.writing.downsampling import METHODS, halve
from ozx.images.writing.hierarchy_writing import write_hierarchy
from ozx.images.writing.new_image import (
    NewHierarchy,
    NewImage,
    PyramidChoice,
    PyramidLevel,
)

TYPES = {"t": "time", "c": "channel"}
DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]


def random_pixels(shape, dtype="uint16"):
    return np.random.default_rng(0).integers(0, 120, shape).astype(dtype)


def make_axes(names, unit="micrometer"):
    units = {"t": "second", "c": None}
    return tuple(Axis(name, TYPES.get(name, "space"), units.get(name, unit)) for name in names)


def make_image(data, names, *, name="made", scale=None, source=None, **options):
    source = source or ArraySource(data, tuple(names))
    level = PyramidLevel(source.shape, tuple(scale or [1.0] * data.ndim), (0.0,) * data.ndim)
    return NewImage(name, make_axes(names), (source,), (level,), **options)


def write(path, image, *, layout=None, **options):
    hierarchy = image if isinstance(image, NewHierarchy) else NewHierarchy({"": image})
    with open(path, "w+b") as file:
        written = write_hierarchy(file.fileno(), hierarchy, LayoutChoice.parse(**(layout or {})), **options)
    assert written[1] == path.stat().st_size
    return written


def levels_of(path, node=""):
    group = zarr.open_group(ozx.OzxStore(path), path=node, mode="r")
    return [group[dataset["path"]][...] for dataset in group.attrs["ome"]["multiscales"][0]["datasets"]]


def assert_pyramid(levels, data, axes, method="mean"):
    expected = data
    for number, level in enumerate(levels):
        if number:
            halved = tuple(axis for axis in axes if expected.shape[axis] > 1)
            expected = halve(expected, halved, method)
        assert level.dtype == data.dtype
        np.testing.assert_array_equal(level, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_of_pixels(tmp_path, dtype):
    data = random_pixels((600, 700), dtype)
    write(tmp_path / "a.ozx", make_image(data, "yx"))
    levels = levels_of(tmp_path / "a.ozx")
    assert len(levels) == 3
    assert_pyramid(levels, data, (0, 1))
    assert not ozx.validate(tmp_path / "a.ozx").findings


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
    data = random_pixels(shape)
    write(tmp_path / "a.ozx", make_image(data, names, pyramid=PyramidChoice(method)))
    halved = tuple(number for number, name in enumerate(names) if name in "zyx")
    assert_pyramid(levels_of(tmp_path / "a.ozx"), data, halved, method)
    assert not ozx.validate(tmp_path / "a.ozx").findings


@pytest.mark.parametrize("layout", [
    {"chunks": "y=100,x=90"},
    {"chunks": "y=33,x=27", "shards": "none"},
    {"chunks": "y=65,x=64", "shards": "y=130,x=192"},
    {"chunks": "y=64,x=64,z=3"},
    pytest.param({"chunks": "y=31,x=33", "shards": "y=93,x=66"}, marks=pytest.mark.ci),
    {"shards": "none"},
    {"codec": "none"},
    {"codec": "zstd:3"},
    {"codec": "gzip:1", "chunks": "c=2"},
    {"codec": "blosc-lz4:5", "shards": "c=2,y=512"},
])  # fmt: skip
def test_every_layout(tmp_path, layout):
    data = random_pixels((2, 6, 611, 403))
    data[:, :, :200] = 0
    write(tmp_path / "a.ozx", make_image(data, "czyx"), layout=layout)
    assert_pyramid(levels_of(tmp_path / "a.ozx"), data, (1, 2, 3))
    if layout.get("shards") != "none":
        assert not ozx.validate(tmp_path / "a.ozx").findings
    asked = {
        axis: int(length) for axis, _, length in (x.partition("=") for x in layout.get("chunks", "").split(",") if x)
    }
    chunks = dict(zip("czyx", ozx.inspect(tmp_path / "a.ozx").images[0].levels[0].chunks, strict=True))
    assert asked.items() <= chunks.items()


class CountingSource(ArraySource):
    """An array of tiles that counts how often each is read."""

    def __init__(self, data, names, read_alignment):
        super().__init__(data, tuple(names))
        self.read_alignment = read_alignment
        self.reads = np.zeros(data.shape, np.uint8)
        self.regions = []
        self._lock = threading.Lock()

    def part(self, region):
        return self, region

    def read(self, region, out=None):
        with self._lock:
            self.reads[region] += 1
            self.regions.append(region)
        return super().read(region, out)


@pytest.mark.ci
@pytest.mark.parametrize(
    "read_alignment", [(1, 1), (256, 256), (240, 240), (8, 3001), (3001, 3001), (1024, 768), (7, 3001)]
)
@pytest.mark.parametrize("layout", [{}, {"chunks": "y=300,x=300"}])
def test_each_pixel_is_read_once_in_whole_pieces_where_they_fit(tmp_path, read_alignment, layout):
    data = np.add.outer(np.arange(3001), np.arange(3001)).astype("uint16")
    source = CountingSource(data, "yx", read_alignment)
    write(tmp_path / "a.ozx", make_image(data, "yx", source=source), layout=layout)
    assert (source.reads == 1).all()
    assert_pyramid(levels_of(tmp_path / "a.ozx"), data, (0, 1))
    if not layout and read_alignment != (7, 3001):
        for region, length, (axis, piece) in itertools.product(source.regions, [3001], enumerate(read_alignment)):
            assert region[axis].start % piece == 0
            assert region[axis].stop % piece == 0 or region[axis].stop == length


def test_tensorstore_reads_the_same_pixels(tmp_path):
    data = random_pixels((2, 1100, 1300))
    write(tmp_path / "a.ozx", make_image(data, "cyx"))
    kvstore = {"driver": "zip", "base": {"driver": "file", "path": str(tmp_path / "a.ozx")}}
    for number, level in enumerate(levels_of(tmp_path / "a.ozx")):
        array = tensorstore.open({"driver": "zarr3", "kvstore": {**kvstore, "path": f"{number}/"}}).result()
        np.testing.assert_array_equal(array.read().result(), level)


def test_label_images_below_an_image(tmp_path):
    data, labels = random_pixels((2, 600, 600)), random_pixels((600, 600), "int32")
    below = make_image(labels, "yx", name="cells", label=LabelDisplay({}, {}), pyramid=PyramidChoice("mode"))
    write(tmp_path / "a.ozx", make_image(data, "cyx", labels={"cells": below}))
    group = ozx.open(tmp_path / "a.ozx")
    assert group["labels"].attrs["ome"] == {"version": "0.5", "labels": ["cells"]}
    assert group["labels/cells"].attrs["ome"]["image-label"] == {"source": {"image": "../../"}}
    assert_pyramid(levels_of(tmp_path / "a.ozx", "labels/cells"), labels, (0, 1), "mode")
    assert [finding.id for finding in ozx.validate(tmp_path / "a.ozx").findings] == ["ome/image-label"]

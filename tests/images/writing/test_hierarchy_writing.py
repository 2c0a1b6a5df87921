"""New hierarchies: the pixels that readers find in them, and how often the source is read."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest
import tensorstore
import zarr
from counting_progress import CountingProgress
from zarr.storage import LocalStore

import ozx
from ozx.errors import UnsupportedError
from ozx.flow.entry import BytesPart, Entry
from ozx.hierarchy.ome.colors import LabelDisplay, Window
from ozx.hierarchy.ome.model import Axis
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.images.pixel_source import ArraySource, Part
from ozx.images.writing.downsampling import METHODS, halve
from ozx.images.writing.hierarchy_writing import write_hierarchy
from ozx.images.writing.new_image import (
    NewChannel,
    NewHierarchy,
    NewImage,
    NewLevel,
    NewPlate,
    NewWell,
    PyramidChoice,
    plate_of,
    series_of,
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
    level = NewLevel(source or ArraySource(data, tuple(names)), tuple(scale or [1.0] * data.ndim), (0.0,) * data.ndim)
    return NewImage(name, make_axes(names), (level,), **options)


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
        return Part(self, region)

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


def test_the_same_bytes_whoever_makes_them(tmp_path):
    image = make_image(random_pixels((2, 3000, 2100)), "cyx")
    for name, options in {"a": {"jobs": 1}, "b": {"jobs": 7}, "c": {}}.items():
        write(tmp_path / f"{name}.ozx", image, **options)
    with ThreadPoolExecutor(3) as pool:
        write(tmp_path / "d.ozx", image, executor=pool)
    whole = (tmp_path / "a.ozx").read_bytes()
    for name in "bcd":
        assert (tmp_path / f"{name}.ozx").read_bytes() == whole


@pytest.mark.parametrize("kind", ["dask", "dask-small", "zarr", "zarr-sharded"])
def test_other_kinds_of_arrays(tmp_path, kind):
    data = random_pixels((3, 700, 900))
    if kind.startswith("dask"):
        array = da.from_array(data, chunks=(1, 300, 900) if kind == "dask" else (2, 77, 101))
    else:
        options = {"chunks": (1, 100, 100), "shards": (1, 300, 300)} if "sharded" in kind else {"chunks": (2, 128, 90)}
        array = zarr.create_array(LocalStore(tmp_path / "z"), shape=data.shape, dtype=data.dtype, **options)
        array[:] = data
    write(tmp_path / "a.ozx", make_image(array, "cyx"))
    assert_pyramid(levels_of(tmp_path / "a.ozx"), data, (1, 2))


def test_empty_chunks_and_shards_are_left_out(tmp_path):
    data = np.zeros((5000, 9000), "uint16")
    data[0, 0] = 1
    write(tmp_path / "a.ozx", make_image(data, "yx", pyramid=PyramidChoice(axes=())))
    assert [entry["key"] for entry in ozx.list_entries(tmp_path / "a.ozx").to_dict()["entries"]] == [
        "zarr.json",
        "0/zarr.json",
        "0/c/0/0",
    ]
    np.testing.assert_array_equal(levels_of(tmp_path / "a.ozx")[0], data)


def test_tensorstore_reads_the_same_pixels(tmp_path):
    data = random_pixels((2, 1100, 1300))
    write(tmp_path / "a.ozx", make_image(data, "cyx"))
    kvstore = {"driver": "zip", "base": {"driver": "file", "path": str(tmp_path / "a.ozx")}}
    for number, level in enumerate(levels_of(tmp_path / "a.ozx")):
        array = tensorstore.open({"driver": "zarr3", "kvstore": {**kvstore, "path": f"{number}/"}}).result()
        np.testing.assert_array_equal(array.read().result(), level)


def test_levels_that_exist_are_kept_and_others_made_below(tmp_path):
    data = random_pixels((1024, 1040))
    second = random_pixels((512, 520)) + np.uint16(1000)
    full = NewLevel(ArraySource(data, ("y", "x")), (1.0, 1.0), (0.0, 0.0))
    given = NewLevel(ArraySource(second, ("y", "x")), (2.0, 2.0), (0.5, 0.5))
    write(tmp_path / "a.ozx", NewImage("made", make_axes("yx"), (full, given)))
    levels = levels_of(tmp_path / "a.ozx")
    np.testing.assert_array_equal(levels[0], data)
    assert_pyramid(levels[1:], second, (0, 1))
    assert [level.shape for level in levels] == [(1024, 1040), (512, 520), (256, 260), (128, 130)]


def test_contrast_is_told_from_the_pixels_of_each_channel(tmp_path):
    data = np.zeros((3, 2100, 2200), "uint16")
    data[0], data[1] = np.arange(2200), np.arange(2200) * 10
    channels = (NewChannel("A", "00FF00"), NewChannel("B", None, False), NewChannel(window=Window(3, 9, None, None)))
    write(tmp_path / "a.ozx", make_image(data, "cyx", channels=channels))
    first, second, third = ozx.open(tmp_path / "a.ozx").attrs["ome"]["omero"]["channels"]
    assert (first["label"], first["color"], first["active"]) == ("A", "00FF00", True)
    assert first["window"]["start"] == pytest.approx(22, abs=5)
    assert first["window"]["end"] == pytest.approx(2195, abs=9)
    assert second["window"]["end"] == pytest.approx(21_950, abs=90)
    assert (second["active"], second["color"]) == (False, "FF00FF")
    assert third == {
        "active": True, "color": "FFFF00", "label": "Channel 2",
        "window": {"min": 0.0, "max": 65535.0, "start": 3, "end": 9},
    }  # fmt: skip


def test_label_images_below_an_image(tmp_path):
    data, labels = random_pixels((2, 600, 600)), random_pixels((600, 600), "int32")
    below = make_image(labels, "yx", name="cells", label=LabelDisplay({}, {}), pyramid=PyramidChoice("mode"))
    write(tmp_path / "a.ozx", make_image(data, "cyx", labels={"cells": below}))
    group = ozx.open(tmp_path / "a.ozx")
    assert group["labels"].attrs["ome"] == {"version": "0.5", "labels": ["cells"]}
    assert group["labels/cells"].attrs["ome"]["image-label"] == {"source": {"image": "../../"}}
    assert_pyramid(levels_of(tmp_path / "a.ozx", "labels/cells"), labels, (0, 1), "mode")
    assert [finding.id for finding in ozx.validate(tmp_path / "a.ozx").findings] == ["ome/image-label"]


def test_a_series(tmp_path):
    images = [random_pixels((300, 300)), random_pixels((2, 40, 50), "uint8")]
    made = [make_image(data, names, name=names) for data, names in zip(images, ["yx", "cyx"], strict=True)]
    write(tmp_path / "a.ozx", series_of(made, {"OME/METADATA.ome.xml": b"<OME/>"}))
    found = ozx.inspect(tmp_path / "a.ozx")
    assert (found.kind, [image.name for image in found.images]) == ("series", ["yx", "cyx"])
    assert b"".join(ozx.read_value(tmp_path / "a.ozx", "OME/METADATA.ome.xml")) == b"<OME/>"
    for number, data in enumerate(images):
        np.testing.assert_array_equal(levels_of(tmp_path / "a.ozx", str(number))[0], data)
    assert not ozx.validate(tmp_path / "a.ozx").findings


def test_a_plate(tmp_path):
    field = make_image(random_pixels((64, 64)), "yx")
    wells = (NewWell(0, 1, (field, field), (0, 1)), NewWell(1, 0, (field,), (0,)))
    acquisitions = tuple({"id": number, "name": f"Run {number}"} for number in range(2))
    write(tmp_path / "a.ozx", plate_of(NewPlate("Screen", ("A", "B"), ("1", "2"), wells, acquisitions)))
    found = ozx.inspect(tmp_path / "a.ozx")
    assert (found.kind, [image.path for image in found.images]) == ("plate", ["A/2/0", "A/2/1", "B/1/0"])
    well = ozx.open(tmp_path / "a.ozx")["A/2"].attrs["ome"]["well"]
    assert well["images"] == [{"path": "0", "acquisition": 0}, {"path": "1", "acquisition": 1}]
    assert not ozx.validate(tmp_path / "a.ozx").findings


def test_many_small_images_join_channels_in_shards(tmp_path, monkeypatch):
    monkeypatch.setattr("ozx.images.writing.array_layout.MOST_ENTRIES", 5)
    data = random_pixels((6, 30, 30))
    write(tmp_path / "a.ozx", make_image(data, "cyx"))
    assert ozx.inspect(tmp_path / "a.ozx").images[0].levels[0].shards == (6, 30, 30)


def test_files_that_are_made_of_the_finished_file(tmp_path):
    path = tmp_path / "a.ozx"
    seen = []

    def late():
        seen.append(levels_of(path)[0].shape)
        return [Entry("Thumbnails/thumbnail.png", (BytesPart(b"png"),))]

    write(path, make_image(random_pixels((40, 50)), "yx"), late=late)
    assert seen == [(40, 50)]
    assert b"".join(ozx.read_value(path, "Thumbnails/thumbnail.png")) == b"png"
    assert not ozx.validate(path).findings


def test_pixels_that_zarr_has_no_type_for(tmp_path):
    with pytest.raises(UnsupportedError, match="datetime64"):
        write(tmp_path / "a.ozx", make_image(np.zeros((4, 4), "datetime64[s]"), "yx"))


def test_an_error_of_the_source_ends_everything(tmp_path):
    class Broken(ArraySource):
        def part(self, region):
            return Part(self, region)

        def read(self, region, out=None):
            if region[0].start:
                raise ozx.FormatError("page 3 is damaged")
            return super().read(region, out)

    data = random_pixels((5000, 2000))
    with pytest.raises(ozx.FormatError, match="page 3"):
        write(tmp_path / "a.ozx", make_image(data, "yx", source=Broken(data, ("y", "x"))))


def test_progress_is_told_all_bytes(tmp_path):
    progress = CountingProgress()
    data = random_pixels((2, 2100, 600))
    write(tmp_path / "a.ozx", make_image(data, "cyx"), progress=progress)
    assert progress.done == data.nbytes

"""An array as an image: what is said of it, and what is refused."""

import os

import dask.array as da
import numpy as np
import PIL.Image
import pytest
import xarray as xr
import zarr
from ome_zarr_models.v05 import Image

import ozx
from ozx.errors import ResourceError, UnsupportedError, UsageError
from ozx.hierarchy.ome.colors import ShownChannel
from ozx.operations.write_image import write_image

PIXELS = np.random.default_rng(0).integers(1, 4000, (2, 300, 400)).astype("uint16")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "made.ome.ozx"


def ome_of(path, node=""):
    return zarr.open_group(ozx.OzxStore(path), path=node, mode="r").attrs["ome"]


def test_all_that_can_be_said(out):
    channels = ["DAPI", {"label": "GFP", "color": "00ff00", "active": False, "window": (3, 99), "emission": 509.0}]
    result = write_image(
        out, PIXELS, axes="cyx", scale={"y": 0.5, "x": 0.25}, unit="um", channels=channels, name="My cells"
    )
    assert result.to_dict() == {"schema": 2, "path": str(out), "entries": 7, "bytes": out.stat().st_size}
    image = ozx.inspect(out).images[0]
    assert image.name == "My cells"
    assert [(axis.name, axis.type, axis.unit) for axis in image.axes] == [
        ("c", "channel", None), ("y", "space", "micrometer"), ("x", "space", "micrometer")
    ]  # fmt: skip
    assert [level.scale for level in image.levels] == [(1.0, 0.5, 0.25), (1.0, 1.0, 0.5)]
    ome = ome_of(out)
    moved = ome["multiscales"][0]["datasets"][1]["coordinateTransformations"][1]
    assert moved == {"type": "translation", "translation": [0.0, 0.25, 0.125]}
    told = "Each pixel of another level is the mean of the pixels that it replaces in the previous level."
    description = f"The first level comes from the source. {told}"
    assert ome["multiscales"][0]["metadata"] == {"description": description}
    first, second = ome["omero"]["channels"]
    assert first["window"]["max"] == 65535
    assert first["window"]["start"] == pytest.approx(40, abs=15)
    assert second == {
        "active": False, "color": "00FF00", "label": "GFP", "emissionWave": 509.0,
        "window": {"min": 0.0, "max": 65535.0, "start": 3.0, "end": 99.0},
    }  # fmt: skip
    assert ome["omero"]["rdefs"] == {"defaultT": 0, "defaultZ": 0, "model": "color"}
    assert not ozx.validate(out).findings
    Image.from_zarr(zarr.open_group(ozx.OzxStore(out), mode="r"))


def test_what_is_taken_for_granted(out):
    write_image(out, PIXELS)
    image = ozx.inspect(out).images[0]
    assert (image.name, [axis.name for axis in image.axes]) == ("made", ["z", "y", "x"])
    assert image.levels[0].scale == (1.0, 1.0, 1.0)
    assert ome_of(out)["omero"]["channels"][0]["label"] == "Channel 0"
    assert ome_of(out)["omero"]["rdefs"] == {"defaultT": 0, "defaultZ": 1, "model": "greyscale"}


@pytest.mark.parametrize("make", [np.asarray, lambda data: da.from_array(data, chunks=(70, 80, 2))])
def test_dimensions_in_another_order(out, make):
    write_image(out, make(PIXELS.transpose(1, 2, 0)), axes="yxc", scale=(0.5, 0.25, 1))
    np.testing.assert_array_equal(ozx.open(out)["0"][...], PIXELS)
    assert ozx.inspect(out).images[0].levels[0].scale == (1.0, 0.5, 0.25)


@pytest.mark.parametrize("count", [3, 4])
def test_color_pixels_are_shown_as_rgb(out, count):
    pixels = np.zeros((20, 30, count), "uint8")
    pixels[..., 0] = 200
    write_image(out, pixels, axes="yxc")
    channels = ozx.open(out).attrs["ome"]["omero"]["channels"]
    assert [(channel["label"], channel["color"], channel["active"]) for channel in channels] == [
        ("Red", "FF0000", True),
        ("Green", "00FF00", True),
        ("Blue", "0000FF", True),
        ("Alpha", "FFFFFF", False),
    ][:count]
    assert {(channel["window"]["start"], channel["window"]["end"]) for channel in channels} == {(0, 255)}
    ozx.thumbnail(out, out.with_suffix(".png"))
    assert PIL.Image.open(out.with_suffix(".png")).convert("RGB").getpixel((5, 5)) == (200, 0, 0)


def test_channels_have_the_colors_of_their_dyes(out):
    channels = ["DAPI", {"label": "x", "emission": 610.0}, {"label": "GFP", "color": "#12ab56"}, {"color": "red"}]
    write_image(out, np.zeros((4, 20, 30), "uint16"), axes="cyx", channels=channels)
    found = [channel["color"] for channel in ozx.open(out).attrs["ome"]["omero"]["channels"]]
    assert found == ["0000FF", "FF0000", "12AB56", "FF0000"]


def test_an_array_of_zarr_cannot_be_turned(out, tmp_path):
    array = zarr.create_array(tmp_path / "z", shape=(30, 40, 2), dtype="uint8")
    with pytest.raises(UsageError, match=r"in the order cyx; got yxc"):
        write_image(out, array, axes="yxc")


@pytest.mark.parametrize("wrap", [np.asarray, lambda data: da.from_array(data, chunks=(70, 80, 2))])
@pytest.mark.parametrize("dims", ["yxc", ("Y", "X", "Channel")])
def test_dimensions_of_xarray_are_axes(out, wrap, dims):
    write_image(out, xr.DataArray(wrap(PIXELS.transpose(1, 2, 0)), dims=tuple(dims)), scale={"y": 0.5})
    image = ozx.inspect(out).images[0]
    assert [axis.name for axis in image.axes] == ["c", "y", "x"]
    assert image.levels[0].scale == (1, 0.5, 1)
    np.testing.assert_array_equal(ozx.open(out)["0"][...], PIXELS)


def test_dimensions_of_a_dataset_that_is_not_loaded_are_axes(out):
    write_image(out, PIXELS, axes="cyx")
    with xr.open_dataset(out) as dataset:
        write_image(out.parent / "b.ozx", dataset["image"].transpose("y", "x", "c"))
    np.testing.assert_array_equal(ozx.open(out.parent / "b.ozx")["0"][...], PIXELS)


def test_given_axes_win_over_dimensions_of_xarray(out):
    array = xr.DataArray(PIXELS, dims=("x", "y", "z"))
    write_image(out, array, axes="cyx", labels={"cells": xr.DataArray(PIXELS[0], dims=("b", "a"))})
    np.testing.assert_array_equal(ozx.open(out)["0"][...], PIXELS)
    np.testing.assert_array_equal(ozx.open(out)["labels/cells/0"][...], PIXELS[0])
    write_image(out, array, force=True)
    np.testing.assert_array_equal(ozx.open(out)["0"][...], PIXELS.T)


def test_color_pixels_of_xarray_are_shown_as_rgb(out):
    write_image(out, xr.DataArray(np.zeros((20, 30, 3), "uint8"), dims=("y", "x", "c")))
    assert ozx.open(out).attrs["ome"]["omero"]["channels"][0]["label"] == "Red"


def test_labels_of_xarray_have_their_own_order(out):
    square = PIXELS[:, :300, :300]
    labels = {"cells": xr.DataArray(square[0].T, dims=("x", "y")), "plain": square[0]}
    write_image(out, xr.DataArray(square, dims=("c", "y", "x")), labels=labels)
    for name in labels:
        np.testing.assert_array_equal(ozx.open(out)[f"labels/{name}/0"][...], square[0])
    labels = {"cells": xr.DataArray(square[0], dims=("z", "y"))}
    with pytest.raises(UsageError, match="expected labels 'cells' with the dimensions y, x; found z, y"):
        write_image(out, xr.DataArray(square, dims=("c", "y", "x")), labels=labels, force=True)


def test_unknown_dimensions_of_xarray_are_refused(out):
    with pytest.raises(UsageError, match="expected dimensions named t, c, z, y, x; found band, lat, lon") as caught:
        write_image(out, xr.DataArray(PIXELS, dims=("band", "lat", "lon")))
    assert 'axes="cyx"' in caught.value.hint
    with pytest.raises(UsageError, match="including y and x"):
        write_image(out, xr.DataArray(PIXELS, dims=("c", "z", "x")))
    assert not os.listdir(out.parent)


def test_labels(out):
    write_image(out, PIXELS[0], labels=True, unit="nanometer")
    ome = ome_of(out)
    assert ome["image-label"] == {}
    assert "omero" not in ome
    assert ome["multiscales"][0]["type"] == "nearest"
    np.testing.assert_array_equal(ozx.open(out)["1"][...], PIXELS[0, ::2, ::2])
    assert ozx.inspect(out).kind == "labels"
    assert [finding.id for finding in ozx.validate(out).findings] == ["ome/image-label"]


def test_labels_in_another_order_are_refused(out):
    array = np.zeros((32, 48, 3), "uint8")
    with pytest.raises(UsageError, match=r"labels 'a' of the shape \(32, 48, 3\); found \(3, 32, 48\)") as caught:
        write_image(out, array, axes="yxz", labels={"a": array.transpose(2, 0, 1)})
    assert caught.value.hint == "Give the axes of the labels in the order of the image's array: y, x, z."


@pytest.mark.parametrize("kind", ["numpy", "dask", "zarr"])
def test_masks_become_label_images_of_integers(out, kind):
    mask = PIXELS[0] > 2000
    array = {"numpy": lambda: mask, "dask": lambda: da.from_array(mask, (64, 64)), "zarr": lambda: zarr.array(mask)}
    write_image(out, PIXELS, axes="cyx", labels={"cells": array[kind]()})
    labels = ozx.open(out)["labels/cells/0"]
    assert labels.dtype == "uint8"
    np.testing.assert_array_equal(labels[...], mask)
    write_image(out, array[kind](), labels=True, force=True)
    np.testing.assert_array_equal(ozx.open(out)["0"][...], mask)
    assert ozx.validate(out, level="data").valid


def shrunken(block):
    return block[:, :5, :5]


def floating(block):
    return block * 1.5


@pytest.mark.parametrize(("change", "found"), [(shrunken, "the shape"), (floating, "the type float64")])
@pytest.mark.parametrize("is_label", [False, True], ids=["image", "labels"])
def test_blocks_that_differ_from_the_declared_ones_are_refused(out, change, found, is_label):
    lazy = da.from_array(PIXELS, chunks=(1, 64, 64)).map_blocks(change, dtype="uint16", meta=PIXELS[:0, :0, :0])
    array, labels = (PIXELS, {"cells": lazy}) if is_label else (lazy, False)
    out.write_bytes(b"old")
    with pytest.raises(
        UsageError, match=rf"expected a block of the .* at z=\d:\d, y=\d+:\d+, x=\d+:\d+; found {found}"
    ):
        write_image(out, array, labels=labels, force=True)
    assert out.read_bytes() == b"old"
    assert os.listdir(out.parent) == [out.name]


def test_masked_pixels_are_refused(out):
    with pytest.raises(UsageError, match="expected pixels without a mask"):
        write_image(out, PIXELS, labels={"cells": np.ma.masked_less(PIXELS, 9)})
    assert not os.listdir(out.parent)
    write_image(out, np.ma.masked_less(PIXELS, 9).filled(0))


def test_layout_and_levels_that_are_asked_for(out):
    write_image(out, PIXELS, chunks="y=64,x=64", shards="y=128", codec="zstd:3", downsample="none")
    (level,) = ozx.inspect(out).images[0].levels
    assert (level.chunks, level.shards) == ((1, 64, 64), (1, 128, 64))
    assert "zstd" in level.codecs


def test_pixel_sizes_may_be_an_array(out):
    write_image(out, PIXELS, scale=np.arange(1, PIXELS.ndim + 1), sync=False)
    assert ozx.inspect(out).images[0].levels[0].scale == tuple(range(1, PIXELS.ndim + 1))


def test_an_existing_file_is_kept_unless_forced(out):
    out.write_bytes(b"old")
    with pytest.raises(UsageError, match="exists already"):
        write_image(out, PIXELS)
    for scale in ("0.65um", 0.65, {"y": "0.65um", "x": 1}):
        with pytest.raises(UsageError, match="pixel sizes as numbers, by axis"):
            write_image(out, PIXELS, scale=scale, force=True)
    with pytest.raises(UsageError, match="an array with shape and dtype; got list"):
        write_image(out, [[1, 2], [3, 4]], force=True)
    with pytest.raises(UsageError, match="2 to 5 dimensions"):
        write_image(out, np.zeros(9), force=True)
    with pytest.raises(UsageError, match="got 6 dimensions") as caught:
        write_image(out, np.zeros((2, 1, 1, 1, 8, 8), "u1"), force=True)
    assert "an image for each index of the other dimensions" in caught.value.hint
    assert out.read_bytes() == b"old"
    write_image(out, PIXELS, force=True, sync=False)
    assert os.listdir(out.parent) == [out.name]


@pytest.mark.parametrize(("options", "message"), [
    ({"axes": "yx"}, "one of t, c, z, y, x for each dimension"),
    ({"axes": "qyx"}, "one of t, c, z, y, x"),
    ({"axes": "yyx"}, "one of t, c, z, y, x"),
    ({"axes": "tcx"}, "including y and x"),
    ({"scale": (1, 2)}, "a pixel size for each of the axes z, y, x; got 2"),
    ({"scale": {"c": 1}}, "axes of the array, z, y, x; got 'c'"),
    ({"scale": (1, 0, 1)}, "pixel sizes above 0"),
    ({"scale": {"x": float("nan")}}, "pixel sizes above 0"),
    ({"unit": "furlong"}, "furlong"),
    ({"unit": 5}, "a unit, or units by axis; got 5"),
    ({"unit": {"y": 5}}, "a unit, or units by axis; got {'y': 5}"),
    ({"unit": {"t": "second"}}, "axes of the array"),
    ({"unit": {"x": "second"}}, "a unit of space for the axis x; got 'second'"),
    ({"channels": ["a", "b"]}, "expected 1 channel, as many as the array has; got 2"),
    ({"axes": "cyx", "channels": ["a"]}, "expected 2 channels, as many as the array has; got 1"),
    ({"channels": [{"colour": "FF0000"}]}, "label, color, active, window"),
        ({"channels": [{"window": 9}]}, "label, color, active, window"),
    ({"channels": [{"window": (9, 3)}]}, "start not above end, as the window of a channel; got .9, 3"),
    ({"channels": [{"window": (float("nan"), 3)}]}, "expected finite numbers"),
    ({"channels": [{"window": (0, float("inf"))}]}, "expected finite numbers"),
    ({"channels": [{"color": "reddish"}]}, "six hexadecimal digits"),
    ({"channels": [ShownChannel(color="12345G")]}, "six hexadecimal digits"),
    ({"labels": {"cells": PIXELS[0]}}, r"labels 'cells' of the shape \(2, 300, 400\); found \(300, 400\)"),
    *[
        ({"labels": {name: PIXELS}}, "expected the name of a label image; got")
        for name in ("", ".", "..", "a/b", "../a", "a\\b", "__a", "zarr.json", "\0", 3)
    ],
    ({"channels": 5}, "expected a list of channels; got 5"),
    ({"channels": [5]}, "label, color, active, window"),
    ({"channels": "DAPI"}, "expected a list of channels; got the text 'DAPI'"),
    ({"labels": PIXELS}, "expected True, or label images by name; got ndarray"),
    ({"labels": {"cells": [[1]]}}, "expected labels 'cells' as an array; got list"),
    ({"channels": [None]}, "a name, or the fields label, color, .* for a channel; got None"),
    ({"channels": [{"label": 3}]}, "expected a text as the label of a channel; got 3"),
    ({"channels": [{"emission": "red"}]}, "expected a number of nanometers as the emission of a channel; got 'red'"),
    ({"axes": (0, 1, 2)}, r"one of t, c, z, y, x for each dimension.*; got 3 dimensions and the axes \(0, 1, 2\)"),
    ({"axes": ([0], "y", "x")}, "one of t, c, z, y, x for each dimension"),
    ({"axes": 3}, "3 dimensions and the axes 3"),
    ({"name": 3}, "expected a text as the name of the image; got 3"),
    ({"downsample": 3}, "expected auto, none, or the axes to halve, as in z,y,x; got 3"),
    ({"downsample": ["y", None]}, "no axis 'None'"),
    ({"method": "median"}, "mean, nearest, mode"),
    ({"downsample": "q"}, "no axis 'q'"),
    ({"codec": "jpeg"}, "expected one of the codecs"),
    ({"shards": "y=100"}, "a multiple of the chunk's length"),
])  # fmt: skip
def test_what_does_not_fit(out, options, message):
    with pytest.raises(UsageError, match=message):
        write_image(out, PIXELS, **options)
    assert not os.listdir(out.parent)


def test_an_array_of_unknown_shape_is_refused(out):
    rows = da.from_array(PIXELS[0], chunks=(60, 400))
    unknown = rows[rows[:, 0] > 99]
    for call in (lambda: write_image(out, unknown), lambda: write_image(out, PIXELS, labels={"a": unknown})):
        with pytest.raises(UsageError, match=r"expected an array of known shape; found \(nan, 400\)") as caught:
            call()
        assert "compute_chunk_sizes()" in caught.value.hint
    assert not os.listdir(out.parent)
    write_image(out, unknown.compute_chunk_sizes())


def test_arrays_that_are_no_images(out):
    with pytest.raises(UsageError, match="an array with shape and dtype; got Shape"):
        write_image(out, type("Shape", (), {"shape": (3, 4)})())
    with pytest.raises(UsageError, match="has none"):
        write_image(out, PIXELS[:, :0])
    with pytest.raises(UsageError, match="labels that are integers; found float64"):
        write_image(out, np.zeros((9, 9)), labels=True)
    with pytest.raises(UnsupportedError, match="at most 64 bits"):
        write_image(out, np.zeros((9, 9), "longdouble"))
    with pytest.raises(ResourceError, match="does not exist"):
        write_image(out.parent / "nowhere" / "a.ozx", PIXELS)

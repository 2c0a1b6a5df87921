"""An array as an image: what is said of it, and what is refused."""

import io
import os
from functools import partial

import dask.array as da
import numpy as np
import PIL.Image
import pytest
import tifffile
import xarray as xr
import zarr
from elsewhere import Elsewhere
from ome_zarr_models.v05 import Image

import ozx
from ozx.errors import ResourceError, UnsupportedError, UsageError
from ozx.ome.colors import ShownChannel
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
        out, PIXELS, axes="cyx", pixel_size={"y": 0.5, "x": 0.25}, unit="um", channel_names=channels, name="My cells"
    )
    assert result.to_dict() == {"schema": 2, "path": str(out), "entries": 7, "bytes": out.stat().st_size, "notes": []}
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


@pytest.mark.parametrize("wrap", [np.asarray, lambda data: da.from_array(data, chunks=(70, 80, 2))])
@pytest.mark.parametrize("dims", [None, "yxc", ("Y", "X", "Channel")])
def test_dimensions_in_another_order_are_given_or_those_of_xarray(out, wrap, dims):
    array = wrap(PIXELS.transpose(1, 2, 0))
    named = {"axes": "yxc", "array": array} if dims is None else {"array": xr.DataArray(array, dims=tuple(dims))}
    write_image(out, **named, pixel_size={"y": 0.5, "x": 0.25})
    image = ozx.inspect(out).images[0]
    assert [axis.name for axis in image.axes] == ["c", "y", "x"]
    assert image.levels[0].scale == (1.0, 0.5, 0.25)
    np.testing.assert_array_equal(ozx.open(out)["0"][...], PIXELS)


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
    write_image(out, np.zeros((4, 20, 30), "uint16"), axes="cyx", channel_names=channels)
    found = [channel["color"] for channel in ozx.open(out).attrs["ome"]["omero"]["channels"]]
    assert found == ["0000FF", "FF0000", "12AB56", "FF0000"]


def test_an_array_of_zarr_cannot_be_turned(out, tmp_path):
    array = zarr.create_array(tmp_path / "z", shape=(30, 40, 2), dtype="uint8")
    with pytest.raises(UsageError, match=r"in the order cyx; got yxc"):
        write_image(out, array, axes="yxc")


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


def test_labels_are_never_averaged(tmp_path):
    mask = np.zeros((300, 300), "uint16")
    mask[:, 151:] = 1000
    tifffile.imwrite(tmp_path / "mask.tif", mask)
    for write in (lambda path, **how: write_image(path, mask, **how), partial(ozx.import_image, tmp_path / "mask.tif")):
        with pytest.raises(UsageError, match="labels cannot be averaged"):
            write(tmp_path / "out.ozx", labels=True, method="mean")
        write(tmp_path / "out.ozx", labels=True, method="mode", force=True)
        assert set(np.unique(ozx.open(tmp_path / "out.ozx")["1"])) == {0, 1000}


def test_labels_of_xarray_have_their_own_order(out):
    square = PIXELS[:, :300, :300]
    labels = {"cells": xr.DataArray(square[0].T, dims=("x", "y")), "plain": square[0]}
    write_image(out, xr.DataArray(square, dims=("c", "y", "x")), labels=labels)
    for name in labels:
        np.testing.assert_array_equal(ozx.open(out)[f"labels/{name}/0"][...], square[0])
    labels = {"cells": xr.DataArray(square[0], dims=("z", "y"))}
    with pytest.raises(UsageError, match="expected labels 'cells' with the dimensions y, x; found z, y"):
        write_image(out, xr.DataArray(square, dims=("c", "y", "x")), labels=labels, force=True)


@pytest.mark.parametrize("axes", ["yx", "zyx", "tyx", "tzyx"])
def test_labels_without_t_or_z_are_those_that_add_labels_writes(out, axes):
    pixels = np.random.default_rng(0).integers(0, 9, (2, 3, 4, 300, 520), "uint16")  # t, c, z, y, x
    mask = pixels[:, 0] > 4
    mask = mask[tuple(slice(None) if axis in axes else 0 for axis in "tzyx")]
    short = mask.reshape([1] * (4 - mask.ndim) + [*mask.shape]) if axes in ("yx", "zyx") else mask
    labels = {"plain": mask, "short": short, "named": xr.DataArray(mask, dims=tuple(axes))}
    array = xr.DataArray(pixels, dims=tuple("tczyx"))
    write_image(out, array, labels=labels)
    ozx.add_labels(out, "added", mask, axes=axes)
    levels = {label.name: [(level.shape, level.scale) for level in label.levels] for label in ozx.inspect(out).labels}
    assert levels["plain"] == levels["short"] == levels["named"] == levels["added"]
    root = ozx.open(out)
    for name in levels:
        for level in ("0", "1"):
            np.testing.assert_array_equal(root[f"labels/{name}/{level}"][...], root[f"labels/added/{level}"][...])
    with pytest.raises(UsageError, match="expected labels 'cells' of the shape"):
        write_image(out, pixels, axes="tczyx", labels={"cells": mask[..., 1:]}, force=True)


def test_labels_without_t_or_z_go_to_other_processes(out, tmp_path):
    array, mask = np.zeros((2, 3, 64, 64), "uint8"), PIXELS[0, :64, :64] > 2000
    write_image(out, array, axes="tzyx", labels={"cells": mask}, executor=Elsewhere(tmp_path))
    np.testing.assert_array_equal(ozx.open(out)["labels/cells/0"][...], mask[None, None])


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


@pytest.mark.parametrize(
    ("change", "found"),
    [(lambda block: block[:, :5, :5], "the shape"), (lambda block: block * 1.5, "the type float64")],
    ids=["shape", "type"],
)
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


@pytest.mark.skipif(np.dtype("clongdouble").itemsize == 16, reason="this system has no longer numbers")
def test_complex_numbers_of_more_than_128_bits_are_refused(out):
    with pytest.raises(UnsupportedError, match=r"cannot store complex\d+: .* or complex numbers of at most 128 bits"):
        write_image(out, np.zeros((8, 8), "clongdouble"))


def test_masked_pixels_are_refused(out):
    with pytest.raises(UsageError, match="expected pixels without a mask"):
        write_image(out, PIXELS, labels={"cells": np.ma.masked_less(PIXELS, 9)})
    assert not os.listdir(out.parent)
    write_image(out, np.ma.masked_less(PIXELS, 9).filled(0))


@pytest.mark.parametrize(("size", "scale", "units"), [
    (0.5, (1, 0.5, 0.5), (None, None)),
    ("0.5um", (1, 0.5, 0.5), ("micrometer", "micrometer")),
    ("y=0.5mm,x=2", (1, 0.5, 2), ("millimeter", None)),
    ({"y": "0.5um", "x": 1}, (1, 0.5, 1), ("micrometer", None)),
    (np.array([1, 0.5, 2]), (1, 0.5, 2), (None, None)),
])  # fmt: skip
def test_pixel_sizes_may_be_one_number_an_array_or_text_with_units(out, size, scale, units):
    write_image(out, PIXELS, axes="CYX", pixel_size=size)
    image = ozx.inspect(out).images[0]
    assert image.levels[0].scale == scale
    assert tuple(axis.unit for axis in image.axes[1:]) == units


def test_coordinates_of_xarray_become_pixel_sizes_positions_units_and_names(out):
    coords = {"c": ["DAPI", "GFP"], "y": 10 + 0.325 * np.arange(300), "x": ("x", np.arange(400.0) * 2, {"units": "µm"})}
    for pixels in (PIXELS, da.from_array(PIXELS, chunks=(1, 100, 400))):
        array = xr.DataArray(pixels, coords, ("c", "y", "x"), "My cells")
        assert write_image(out, array, labels={"cells": PIXELS[0]}, force=True).notes == ()
        image = ozx.inspect(out).images[0]
        assert (image.name, [channel.label for channel in image.channels]) == ("My cells", ["DAPI", "GFP"])
        assert [axis.unit for axis in image.axes] == [None, None, "micrometer"]
        assert (image.levels[0].scale, image.levels[0].translation) == ((1, 0.325, 2), (0, 10, 0))
        label = ome_of(out, "labels/cells")["multiscales"][0]["datasets"][0]["coordinateTransformations"]
        assert [step[step["type"]] for step in label] == [[0.325, 2], [10, 0]]
    np.testing.assert_array_equal(ozx.open(out)["0"][...], PIXELS)


def test_arguments_win_over_coordinates(out):
    coords = {"c": ["a", "b"], "x": ("x", np.arange(400.0), {"units": "mm"})}
    array = xr.DataArray(PIXELS, coords, ("c", "y", "x"), "array")
    write_image(out, array, pixel_size={"x": 3}, unit="um", channel_names=["DAPI", "GFP"], name="given")
    image = ozx.inspect(out).images[0]
    assert (image.name, [channel.label for channel in image.channels]) == ("given", ["DAPI", "GFP"])
    assert (image.levels[0].scale, image.axes[2].unit) == ((1, 1, 3), "micrometer")


@pytest.mark.parametrize(("coords", "attrs", "note"), [
    ({"x": np.arange(400.0) ** 2}, {}, "coordinates of x are left out: they are not numbers that rise by equal steps"),
    ({"x": np.arange(400.0)[::-1]}, {}, "coordinates of x are left out"),
    ({"x": ["a"] * 400}, {}, "coordinates of x are left out"),
    ({"x": ("x", np.arange(400.0), {"units": "furlong"})}, {}, "the unit 'furlong' of x is left out"),
    ({"x": ("x", np.arange(400.0), {"units": "second"})}, {}, "the unit 'second' of x is left out"),
    ({"x": ("x", np.arange(400.0), {"lens": "60x"})}, {}, "attributes of x are left out: lens"),
    ({"stage": 3.5}, {}, "the coordinates stage are left out"),
    ({}, {"microscope": "A", "long_name": "cells"}, "attributes of the array are left out: microscope"),
])  # fmt: skip
def test_what_cannot_be_taken_from_coordinates_is_noted(out, coords, attrs, note):
    result = write_image(out, xr.DataArray(PIXELS, coords, ("c", "y", "x"), attrs=attrs))
    assert len(result.notes) == 1
    assert note in result.notes[0]
    assert ozx.validate(out).valid


def test_times_become_seconds(out):
    times = np.datetime64("2026-01-02T03:04:05") + np.arange(2) * np.timedelta64(1500, "ms")
    for values, notes in ((times, 1), (times - times[0], 0)):
        array = xr.DataArray(PIXELS, {"time": values}, ("time", "y", "x"))
        assert len(write_image(out, array, force=True).notes) == notes
        image = ozx.inspect(out).images[0]
        assert (image.axes[0].unit, image.levels[0].scale[0]) == ("second", 1.5)


def test_the_dataset_that_xarray_opens_gives_the_same_image(out):
    sizes = {"y": 0.325, "x": 1 / 3}
    write_image(out, PIXELS, axes="cyx", pixel_size=sizes, unit="um", channel_names=["a", "b"], name="First")
    again = out.parent / "b.ozx"
    for level in (0, 1):
        with xr.open_dataset(out, level=level) as dataset:
            assert write_image(again, dataset["image"], force=True).notes == ()
        first, second = ozx.inspect(out).images[0], ozx.inspect(again).images[0]
        assert (second.name, second.axes) == (first.name, first.axes)
        assert [channel.label for channel in second.channels] == ["a", "b"]
        assert second.levels[0].scale == pytest.approx(first.levels[level].scale, rel=1e-11)
        assert second.levels[0].translation == pytest.approx(first.levels[level].translation, rel=1e-11)


def test_former_names_of_arguments_work_with_a_warning(out):
    with pytest.warns(ozx.OzxWarning) as caught:
        write_image(out, PIXELS, axes="cyx", scale=0.5, channels=["DAPI", "GFP"])
    assert sorted(str(warning.message) for warning in caught) == [
        "channels is now called channel_names", "scale is now called pixel_size",
    ]  # fmt: skip
    assert {warning.filename for warning in caught} == {__file__}
    assert ozx.inspect(out).images[0].levels[0].scale == (1, 0.5, 0.5)
    with pytest.warns(ozx.OzxWarning, match="scale is now called pixel_size"):
        ozx.Camera(scale=0.5)
    with pytest.raises(UsageError, match="scale is the former name of pixel_size; got both"):
        write_image(out, PIXELS, scale=1, pixel_size=1, force=True)


def test_arguments_in_the_wrong_place_are_named(out):
    with pytest.raises(UsageError, match="expected the path first, then the array"):
        write_image(PIXELS, out)
    with pytest.raises(UsageError, match="expected True or False for force; got ndarray"):
        write_image(out, PIXELS, force=PIXELS)
    with pytest.raises(UsageError, match="expected True or False for sync; got str"):
        write_image(out, PIXELS, sync="no")
    for words in ({"name": "a\ud800"}, {"channel_names": ["a\udc00", "b"]}, {"labels": {"a\ud800": PIXELS[0]}}):
        with pytest.raises(UsageError, match="which UTF-8 cannot hold"):
            write_image(out, PIXELS, axes="cyx", **words)
    assert not os.listdir(out.parent)
    write_image(out, PIXELS, force=np.True_, progress=None)


def test_an_existing_file_is_kept_unless_forced(out):
    out.write_bytes(b"old")
    with pytest.raises(UsageError, match="exists already"):
        write_image(out, PIXELS)
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
    ({"pixel_size": (1, 2)}, "a pixel size for each of the axes z, y, x; got 2"),
    ({"pixel_size": {"c": 1}}, "axes of the array, z, y, x; got 'c'"),
    ({"pixel_size": (1, 0, 1)}, "pixel size greater than 0"),
    ({"pixel_size": {"x": float("nan")}}, "pixel size greater than 0"),
    ({"unit": "furlong"}, "furlong"),
    ({"unit": 5}, "a unit, or units by axis; got 5"),
    ({"unit": {"y": 5}}, "a unit, or units by axis; got {'y': 5}"),
    ({"unit": {"t": "second"}}, "axes of the array"),
    ({"unit": {"x": "second"}}, "a unit of space for the axis x; got 'second'"),
    ({"channel_names": ["a", "b"]}, "expected 1 channel, as many as the array has; got 2"),
    ({"axes": "cyx", "channel_names": ["a"]}, "expected 2 channels, as many as the array has; got 1"),
    ({"channel_names": [{"colour": "FF0000"}]}, "label, color, active, window"),
        ({"channel_names": [{"window": 9}]}, "label, color, active, window"),
    ({"channel_names": [{"window": (9, 3)}]}, "start not above end, as the window of a channel; got .9.0, 3"),
    ({"channel_names": [{"window": (float("nan"), 3)}]}, "expected finite numbers"),
    ({"channel_names": [{"window": (0, float("inf"))}]}, "expected finite numbers"),
    ({"channel_names": [{"color": "reddish"}]}, "six hexadecimal digits"),
    ({"channel_names": [ShownChannel(color="12345G")]}, "six hexadecimal digits"),
    ({"labels": {"cells": PIXELS[0, 1:]}}, r"labels 'cells' of the shape \(2, 300, 400\); found \(299, 400\)"),
    *[
        ({"labels": {name: PIXELS}}, "expected the name of a label image; got")
        for name in ("", ".", "..", "a/b", "../a", "a\\b", "__a", "zarr.json", "\0", 3)
    ],
    ({"channel_names": 5}, "expected a list of channels; got 5"),
    ({"channel_names": [5]}, "label, color, active, window"),
    ({"channel_names": "DAPI"}, "expected a list of channels; got the text 'DAPI'"),
    ({"labels": PIXELS}, "expected True, or label images by name; got ndarray"),
    ({"labels": {"cells": [[1]]}}, "expected labels 'cells' as an array; got list"),
    ({"channel_names": [None]}, "None does not describe a channel"),
    ({"channel_names": [{"label": 3}]}, "expected a text as the label of a channel; got 3"),
    ({"channel_names": [{"emission": "red"}]}, "a number of nanometers as the emission of a channel; got 'red'"),
    ({"axes": (0, 1, 2)}, r"one of t, c, z, y, x for each dimension.*; got 3 dimensions and the axes \(0, 1, 2\)"),
    ({"axes": ([0], "y", "x")}, "one of t, c, z, y, x for each dimension"),
    ({"axes": 3}, "3 dimensions and the axes 3"),
    ({"name": 3}, "expected a text as the name of the image; got 3"),
    ({"downsample": 3}, "expected auto, none, or the axes to halve, as in z,y,x; got 3"),
    ({"downsample": ["y", None]}, "no axis 'None'"),
    ({"method": "median"}, "mean, nearest, mode"),
    ({"method": ["mean"]}, "mean, nearest, mode"),
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


def test_an_open_file_gets_the_bytes_of_a_file_and_stays_open(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 999, (2, 600, 500), "uint16")
    path = write_image(tmp_path / "a.ozx", pixels, axes="cyx", name="n", sync=False).path
    memory = io.BytesIO()
    memory.write(b"before")
    assert write_image(memory, pixels, axes="cyx", name="n").path == "<BytesIO>"
    assert memory.getvalue() == b"before" + (tmp_path / "a.ozx").read_bytes()
    with open(tmp_path / "b.ozx", "wb") as file:
        assert write_image(file, pixels, axes="cyx", name="n").path == str(tmp_path / "b.ozx")
        assert not file.closed
    assert (tmp_path / "b.ozx").read_bytes() == (tmp_path / "a.ozx").read_bytes()
    assert np.array_equal(ozx.read(path), pixels)


def test_an_open_file_gets_nothing_if_the_image_cannot_be_written(tmp_path):
    memory = io.BytesIO()
    with pytest.raises(UsageError):
        write_image(memory, np.zeros((4, 4)), axes="yxc")
    assert memory.getvalue() == b""
    (tmp_path / "a.ozx").touch()
    memory.close()
    for file in (io.StringIO(), io.FileIO(tmp_path / "a.ozx"), memory):
        with pytest.raises(UsageError, match="expected a file that is open for writing bytes"):
            write_image(file, np.zeros((4, 4)))
        file.close()


def test_an_open_file_that_was_longer_ends_with_the_image(tmp_path):
    small = np.ones((20, 20), "uint8")
    for file in (io.BytesIO(), open(tmp_path / "a.ozx", "w+b")):  # noqa: SIM115 (closed below)
        with file:
            write_image(file, np.random.default_rng(0).integers(0, 99, (90, 90), "uint8"))
            file.seek(0)
            written = write_image(file, small).bytes
            assert file.seek(0, io.SEEK_END) == written
            assert np.array_equal(ozx.read(file), small)


@pytest.mark.skipif(os.name == "nt", reason="a pipe of Windows holds fewer bytes")
def test_a_pipe_gets_an_image(tmp_path):
    reader, writer = os.pipe()
    with open(writer, "wb") as pipe:
        write_image(pipe, np.ones((20, 20), "uint8"))
    with open(reader, "rb") as pipe:
        assert np.array_equal(ozx.read(io.BytesIO(pipe.read())), np.ones((20, 20)))

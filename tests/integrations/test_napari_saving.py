"""Layer data into .ozx files, without napari; read back by ome-zarr-models and by ozx."""

from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest
import zarr
from hierarchies import FIXTURES
from ome_zarr_models import open_ome_zarr
from packed import pack_tree

import ozx
from ozx.errors import ResourceError, UnsupportedError
from ozx.integrations.napari import read_layers, write_layers

pytestmark = pytest.mark.usefixtures("napari_stand_in")

RAMP = (np.arange(40 * 50, dtype="u2") * 7).reshape(40, 50)


def save(folder, *layers):
    path = str(folder / "saved.ozx")
    assert write_layers(path, list(layers)) == [path]
    report = ozx.validate(path)
    # What nobody told napari is noted: units, how levels were made, what a dimension is.
    told = [finding for finding in report.findings if finding.severity != "note" and finding.id != "ome/axis-type"]
    assert told == []
    group = ozx.open(path)
    open_ome_zarr(group)
    return group


def ome(group):
    return group.attrs["ome"]


def axes(group):
    return [(axis["name"], axis.get("type"), axis.get("unit")) for axis in ome(group)["multiscales"][0]["axes"]]


def steps(group):
    datasets = ome(group)["multiscales"][0]["datasets"]
    return [[step[step["type"]] for step in dataset["coordinateTransformations"]] for dataset in datasets]


def image(data=RAMP, **meta):
    return data, {"name": "Cells", **meta}, "image"


def labels(data, **meta):
    return data, {"name": "cells", **meta}, "labels"


def test_a_plain_picture(tmp_path):
    still = {"rotate": np.eye(2), "shear": [0.0], "affine": np.eye(3)}  # is not refused
    group = save(tmp_path, image(scale=[0.5, 0.25], translate=[3, 0], units=["micrometer", "pixel"], **still))
    assert np.array_equal(group["0"][...], RAMP)
    assert axes(group) == [("y", "space", "micrometer"), ("x", "space", None)]
    assert steps(group) == [[[0.5, 0.25], [3.0, 0.0]]]
    assert ome(group)["multiscales"][0]["name"] == "saved"
    window = {"min": 0.0, "max": 65535.0, "start": 0.0, "end": 65535.0}
    assert ome(group)["omero"] == {
        "channels": [{"active": True, "color": "FFFFFF", "label": "Cells", "window": window}],
        "rdefs": {"defaultT": 0, "defaultZ": 0, "model": "greyscale"},
    }


@pytest.mark.parametrize("dtype", ["u1", ">u2", "i4", "f2", "f4", "f8", "?", "u8"])
def test_types_of_pixels(tmp_path, dtype):
    data = (RAMP % 2).astype(dtype)
    group = save(tmp_path, image(data, contrast_limits=(0.25, 0.75)))
    assert group["0"].dtype == np.dtype(dtype).newbyteorder("=")
    assert np.array_equal(group["0"][...], data)


def test_several_images_become_channels(tmp_path):
    nuclei = image(name="Nuclei", colormap={"name": "b", "colors": np.array([[0, 0, 0, 1], [0.2, 0.4, 1, 1]])},
                   contrast_limits=[10, 900])  # fmt: skip
    group = save(tmp_path, nuclei, image(RAMP + 1, name="Actin", colormap="#ffB000", visible=False))
    assert np.array_equal(group["0"][...], np.stack([RAMP, RAMP + 1]))
    assert axes(group)[0] == ("c", "channel", None)
    assert steps(group) == [[[1.0, 1.0, 1.0]]]
    nuclei, actin = ome(group)["omero"]["channels"]
    assert (nuclei["label"], nuclei["color"], nuclei["active"]) == ("Nuclei", "3366FF", True)
    assert nuclei["window"] == {"min": 0.0, "max": 65535.0, "start": 10.0, "end": 900.0}
    assert (actin["label"], actin["color"], actin["active"]) == ("Actin", "FFB000", False)
    assert ome(group)["omero"]["rdefs"]["model"] == "color"


def test_time_comes_before_channels_and_planes_after(tmp_path):
    stack = np.arange(2 * 3 * 4 * 5, dtype="u1").reshape(2, 3, 4, 5)
    meta = {"axis_labels": ("t", "z", "y", "x"), "units": ["second", "micrometer", "micrometer", "micrometer"]}
    group = save(tmp_path, image(stack, **meta), image(stack + 1, **meta))
    assert [axis[0] for axis in axes(group)] == ["t", "c", "z", "y", "x"]
    assert np.array_equal(group["0"][:, 1], stack + 1)
    assert ome(group)["omero"]["rdefs"]["defaultZ"] == 1


@pytest.mark.parametrize(
    ("shape", "meta", "names"),
    [
        ((3, 4, 5), {}, "zyx"),
        ((3, 4, 5), {"axis_labels": ("axis -3", "axis -2", "axis -1")}, "zyx"),
        ((3, 4, 5), {"units": ["second", "pixel", "pixel"]}, "tyx"),
        ((3, 4, 5), {"axis_labels": ("c", "y", "x")}, "cyx"),
        ((2, 3, 4, 5), {}, "tzyx"),
        ((2, 2, 3, 4, 5), {"axis_labels": list("tczyx")}, "tczyx"),
    ],
)
def test_names_of_dimensions(tmp_path, shape, meta, names):
    group = save(tmp_path, image(np.ones(shape, "u1"), **meta))
    assert "".join(axis[0] for axis in axes(group)) == names
    channels = ome(group)["omero"]["channels"]
    assert len(channels) == (shape[names.index("c")] if "c" in names else 1)


def test_a_dimension_of_another_kind(tmp_path):
    group = save(tmp_path, image(np.ones((3, 4, 5), "u1"), axis_labels=["field", "y", "x"]))
    assert axes(group)[0] == ("field", None, None)


def test_levels_are_kept_and_placed(tmp_path):
    group = save(tmp_path, image([RAMP, RAMP[1::2, 1::2], RAMP[2::4, 2::4]], multiscale=True, scale=[2, 2]))
    assert [group[path].shape for path in "012"] == [(40, 50), (20, 25), (10, 12)]
    assert steps(group) == [[[2.0, 2.0], [0.0, 0.0]], [[4.0, 4.0], [1.0, 1.0]], [[8.0, 8.0], [3.0, 3.0]]]


def test_colours_become_channels(tmp_path):
    data = np.random.default_rng(0).integers(0, 255, (8, 9, 4), "u1")
    group = save(tmp_path, image(data, rgb=True))
    assert np.array_equal(group["0"][...], np.moveaxis(data, -1, 0))
    shown = [(item["label"], item["color"], item["active"]) for item in ome(group)["omero"]["channels"]]
    assert shown[0] == ("Red", "FF0000", True)
    assert shown[3] == ("Alpha", "FFFFFF", False)


def test_labels_go_below_their_image_with_as_many_levels(tmp_path):
    cells = (np.arange(40 * 50) % 9).astype("i4").reshape(40, 50)
    names = [
        labels(cells),
        labels(cells > 3, name="cells"),
        labels([cells, cells[::2, ::2]], name="a b/c", multiscale=True),
    ]
    group = save(tmp_path, image([RAMP, RAMP[::3, ::3]], multiscale=True), *names)
    assert group["labels"].attrs["ome"] == {"version": "0.5", "labels": ["cells", "cells_2", "a_b_c"]}
    assert np.array_equal(group["labels/cells/0"][...], cells)
    assert group["labels/cells/1"].shape == (14, 17)
    assert np.array_equal(group["labels/cells/1"][:-1, :-1], cells[1::3, 1::3][:, :16])
    assert np.array_equal(group["labels/cells_2/0"][...], cells > 3)
    assert group["labels/cells_2/0"].dtype == np.uint8
    assert np.array_equal(group["labels/a_b_c/1"][...], cells[::2, ::2])
    assert ome(group["labels/cells"])["image-label"] == {"source": {"image": "../../"}}


def test_label_colours_and_features_are_kept(tmp_path):
    colors = {None: (0, 0, 0, 1), 0: (0, 0, 0, 0), 7: np.array([1, 0.2, 0, 1]), 9: (0, 1, 0, 1)}
    features = {"index": np.array([7, 8]), "area": np.array([3.5, np.nan]), "kind": np.array(["a", "b"])}
    group = save(tmp_path, labels(RAMP % 9, colormap=SimpleNamespace(color_dict=colors), features=features))
    assert ome(group)["image-label"] == {
        "colors": [
            {"label-value": 7, "rgba": [255, 51, 0, 255]},
            {"label-value": 9, "rgba": [0, 255, 0, 255]},
            {"label-value": 8, "rgba": [0, 0, 0, 255]},
        ],
        "properties": [
            {"label-value": 7, "area": 3.5, "kind": "a"},
            {"label-value": 8, "kind": "b"},
            {"label-value": 9},
        ],
    }


@pytest.mark.parametrize("name", ["image", "sharded"])
def test_what_was_read_and_saved_is_what_it_was(tmp_path, name):
    source = str(pack_tree(FIXTURES / f"{name}.ome.zarr", tmp_path / "source.ozx"))
    group = save(tmp_path, *read_layers(source))
    before = ozx.open(source)
    for path in ("0", "1", "2", *(["labels/cells/0", "labels/cells/2"] if name == "image" else [])):
        assert np.array_equal(group[path][...], before[path][...])
    old, new = ome(before)["multiscales"][0], ome(group)["multiscales"][0]
    assert new["axes"] == old["axes"]
    for left, right in zip(new["datasets"], old["datasets"], strict=True):
        for one, other in zip(left["coordinateTransformations"], right["coordinateTransformations"], strict=True):
            assert one[one["type"]] == pytest.approx(other[other["type"]])
    assert ome(group)["omero"] == ome(before)["omero"]


def refused(tmp_path, message, *layers):
    path = tmp_path / "refused.ozx"
    with pytest.raises(UnsupportedError, match=message) as caught:
        write_layers(str(path), list(layers))
    assert not isinstance(caught.value, ValueError)  # napari would drop its text
    assert not path.exists()


def test_layers_that_do_not_make_one_image_are_refused(tmp_path):
    shapes = r"one shape and type.*'Cells' with \(40, 50\) uint16 and 'B' with \(39, 50\)"
    refused(tmp_path, shapes, image(), image(RAMP[1:], name="B"))
    refused(tmp_path, r"one shape and type", image(), image(RAMP.astype("f4")))
    refused(tmp_path, r"have different scales.*Save the layers one by one", image(), image(scale=[2, 2]))
    refused(tmp_path, r"expected an image beside 2 labels layers", labels(RAMP), labels(RAMP))
    refused(tmp_path, r"expected image and labels layers, found points", (RAMP, {}, "points"))
    refused(tmp_path, r"found none")
    named = {"axis_labels": ["field", "y", "x"]}
    refused(tmp_path, r"found field, y, x", *[image(np.ones((2, 3, 4)), **named)] * 2)


def test_what_ome_zarr_cannot_say_is_refused(tmp_path):
    refused(tmp_path, "has rotation, shear", image(rotate=[[0, 1], [-1, 0]]))
    refused(tmp_path, "has rotation, shear", image(rotate=30))
    refused(tmp_path, "has rotation, shear", image(shear=[0.5]))
    refused(tmp_path, "has rotation, shear", image(affine=np.array([[1, 0, 5], [0, 1, 0], [0, 0, 1]])))
    refused(tmp_path, "has 5 dimensions without names", image(np.ones((1, 1, 1, 4, 4))))
    refused(tmp_path, "found z, t, y, x", image(np.ones((1, 1, 4, 4)), axis_labels=list("ztyx")))
    refused(tmp_path, "expected pixels that are numbers", image(np.array([["a"]])))
    refused(tmp_path, "expected pixels that are numbers", image(RAMP[:0]))


@pytest.mark.parametrize("several", [[], [image(name="B")]], ids=["one layer", "two layers"])
def test_blocks_that_differ_from_the_declared_ones_are_refused(tmp_path, several):
    larger = da.from_array(RAMP).map_blocks(lambda block: block.repeat(2, 1), dtype="u2", meta=RAMP[:0, :0])
    shapes = r"of the shape \(40, 50\) at y=0:40, x=0:50; found the shape \(40, 100\)"
    refused(tmp_path, shapes, image(larger), *several)


def test_the_file_that_is_shown_is_not_overwritten(tmp_path):
    path = pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "source.ozx")
    before = path.read_bytes()
    with pytest.raises(UnsupportedError, match="the layer 'Nuclei' is read from this file"):
        write_layers(str(path), read_layers(str(path)))
    assert path.read_bytes() == before


def test_every_kind_of_array_can_be_saved_and_replaces_another_file(tmp_path):
    save(tmp_path, image())
    array = zarr.create_array({}, data=RAMP + 1, chunks=(16, 16))
    assert np.array_equal(save(tmp_path, image(array))["0"][...], RAMP + 1)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises((ResourceError, UnsupportedError), match=r"nowhere"):
        write_layers(str(tmp_path / "nowhere" / "a.ozx"), [image()])

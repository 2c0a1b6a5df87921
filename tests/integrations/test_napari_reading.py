"""Layer data of .ozx files, without napari."""

import json
import pickle
import shutil
import sys

import numpy as np
import pytest
import zarr
from hierarchies import FIXTURES, tree
from packed import pack_changed, pack_tree, sort_values, write_archive, zip_values
from pictures import add_image, new_group, new_plate
from servers import serving
from zarr.storage import LocalStore

import ozx
from ozx.errors import FormatError, OzxError, OzxWarning, ResourceError, UnsupportedError
from ozx.integrations.napari import get_reader, read_layers

pytestmark = pytest.mark.usefixtures("napari_stand_in")


def packed(name, folder):
    return str(pack_tree(FIXTURES / f"{name}.ome.zarr", folder / f"{name}.ozx"))


def written(folder, array, axes, **ome):
    return add_image(new_group(store=LocalStore(folder / "tree")), [array], axes, scales=[[1] * array.ndim], **ome)


def plate_of(folder, wells):
    """Make a plate of one row, with one field in each well: the pixels by the path of the well, and their axes."""
    columns = [path[-1] for path in wells]
    root = new_plate(dict.fromkeys(wells, 1), "A", columns, new_group(store=LocalStore(folder)))
    for path, (pixels, axes) in wells.items():
        add_image(root.create_group(f"{path}/0"), [pixels], axes)
    return root


def first(data):
    return data[0] if isinstance(data, list) else data


def test_channels_become_layers_with_names_colours_contrast_and_place(tmp_path):
    layers = read_layers(packed("image", tmp_path))
    assert [(meta["name"], kind) for _, meta, kind in layers] == [
        ("Nuclei", "image"),
        ("Cytoplasm", "image"),
        ("cells", "labels"),
    ]
    data, meta, _ = layers[1]
    assert [level.shape for level in data] == [(256, 256), (128, 128), (64, 64)]
    assert data[0].chunksize == (256, 256)
    assert (meta["colormap"], meta["contrast_limits"], meta["blending"]) == ("#FFB000", (95.0, 1870.0), "additive")
    assert (meta["visible"], meta["rgb"], meta["multiscale"]) == (True, False, True)
    assert (meta["scale"], meta["translate"]) == ([0.325, 0.325], [0.0, 0.0])
    assert (meta["axis_labels"], meta["units"]) == (["y", "x"], ["micrometer", "micrometer"])
    stored = zarr.open_array(FIXTURES / "image.ome.zarr" / "1", mode="r")
    assert np.array_equal(data[1].compute(), stored[1])


def test_labels_have_their_colours_and_what_is_known_of_them(tmp_path):
    data, meta, _ = read_layers(packed("image", tmp_path))[2]
    assert [level.shape for level in data] == [(256, 256), (128, 128), (64, 64)]
    assert meta["colormap"].color_dict[1] == pytest.approx((107 / 255, 239 / 255, 115 / 255, 1.0))
    assert meta["colormap"].color_dict[0][3] == 0.0
    assert set(meta["features"]) == {"index", "area"}
    assert meta["features"]["area"][0] == int((data[0].compute() == meta["features"]["index"][0]).sum())


def test_without_napari_labels_have_no_colours(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "napari.utils", None)
    assert "colormap" not in read_layers(packed("image", tmp_path))[2][1]


def test_pixels_are_read_when_they_are_asked_for_and_no_sooner(tmp_path, monkeypatch):
    reads = []
    slow = ozx.Array.__getitem__
    monkeypatch.setattr(ozx.Array, "__getitem__", lambda array, key: reads.append(key) or slow(array, key))
    data = read_layers(packed("image", tmp_path))[0][0]
    assert reads == []
    data[0][:10, :10].compute()
    assert len(reads) == 1


def test_pixels_can_be_read_in_another_process(tmp_path):
    data = first(read_layers(packed("image", tmp_path))[0][0])
    assert np.array_equal(pickle.loads(pickle.dumps(data)).compute(), data.compute())


def test_time_and_planes_stay_dimensions(tmp_path):
    data, meta, _ = read_layers(packed("sharded", tmp_path))[0]
    assert data[0].shape == (3, 5, 72, 88)
    assert meta["axis_labels"] == ["t", "z", "y", "x"]
    assert meta["units"] == ["second", "micrometer", "micrometer", "micrometer"]
    assert meta["scale"] == [30.0, 1.5, 0.325, 0.325]
    assert data[0].chunksize == (1, 2, 72, 88)


def test_of_a_series_the_first_image_is_visible(tmp_path):
    layers = read_layers(packed("series", tmp_path))
    assert [(meta["name"], meta["visible"]) for _, meta, _ in layers] == [
        ("Stack: Nuclei", True),
        ("Overview: Nuclei", False),
        ("Overview: Cytoplasm", False),
    ]


def test_a_plate_is_one_picture_of_its_wells_and_a_dimension_of_fields(tmp_path):
    layers = read_layers(packed("plate", tmp_path))
    assert [meta["name"] for _, meta, _ in layers] == ["Synthetic plate: Nuclei", "Synthetic plate: Cytoplasm"]
    data, meta, _ = layers[1]
    assert [level.shape for level in data] == [(2, 128, 128), (2, 64, 64)]
    assert meta["axis_labels"] == ["field", "y", "x"]
    assert meta["scale"] == [1.0, 0.325, 0.325]
    plate = zarr.open_group(FIXTURES / "plate.ome.zarr", mode="r")
    pixels = data[1].compute()
    assert np.array_equal(pixels[0, 32:, :32], plate["B/1/0/1"][1])
    assert np.array_equal(pixels[1, 32:, 32:], plate["B/2/1/1"][1])
    assert not pixels[1, :32, 32:].any()  # A/2 has one field
    whole = data[0].compute()
    for part in (np.s_[0, 30:100:3, 50:90], np.s_[1, 70, 60:], np.s_[:, 127:, 127], np.s_[1:, ::-1, [3, 70, 5]]):
        assert np.array_equal(data[0][part].compute(), whole[part])


def test_wells_that_are_missing_are_black_and_told(tmp_path):
    values = {key: value for key, value in tree(FIXTURES / "plate.ome.zarr").items() if not key.startswith("A/1")}
    path = str(write_archive(tmp_path / "holes.ozx", sort_values(values)))
    with pytest.warns(OzxWarning, match="A/1: a well is listed here, but it has no images"):
        pixels = first(read_layers(path)[0][0]).compute()
    assert not pixels[:, :64, :64].any()
    assert pixels[0, 64:].any()


def test_a_field_that_is_missing_is_black(tmp_path):
    values = {key: value for key, value in tree(FIXTURES / "plate.ome.zarr").items() if not key.startswith("B/2/1/")}
    path = str(write_archive(tmp_path / "holes.ozx", sort_values(values)))
    assert not first(read_layers(path)[0][0]).compute()[1, 64:, 64:].any()


def test_fields_of_other_sizes_are_cut_or_padded_and_labels_make_a_picture_too(tmp_path):
    sizes = {"A/1": 4, "A/2": 3, "A/3": 6}
    root = plate_of(
        tmp_path / "tree", {path: (np.full((size, size), size, "u1"), "yx") for path, size in sizes.items()}
    )
    for path in ("A/1", "A/2"):
        names = root[f"{path}/0"].create_group("labels", attributes={"ome": {"version": "0.5", "labels": ["cells"]}})
        add_image(names.create_group("cells"), [np.ones((sizes[path],) * 2, "u1")], "yx", **{"image-label": {}})
    image, labels = read_layers(str(pack_tree(tmp_path / "tree", tmp_path / "plate.ozx")))
    assert image[0].compute().tolist() == [[4] * 4 + [3, 3, 3, 0] + [6] * 4] * 3 + [[4] * 4 + [0] * 4 + [6] * 4]
    assert labels[1]["name"] == "plate: cells"
    assert labels[0].compute()[0].tolist() == [1] * 4 + [1, 1, 1, 0] + [0] * 4
    assert labels[0][0:2, 5:11].compute().shape == (2, 6)


def test_a_field_with_fewer_channels_than_the_first_is_told_when_its_channel_is_shown(tmp_path):
    counts = {"A/1": 3, "A/2": 2}
    plate_of(tmp_path / "tree", {path: (np.full((count, 4, 4), count, "u1"), "cyx") for path, count in counts.items()})
    layers = [data for data, _, _ in read_layers(str(pack_tree(tmp_path / "tree", tmp_path / "plate.ozx")))]
    assert layers[1].compute()[0].tolist() == [3] * 4 + [2] * 4
    assert layers[2][:, :4].compute().all()
    with pytest.raises(FormatError, match=r"^A/2/0: expected 3 channels as in A/1/0, found 2$") as caught:
        layers[2].compute()
    assert caught.value.hint == "Open this field by itself."


def test_several_files_and_nodes_by_uri_give_the_layers_of_all(tmp_path):
    layers = read_layers([f"ozx://{packed('plate', tmp_path)}/B/2/1", packed("image", tmp_path)])
    assert [meta["name"] for _, meta, _ in layers] == ["Nuclei", "Cytoplasm", "Nuclei", "Cytoplasm", "cells"]
    assert first(layers[0][0]).shape == (64, 64)


def test_a_last_axis_of_three_pixels_is_no_colour(tmp_path):
    written(tmp_path, np.zeros((9, 8, 3), "u1"), "zyx")
    data, meta, _ = read_layers(str(pack_tree(tmp_path / "tree", tmp_path / "thin.ozx")))[0]
    assert meta["rgb"] is False
    assert data.shape == (9, 8, 3)
    assert (meta["name"], meta["colormap"], meta["multiscale"]) == ("thin", "gray", False)


@pytest.mark.parametrize(("count", "colors"), [(2, ["magenta", "green"]), (7, ["cyan", "yellow"])])
def test_channels_without_metadata_get_colours_and_numbers(tmp_path, count, colors):
    written(tmp_path, np.zeros((count, 4, 4), "u1"), "cyx")
    layers = read_layers(str(pack_tree(tmp_path / "tree", tmp_path / "many.ome.ozx")))
    assert len(layers) == count
    assert [meta["colormap"] for _, meta, _ in layers][:2] == colors
    assert layers[1][1]["name"] == "many 1"


def test_a_spectrum_stays_one_layer(tmp_path):
    written(tmp_path, np.zeros((200, 4, 4), "u1"), "cyx")
    layers = read_layers(str(pack_tree(tmp_path / "tree", tmp_path / "spectrum.ozx")))
    assert [(meta["axis_labels"], data.shape) for data, meta, _ in layers] == [(["c", "y", "x"], (200, 4, 4))]


def test_labels_without_the_planes_of_their_image_are_shown_on_all_of_them(tmp_path):
    root = written(tmp_path, np.zeros((2, 3, 4, 5), "u1"), "tzyx")
    names = root.create_group("labels", attributes={"ome": {"version": "0.5", "labels": ["cells", "all"]}})
    pixels = np.arange(2 * 4 * 5, dtype="u2").reshape(2, 4, 5)
    add_image(names.create_group("cells"), [pixels], "tyx", scales=[[1] * 3], **{"image-label": {}})
    add_image(names.create_group("all"), [pixels[0]], "yx", scales=[[1] * 2], **{"image-label": {}})
    _, cells, everywhere = read_layers(str(pack_tree(tmp_path / "tree", tmp_path / "x.ozx")))
    assert cells[0].shape == (2, 3, 4, 5)
    assert np.array_equal(cells[0].compute()[:, 2], pixels)
    assert cells[1]["axis_labels"] == ["t", "z", "y", "x"]
    assert cells[1]["scale"] == [1.0, 1.0, 1.0, 1.0]
    assert everywhere[0].shape == (4, 5)  # napari pairs dimensions from the last one backwards


def test_a_lower_level_that_is_missing_is_told(tmp_path):
    values = {key: value for key, value in tree(FIXTURES / "image.ome.zarr").items() if not key.startswith("1/")}
    path = str(write_archive(tmp_path / "a.ozx", sort_values(values)))
    with pytest.warns(OzxWarning, match="1: this path is listed as a level, but it has no array"):
        data = read_layers(path)[0][0]
    assert [level.shape for level in data] == [(256, 256), (64, 64)]


def test_which_files_are_ours(tmp_path):
    ours = packed("image", tmp_path)
    renamed = shutil.copy(ours, tmp_path / "image.ome.zarr.zip")
    other = zip_values(tmp_path / "other.zip", {"a.txt": b"a"})
    assert get_reader(ours) is read_layers
    assert get_reader([ours, ours]) is read_layers
    assert get_reader(str(renamed)) is read_layers
    assert get_reader("https://example.org/cells.ozx") is read_layers
    assert get_reader("ozx:///a/cells.ozx/labels/cells") is read_layers
    assert get_reader(str(other)) is None
    assert get_reader(str(tmp_path / "absent.zip")) is None
    assert get_reader([]) is None


NO_SCALE = [{"type": "scale", "scale": [1, 0, 1]}]
BROKEN = json.dumps(json.loads(tree(FIXTURES / "image.ome.zarr")["0/zarr.json"]) | {"fill_value": "much"}).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda image, _: image["datasets"].clear(), "expected a multiscale with datasets, found none"),
        (lambda _, values: values.pop("0/zarr.json"), "0: this path is listed as a level, but it has no array"),
        (lambda _, values: values.update({"0/zarr.json": BROKEN}), "0: zarr cannot open this node"),
        (lambda image, _: image["axes"].pop(), "0: expected 2 dimensions, one per axis, found 3"),
        (
            lambda image, _: image["datasets"][0].update(coordinateTransformations=NO_SCALE),
            r"0: expected a scale other than 0 for every axis, found \(1.0, 0.0, 1.0\)",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_our_words(tmp_path, change, message):
    def change_image(ome, values):
        change(ome["multiscales"][0], values)

    with pytest.raises(OzxError, match=message) as caught:
        read_layers(str(pack_changed(FIXTURES / "image.ome.zarr", tmp_path / "changed.ozx", change_image)))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert str(caught.value).startswith(str(tmp_path / "changed.ozx"))


def test_labels_of_fractions_and_what_is_no_image_are_refused(tmp_path):
    root = written(tmp_path, np.zeros((4, 4)), "yx", **{"image-label": {}})
    with pytest.raises(FormatError, match="0: expected a label image of integers, found float64"):
        read_layers(str(pack_tree(tmp_path / "tree", tmp_path / "labels.ozx")))
    root.attrs["ome"] = {"version": "0.5"}
    empty = str(pack_tree(tmp_path / "tree", tmp_path / "empty.ozx"))
    with pytest.raises(FormatError, match=r"expected .* image"):
        read_layers(empty)


def test_files_that_are_no_archive_or_not_there(tmp_path):
    bad = tmp_path / "bad.ozx"
    bad.write_bytes(b"nope")
    with pytest.raises(FormatError, match=r"bad\.ozx"):
        read_layers(str(bad))
    with pytest.raises(ResourceError, match=r"absent\.ozx"):
        read_layers(str(tmp_path / "absent.ozx"))
    v2 = zip_values(tmp_path / "v2.ozx", tree(FIXTURES / "legacy.ome.zarr"))
    with pytest.raises(UnsupportedError, match="v2"):
        read_layers(str(v2))


def test_of_a_signed_url_the_query_is_not_shown(tmp_path):
    pytest.importorskip("obstore", reason="the extra remote is not installed")
    values = {key: value for key, value in tree(FIXTURES / "plate.ome.zarr").items() if not key.startswith("A/1")}
    with serving(write_archive(tmp_path / "holes.ozx", sort_values(values)).read_bytes()) as server:
        with pytest.warns(OzxWarning, match="A/1: a well is listed here") as warned:
            layers = read_layers(f"{server.url}?sig=SECRET")
        with pytest.raises(OzxError, match="no node") as caught:
            read_layers(f"{server.url}?sig=SECRET|zip:Z/")
    assert str(warned[0].message).startswith(f"{server.url}: ")
    assert str(caught.value).startswith(f"{server.url}: ")
    assert "SECRET" not in repr([meta for _, meta, _ in layers])


def test_a_chunk_that_does_not_decode_is_told_when_it_is_shown(tmp_path):
    values = tree(FIXTURES / "image.ome.zarr")
    values["0/c/0/0/0"] = b"\xff" * 64
    layers = read_layers(str(write_archive(tmp_path / "a.ozx", sort_values(values))))
    data, other = first(layers[0][0]), first(layers[1][0])
    assert other.compute().any()
    with pytest.raises(FormatError, match=r"chunk cannot be decoded"):
        data[:10].compute()


def test_without_dask_the_extra_is_named(tmp_path, monkeypatch):
    path = packed("image", tmp_path)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(ResourceError, match="dask, which reads pixels") as caught:
        read_layers(path)
    assert 'pip install "ozx-toolkit[napari]"' in caught.value.hint

"""xarray opens .ozx files: dimensions, coordinates, lazily read pixels, trees."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr
from hierarchies import FIXTURES
from packed import pack_changed, pack_tree, write_archive
from servers import serving

from ozx.errors import FormatError, OzxError, ResourceError, UsageError

IMAGE, SHARDED = FIXTURES / "image.ome.zarr", FIXTURES / "sharded.ome.zarr"


@pytest.fixture
def pack(tmp_path):
    return lambda name: pack_tree(FIXTURES / f"{name}.ome.zarr", tmp_path / f"{name}.ozx")


def pixels(path):
    return zarr.open_array(FIXTURES / path, mode="r")[...]


def change(source, path, **changes):
    """Write an archive of `source` with other root metadata."""
    return pack_changed(source, path, lambda ome, _: ome.update(changes))


def multiscales(source=IMAGE):
    return json.loads((source / "zarr.json").read_bytes())["attributes"]["ome"]["multiscales"]


@pytest.mark.ci
def test_xarray_finds_the_engine_by_itself(pack):
    code = "import xarray, sys; d = xarray.open_dataset(sys.argv[1]); print(d['image'].dims, d['image'].dtype)"
    command = [sys.executable, "-W", "error", "-c", code, str(pack("image"))]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "('c', 'y', 'x') uint16\n"


def test_a_dataset_has_dimensions_coordinates_units_and_names(pack):
    dataset = xr.open_dataset(pack("image"))
    assert list(dataset.data_vars) == ["image"]
    image = dataset["image"]
    assert image.dims == ("c", "y", "x")
    assert image.dtype == np.uint16
    assert image.attrs == {"long_name": "Synthetic cells"}
    assert image["c"].values.tolist() == ["Nuclei", "Cytoplasm"]
    np.testing.assert_allclose(image["y"], np.arange(256) * 0.325)
    assert image["y"].attrs == image["x"].attrs == {"units": "micrometer"}
    np.testing.assert_array_equal(image, pixels("image.ome.zarr/0"))
    assert image.sel(c="Nuclei").sel(y=33.1, x=66, method="nearest").item() == pixels("image.ome.zarr/0")[0, 102, 203]


def test_lower_levels_are_placed_by_scale_and_translation(pack):
    dataset = xr.open_dataset(pack("image"), level=2)
    assert dict(dataset.sizes) == {"c": 2, "y": 64, "x": 64}
    np.testing.assert_allclose(dataset["x"], np.arange(64) * 1.3 + 0.4875)
    np.testing.assert_array_equal(dataset["image"], pixels("image.ome.zarr/2"))


def test_time_and_depth_have_units_of_their_own_and_fill_values_are_no_mask(pack):
    dataset = xr.open_dataset(pack("sharded"))
    assert dataset["image"].dims == ("t", "c", "z", "y", "x")
    assert dataset["t"].values.tolist() == [0, 30, 60]
    assert dataset["t"].dtype == np.float64
    assert (dataset["t"].attrs, dataset["z"].attrs) == ({"units": "second"}, {"units": "micrometer"})
    np.testing.assert_array_equal(dataset["image"].isel(t=2, c=1), 0)  # stored nowhere
    assert dataset["image"].load().dtype == np.uint16
    assert "_FillValue" not in {**dataset["image"].attrs, **dataset["image"].encoding}


@pytest.mark.parametrize("way", ["group", "pipe", "node", "label list"])
def test_a_label_image_is_named_after_its_group(pack, way):
    path = pack("image")
    dataset = {
        "group": lambda: xr.open_dataset(path, group="labels/cells"),
        "label list": lambda: xr.open_dataset(path, group="/labels/"),
        "pipe": lambda: xr.open_dataset(f"{path}|zip:labels/cells/"),
        "node": lambda: xr.open_dataset(f"ozx://{path.as_posix()}/labels/cells"),
    }[way]()
    assert list(dataset.data_vars) == ["cells"]
    np.testing.assert_array_equal(dataset["cells"], pixels("image.ome.zarr/labels/cells/0"))
    merged = xr.open_dataset(path).merge(dataset)
    assert set(merged.data_vars) == {"image", "cells"}


def test_variables_can_be_dropped(pack):
    path = pack("image")
    assert set(xr.open_dataset(path, drop_variables="c").coords) == {"y", "x"}
    assert not xr.open_dataset(path, drop_variables=["image", "y"]).data_vars


DECODERS = ("mask_and_scale", "decode_times", "decode_timedelta", "use_cftime", "concat_characters", "decode_coords")


@pytest.mark.parametrize("value", [False, True])
@pytest.mark.parametrize("name", [*DECODERS, "decode_cf"])
@pytest.mark.filterwarnings("ignore:.*use_cftime:DeprecationWarning")
def test_options_of_cf_decoding_change_nothing(pack, name, value):
    path = pack("sharded")
    plain = xr.open_dataset(path)
    xr.testing.assert_identical(plain, xr.open_dataset(path, **{name: value}))
    xr.testing.assert_identical(plain, xr.decode_cf(plain, decode_timedelta=True))  # nothing to decode
    assert xr.open_datatree(path, **{name: value})["0"]["image"].dtype == np.uint16
    assert set(xr.open_groups(path, **{name: value})) >= {"/", "/0"}


def test_paths_of_every_kind(pack, monkeypatch):
    path = pack("image")
    monkeypatch.chdir(path.parent)
    for given in (path, str(path), "image.ozx", Path("image.ozx"), f"ozx://{path.as_posix()}"):
        with xr.open_dataset(given) as dataset:
            assert dict(dataset.sizes) == {"c": 2, "y": 256, "x": 256}
    renamed = path.rename(path.with_suffix(".zip"))
    assert "image" in xr.open_dataset(renamed, engine="ozx")


@pytest.mark.parametrize(
    ("name", "can"),
    [
        ("a.ozx", True),
        (Path("a.OZX"), True),
        ("ozx:///a/b.zip/labels", True),
        ("https://host/a.ozx?token=x", True),
        ("s3://bucket/a.ozx|zip:labels/", True),
        ("a.zarr", False),
        ("https://host/a.zarr?x.ozx", False),
        (b"PK", False),
        (3, False),
    ],
)
def test_which_files_it_takes_for_its_own(name, can):
    assert xr.backends.list_engines()["ozx"].guess_can_open(name) is can


def test_a_remote_file_is_opened_by_url(pack):
    with serving(pack("image").read_bytes()) as server:
        whole = xr.open_dataset(server.url, chunks={})
        assert len(server.take_requests()) <= 3
        np.testing.assert_array_equal(whole["image"], pixels("image.ome.zarr/0"))
        cells = xr.open_dataset(f"{server.url}|zip:labels/cells/", level=1)
        np.testing.assert_array_equal(cells["cells"], pixels("image.ome.zarr/labels/cells/1"))
        assert len(xr.open_datatree(server.url).leaves) == 6
        for wrong in ({"level": 9}, {"group": "no"}, {"image": "no"}):
            with pytest.raises(OzxError, match="expected") as caught:
                xr.open_dataset(f"{server.url}?sig=SECRET", engine="ozx", **wrong)
            assert str(caught.value).startswith(f"{server.url}: ")


POINTS = xr.DataArray([0, 5, 70], dims="p")


@pytest.mark.ci
@pytest.mark.parametrize(
    "key",
    [
        {"t": 0},
        {"x": slice(None, None, -1)},
        {"x": slice(80, 3, -7), "y": [5, 3, 3, 60]},
        {"x": slice(0, 0)},
        {"x": []},
        {"x": -1, "y": np.array([1, 2])},
        {"x": np.arange(88) % 3 == 0},
        {"x": POINTS, "y": POINTS, "z": 0},
        {"x": POINTS, "y": POINTS, "z": slice(0, 4, 2)},
        {"x": POINTS, "y": POINTS, "z": POINTS % 5, "t": POINTS % 3, "c": POINTS % 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("chunks", [None, {}], ids=["lazy", "dask"])
def test_every_way_of_indexing(pack, key, chunks):
    expected = xr.DataArray(pixels("sharded.ome.zarr/0"), dims=list("tczyx")).isel(key)
    found = xr.open_dataset(pack("sharded"), chunks=chunks)["image"].isel(key)
    assert found.dtype == np.uint16
    np.testing.assert_array_equal(found, expected)


def test_nothing_is_read_before_it_is_used(pack, monkeypatch):
    asked = []
    read = zarr.Array.get_orthogonal_selection
    monkeypatch.setattr(
        zarr.Array, "get_orthogonal_selection", lambda self, key, **more: asked.append(key) or read(self, key, **more)
    )
    part = pickle.loads(pickle.dumps(xr.open_dataset(pack("sharded"))))["image"].isel(t=1, c=0)[2:4][:, 3:9, ::2]
    assert not asked
    np.testing.assert_array_equal(part, pixels("sharded.ome.zarr/0")[1, 0, 2:4, 3:9, ::2])
    assert len(asked) == 1


def test_chunks_of_dask_are_the_inner_chunks_or_multiples(pack):
    path = pack("sharded")
    natural = xr.open_dataset(path, chunks={})["image"]
    assert natural.chunks == ((1, 1, 1), (1, 1), (2, 2, 1), (32, 32, 8), (32, 32, 24))
    np.testing.assert_array_equal(natural, pixels("sharded.ome.zarr/0"))
    larger = xr.open_dataset(path, chunks={"z": 4, "y": 64, "x": 64})["image"]  # as many as a shard holds
    assert larger.data.chunksize == (1, 1, 4, 64, 64)
    np.testing.assert_array_equal(larger.max("z"), pixels("sharded.ome.zarr/0").max(2))
    assert xr.open_dataset(path, chunks="auto")["image"].data.npartitions == 1


def test_a_dataset_can_be_saved_and_closed(pack, tmp_path):
    path = pack("image")
    with xr.open_dataset(path, drop_variables="c") as dataset:  # zarr has no final name for the type of the names
        dataset.to_zarr(tmp_path / "out.zarr", consolidated=False)
    saved = xr.open_zarr(tmp_path / "out.zarr", consolidated=False)
    np.testing.assert_array_equal(saved["image"], pixels("image.ome.zarr/0"))
    assert saved["image"].dtype == np.uint16
    os.remove(path)


def test_many_files_are_one_dataset(pack, tmp_path):
    first = pack("image")
    second = pack_tree(IMAGE, tmp_path / "second.ozx")
    joined = xr.open_mfdataset([first, second], combine="nested", concat_dim="position")
    assert joined["image"].shape == (2, 2, 256, 256)
    np.testing.assert_array_equal(joined["image"][1], pixels("image.ome.zarr/0"))


def test_channels_without_all_names_have_no_coordinate(tmp_path):
    for channels in ([{"label": "only one"}], [{"label": "a"}, {"color": "FF0000"}], []):
        path = change(IMAGE, tmp_path / "a.ozx", omero={"channels": channels})
        assert set(xr.open_dataset(path).coords) == {"y", "x"}


def test_axes_without_units_and_levels_without_a_plain_scale(tmp_path):
    (multiscale,) = multiscales()
    for axis in multiscale["axes"]:
        axis.pop("unit", None)
    multiscale["datasets"][0]["coordinateTransformations"] = [{"type": "affine", "affine": []}]
    dataset = xr.open_dataset(change(IMAGE, tmp_path / "a.ozx", multiscales=[multiscale]))
    assert set(dataset.coords) == {"c"}
    lower = xr.open_dataset(tmp_path / "a.ozx", level=1)
    assert lower["y"].attrs == {}


def test_axes_of_one_name_are_refused(tmp_path):
    (multiscale,) = multiscales()
    multiscale["axes"][1]["name"] = multiscale["axes"][2]["name"]
    path = change(IMAGE, tmp_path / "a.ozx", multiscales=[multiscale])
    with pytest.raises(FormatError, match="different names, found c, x, x"):
        xr.open_dataset(path)


def test_several_images_in_one_group(tmp_path):
    (first,) = multiscales()
    second = {**first, "name": "small", "datasets": first["datasets"][1:]}
    path = change(IMAGE, tmp_path / "a.ozx", multiscales=[first, second])
    assert xr.open_dataset(path).sizes["y"] == 256
    assert xr.open_dataset(path, image=1).sizes["y"] == xr.open_dataset(path, image="small").sizes["y"] == 128


@pytest.mark.parametrize("name", ["plate", "series"])
def test_of_several_images_one_has_to_be_asked_for(pack, name):
    with pytest.raises(UsageError, match="expected one image") as caught:
        xr.open_dataset(pack(name))
    first = {"plate": "A/1/0", "series": "0"}[name]
    assert repr(first) in str(caught.value)
    assert f"group={first!r}" in caught.value.hint
    assert "open_datatree" in caught.value.hint


def test_images_of_a_plate_and_a_series_are_chosen_by_path_number_and_name(pack):
    plate, series = pack("plate"), pack("series")
    expected = pixels("plate.ome.zarr/A/1/1/0")
    for choice in ({"group": "A/1/1"}, {"image": 1}, {"image": "A/1/1"}, {"group": "A/1", "image": 1}):
        np.testing.assert_array_equal(xr.open_dataset(plate, **choice)["image"], expected)
    assert xr.open_dataset(plate, group="B/1").sizes["y"] == 64  # a well with one field
    assert xr.open_dataset(series, image="Overview").sizes["c"] == xr.open_dataset(series, group="1").sizes["c"] == 2


@pytest.mark.parametrize(
    ("kind", "choice", "error", "says"),
    [
        ("image", {"level": 3}, UsageError, "from 0 to 2, got 3"),
        ("image", {"level": -1}, UsageError, "from 0 to 2, got -1"),
        ("image", {"group": "0"}, FormatError, "level="),
        ("image", {"group": "labels/nuclei"}, FormatError, "found nothing"),
        ("image", {"image": 1}, UsageError, "there is no 1"),
        ("image", {"image": "Nuclei"}, UsageError, "there is no 'Nuclei'"),
        ("image", {"decode_nothing": True}, TypeError, "decode_nothing"),
        ("plate", {"image": 6}, UsageError, "there is no 6"),
        ("plate", {"group": "A/1"}, UsageError, "'A/1/0', 'A/1/1'"),
    ],
)
def test_wrong_choices_are_told(pack, kind, choice, error, says):
    with pytest.raises(error, match=says):
        xr.open_dataset(pack(kind), **choice)


@pytest.mark.parametrize("name", ["image", "plate", "series", "sharded"])
@pytest.mark.parametrize("chunks", [None, {}], ids=["lazy", "dask"])
def test_a_tree_has_every_array_where_it_stands(pack, name, chunks):
    source = FIXTURES / f"{name}.ome.zarr"
    documents = {path.parent: json.loads(path.read_bytes()) for path in source.rglob("zarr.json")}
    arrays = {
        path.relative_to(source).as_posix() for path, document in documents.items() if document["node_type"] == "array"
    }
    with xr.open_datatree(pack(name), chunks=chunks) as opened:
        found = {node.path.removeprefix("/"): node for node in opened.subtree if node.data_vars}
        assert set(found) == arrays
        for path, node in found.items():
            (variable,) = node.data_vars.values()
            np.testing.assert_array_equal(variable, pixels(f"{source.name}/{path}"))
    assert set(xr.open_groups(pack(name))) == {"/", *(f"/{path}" for path in arrays)}


def test_a_tree_of_a_part(pack):
    found = xr.open_datatree(pack("plate"), group="A/2", drop_variables="c")
    assert [node.path for node in found.leaves] == ["/0/0", "/0/1"]


def test_files_that_are_none_are_refused_in_our_words(tmp_path):
    (tmp_path / "a.ozx").write_bytes(b"nothing of the kind")
    with pytest.raises(FormatError):
        xr.open_dataset(tmp_path / "a.ozx")
    with pytest.raises(ResourceError, match="No such file"):
        xr.open_dataset(tmp_path / "b.ozx")
    group = b'{"zarr_format": 3, "node_type": "group"}'
    write_archive(tmp_path / "c.ozx", {"zarr.json": group})
    with pytest.raises(FormatError, match="expected an image"):
        xr.open_dataset(tmp_path / "c.ozx")

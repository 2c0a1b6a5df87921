"""Every verb and door on a scene of OME-Zarr 0.6."""

import json

import numpy as np
import pytest
from commands import schema_of
from jsonschema import Draft202012Validator
from packed import write_archive
from scenes import PIXELS, make_scene

import ozx
from ozx.cli.info import describe
from ozx.desktop.viewer.descriptions import describe_file
from ozx.desktop.viewer.pictures import Pictures
from ozx.errors import OzxWarning
from ozx.integrations.napari import read_layers
from ozx.operations.export import export
from ozx.operations.thumbnail import thumbnail


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return make_scene(tmp_path_factory.mktemp("scene"))


def test_it_is_valid_and_described(scene):
    assert ozx.validate(scene, level="data").findings == ()
    inspection = ozx.inspect(scene)
    assert (inspection.kind, [image.path for image in inspection.images]) == ("scene", ["a", "b"])
    assert [step.type for step in inspection.scene.transformations] == ["translation", "affine"]
    image = inspection.images[0]
    assert (image.system, [system.name for system in image.systems]) == ("physical", ["physical", "stage"])
    assert image.levels[0].scale == (0.5, 0.5)
    Draft202012Validator(schema_of("info")).validate(json.loads(json.dumps(inspection.to_dict())))
    lines = " ".join(describe(inspection).split())
    assert "kind scene, OME-Zarr 0.6, Zarr v3" in lines
    assert "translation physical of a → world affine physical of b → world" in lines
    assert "physical y x µm that of the levels stage y x µm" in lines
    assert "rotation physical → stage" in lines


@pytest.mark.parametrize("version", ["0.6rc0", "0.6.dev4", "0.9.dev1", "0.9.dev3"])
def test_drafts_are_named(tmp_path, version):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "zarr.json").write_bytes(_collection(version=version)["zarr.json"])
    assert any(note.startswith(f"OME-Zarr {version} is ") for note in ozx.inspect(tmp_path / "a.zarr").notes)
    report = ozx.validate(tmp_path / "a.zarr")
    assert report.valid
    assert [finding.id for finding in report.findings] == ["ome/draft-version"]


@pytest.mark.usefixtures("napari_stand_in")
def test_napari_places_the_images(scene):
    (_, first, _), (_, second, _) = read_layers(str(scene))
    assert first["scale"] == [0.5, 0.5]
    np.testing.assert_allclose(first["affine"], [[1, 0, 10], [0, 1, 200], [0, 0, 1]])
    np.testing.assert_allclose(second["affine"], [[0, -1, 5], [1, 0, 6], [0, 0, 1]])
    assert first["metadata"]["ozx"]["system"] == "world"
    ((_, alone, _),) = read_layers(f"ozx://{scene}/a")  # in its other system
    np.testing.assert_allclose(alone["affine"], [[0, -1, 0], [1, 0, 0], [0, 0, 1]])


@pytest.mark.usefixtures("napari_stand_in")
def test_napari_names_what_it_cannot_apply(tmp_path):
    path = make_scene(tmp_path, "affine", [[1, 0, 1, 0], [0, 1, 1, 0]])
    with pytest.warns(OzxWarning, match="the affine from 'physical' to 'stage' is not applied"):
        layers = read_layers(f"ozx://{path}/a")
    assert "affine" not in layers[0][1]


def test_xarray_has_the_pixel_sizes_and_names_what_it_does_not_apply(scene):
    xarray = pytest.importorskip("xarray")
    with pytest.warns(OzxWarning, match="the rotation from 'physical' to 'stage' is not applied"):
        dataset = xarray.open_dataset(scene, engine="ozx", image="a")
    np.testing.assert_array_equal(dataset["image"], PIXELS)
    assert dataset["x"].values[1] == 0.5


def test_the_viewer_lists_both_images_and_says_that_they_are_not_placed(scene):
    pictures = Pictures(ozx.open(scene))
    described = describe_file(pictures, str(scene))
    assert [image["name"] for image in described["images"]] == ["Image a", "Image b"]
    (note,) = described["notes"]
    assert note.startswith("the scene places its images in 'world'; ozx does not apply these positions: each image")
    assert pictures.image("a").notes == ("a: the rotation from 'physical' to 'stage' is not applied",)


def test_export_names_what_is_not_applied_and_a_thumbnail_is_drawn(scene, tmp_path):
    thumbnail(scene, tmp_path / "a.png")
    assert (tmp_path / "a.png").exists()
    result = export(scene, tmp_path / "a.ome.tif", sync=False)
    assert any("the scene places its images in 'world'" in note for note in result.notes)
    assert any("the rotation from 'physical' to 'stage' is not applied" in note for note in result.notes)


def test_extract_and_edit_keep_the_places(scene, tmp_path):
    ozx.extract(scene, tmp_path / "part.ozx", region="y=0:32", sync=False)
    before, after = (ozx.open(path) for path in (scene, tmp_path / "part.ozx"))
    assert before.attrs["ome"] == after.attrs["ome"]
    own = [group["a"].attrs["ome"]["multiscales"][0]["coordinateTransformations"] for group in (before, after)]
    assert own[0] == own[1]
    assert not [found for found in ozx.validate(tmp_path / "part.ozx").findings if found.severity == "error"]
    result = ozx.edit(tmp_path / "part.ozx", pixel_size={"y": 1, "x": 1}, sync=False)
    assert any("transformations to other coordinate systems are unchanged" in note for note in result.notes)
    assert ozx.inspect(tmp_path / "part.ozx").images[1].levels[0].scale == (1, 1)


def _collection(**ome):
    attributes = {"ome": {"version": "0.9.dev3", "type": "collection", **ome}}
    return {"zarr.json": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}).encode()}


def test_a_collection_is_described_with_its_nodes(tmp_path):
    inner = {"name": "days", "type": "collection", "nodes": [{"name": "2", "type": "mobie:table", "path": "./2"}]}
    nodes = [{"name": "raw", "type": "multiscale", "path": {"type": "zarr", "path": "./raw"}}, inner, 7]
    inspection = ozx.inspect(write_archive(tmp_path / "a.ozx", _collection(name="all", nodes=nodes)))
    assert (inspection.kind, inspection.name) == ("collection", "all")
    answer = json.loads(json.dumps(inspection.to_dict()))
    Draft202012Validator(schema_of("info")).validate(answer)
    assert [tuple(node.values()) for node in answer["collection"]["nodes"]] == [
        ("raw", "multiscale", "./raw", 0),
        ("days", "collection", None, 0),
        ("2", "mobie:table", "./2", 1),
        (None, None, None, 0),
    ]
    lines = [" ".join(line.split()) for line in describe(inspection).splitlines()]
    start = lines.index("nodes of the collection")
    assert lines[start + 1 : start + 5] == ["raw multiscale ./raw", "days collection", "2 mobie:table ./2", "? ?"]


@pytest.mark.parametrize("nodes", [None, 1, [], [{"type": "collection", "nodes": {}}], [{"path": {"path": 1}}]])
def test_a_malformed_collection_is_still_one(tmp_path, nodes):
    inspection = ozx.inspect(write_archive(tmp_path / "a.ozx", _collection(nodes=nodes)))
    assert (inspection.kind, inspection.name) == ("collection", "a")
    assert describe(inspection)


def test_of_a_deep_or_long_collection_the_first_nodes_are_listed(tmp_path):
    node = {"type": "multiscale"}
    for _ in range(300):
        node = {"type": "collection", "nodes": [node]}
    for nodes in ([node], [{"name": "x"}] * 1000):
        inspection = ozx.inspect(write_archive(tmp_path / "a.ozx", _collection(nodes=nodes)))
        assert len(inspection.collection.nodes) == 100
        assert len(describe(inspection).splitlines()) < 30

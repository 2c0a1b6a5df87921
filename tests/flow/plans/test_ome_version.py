"""Hierarchies in another OME-Zarr version, through every verb that writes one."""

import json
import shutil
import zipfile

import numpy as np
import pytest
from hierarchies import FIXTURES, make_image
from packed import values_of

import ozx
from ozx.errors import UnsupportedError, UsageError
from ozx.zarr.keys import is_metadata_key

NAMES = ("image", "plate", "series", "sharded")


def documents(path):
    return {key: json.loads(value) for key, value in values_of(path).items() if is_metadata_key(key)}


def data(path):
    return {key: value for key, value in values_of(path).items() if not is_metadata_key(key)}


def without_inner_versions(found):
    for document in found.values():
        ome = document.get("attributes", {}).get("ome", {})
        for part in ("plate", "well", "image-label"):
            ome.get(part, {}).pop("version", None)
    return found


def faults(path):
    return [finding for finding in ozx.validate(path).findings if finding.severity == "error"]


@pytest.mark.parametrize("name", NAMES)
def test_packed_as_06_and_back(tmp_path, name):
    source = FIXTURES / f"{name}.ome.zarr"
    ozx.pack(source, tmp_path / "5.ozx", sync=False)
    result = ozx.pack(source, tmp_path / "6.ozx", ome_version="0.6", verify=True, sync=False)
    assert "OME-Zarr 0.5 became 0.6" in result.notes
    back = ozx.repack(tmp_path / "6.ozx", tmp_path / "back.ozx", ome_version="0.5", sync=False)
    assert back.ome_version == "0.5"
    assert data(tmp_path / "5.ozx") == data(tmp_path / "6.ozx") == data(tmp_path / "back.ozx")
    assert documents(tmp_path / "back.ozx") == without_inner_versions(documents(tmp_path / "5.ozx"))
    assert not faults(tmp_path / "6.ozx")
    assert ozx.inspect(tmp_path / "6.ozx").ome_version == "0.6"
    with zipfile.ZipFile(tmp_path / "6.ozx") as archive:
        assert json.loads(archive.comment)["ome"]["version"] == "0.6"


def newer(folder, change):
    """Return a directory of OME-Zarr 0.6 whose root document is changed."""
    ozx.repack(make_image(folder / "five"), folder / "six.zarr", ome_version="0.6", sync=False)
    path = folder / "six.zarr" / "zarr.json"
    document = json.loads(path.read_bytes())
    change(document["attributes"]["ome"])
    path.write_text(json.dumps(document))
    return folder / "six.zarr"


def add_system(ome):
    image = ome["multiscales"][0]
    image["coordinateSystems"].append({**image["coordinateSystems"][0], "name": "stage"})
    step = {"type": "rotation", "rotation": [[0, -1], [1, 0]]}
    image["coordinateTransformations"] = [{**step, "input": {"name": "physical"}, "output": {"name": "stage"}}]


def test_what_05_cannot_express(tmp_path):
    source = newer(tmp_path, add_system)
    assert not faults(source)
    with pytest.raises(UnsupportedError, match=r"the root: OME-Zarr 0\.5 cannot express the coordinate system 'stage'"):
        ozx.repack(source, tmp_path / "a.ozx", ome_version="0.5", sync=False)
    assert not (tmp_path / "a.ozx").exists()
    result = ozx.pack(source, tmp_path / "a.ozx", ome_version="0.5", drop_transformations=True, sync=False)
    assert "the root: left out the coordinate system 'stage', which OME-Zarr 0.5 cannot express" in result.notes
    assert not faults(tmp_path / "a.ozx")


def test_levels_get_the_names_of_their_axes(tmp_path):
    source = newer(tmp_path, lambda ome: None)
    path = source / "0" / "zarr.json"
    document = json.loads(path.read_bytes())
    del document["dimension_names"]
    path.write_text(json.dumps(document))
    result = ozx.pack(source, tmp_path / "a.ozx", ome_version="0.5", sync=False)
    assert documents(tmp_path / "a.ozx")["0/zarr.json"]["dimension_names"] == ["y", "x"]
    assert any("added the names of the axes" in note for note in result.notes)
    assert not faults(tmp_path / "a.ozx")


def test_an_array_gets_no_names_that_only_one_of_its_images_has(tmp_path):
    def add_image(ome):
        image = json.loads(json.dumps(ome["multiscales"][0]))
        for axis, name in zip(image["coordinateSystems"][0]["axes"], ("a", "b"), strict=True):
            axis["name"] = name
        ome["multiscales"].append(image)

    with pytest.raises(
        UnsupportedError, match=r"0: two images give its dimensions different names; one gives \('y', 'x'\)"
    ):
        ozx.pack(newer(tmp_path, add_image), tmp_path / "a.ozx", ome_version="0.5", sync=False)


def test_copies_of_metadata_are_renewed(tmp_path):
    source = make_image(tmp_path / "a")
    path = source / "zarr.json"
    document = json.loads(path.read_bytes())
    copy = {"0": json.loads((source / "0" / "zarr.json").read_bytes())}
    document["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": copy}
    path.write_text(json.dumps(document))
    ozx.pack(source, tmp_path / "a.ozx", ome_version="0.6", sync=False)
    written = documents(tmp_path / "a.ozx")
    assert written["zarr.json"]["consolidated_metadata"]["metadata"] == {"0": written["0/zarr.json"]}


def test_options_that_contradict_each_other(tmp_path):
    source = shutil.copytree(FIXTURES / "image.ome.zarr", tmp_path / "a.ome.zarr")
    with pytest.raises(UsageError, match=r"applies only to OME-Zarr 0\.5"):
        ozx.pack(source, drop_transformations=True)
    with pytest.raises(UsageError, match=r"expected the OME-Zarr version 0\.5 or 0\.6; got '0\.7'"):
        ozx.pack(source, ome_version="0.7")
    with pytest.raises(UsageError, match=r"got '0\.4'"):
        ozx.write_image(tmp_path / "b.ozx", np.zeros((4, 4), "uint8"), ome_version="0.4")

"""What becomes of the attributes of OME-Zarr 0.4."""

import json

import pytest
from upgrades import axes_of, multiscale_of

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.zarr_v2.groups import upgrade_group


def ome_of(attributes):
    return upgrade_group(attributes).document["attributes"]["ome"]


def test_versions_of_parts_give_way_to_one_per_group():
    multiscale = multiscale_of(metadata={"version": "1.2.3", "method": "mean"})
    ome = ome_of({"multiscales": [multiscale], "omero": {"version": "0.4", "channels": [{"version": "kept"}], "id": 1}})
    assert list(ome) == ["version", "multiscales", "omero"]
    assert ome["version"] == "0.5"
    assert ome["multiscales"] == [{key: value for key, value in multiscale.items() if key != "version"}]
    assert ome["omero"] == {"channels": [{"version": "kept"}], "id": 1}


@pytest.mark.parametrize("key", ["plate", "well", "image-label"])
def test_versions_that_the_text_asks_for(key):
    for found in ({"a": 1}, {"a": 1, "version": "0.4"}):
        assert ome_of({key: found}) == {"version": "0.5", key: {"a": 1, "version": "0.5"}}


def test_versions_of_wells_and_labels_do_not_matter():
    for key in ("well", "image-label"):
        assert ome_of({key: {"version": "0.1"}})[key] == {"version": "0.5"}


def test_other_keys():
    attributes = {
        "series": ["0"],
        "author": "me",
        "bioformats2raw.layout": 3,
        "labels": ["a"],
        "_creator": {"name": "x"},
    }
    upgraded = upgrade_group(attributes)
    assert upgraded.is_ome
    assert upgraded.document == {
        "attributes": {
            "ome": {"version": "0.5", "series": ["0"], "bioformats2raw.layout": 3, "labels": ["a"]},
            "author": "me",
            "_creator": {"name": "x"},
        },
        "zarr_format": 3,
        "node_type": "group",
    }
    assert ome_of({"well": None, "omero": []}) == {
        "version": "0.5",
        "well": None,
        "omero": [],
    }  # for validation to judge


@pytest.mark.parametrize("attributes", [None, {}, {"author": "me", "_ARRAY_DIMENSIONS": ["x"]}])
def test_groups_that_are_not_ours(attributes):
    upgraded = upgrade_group(attributes)
    assert not upgraded.is_ome
    assert upgraded.document["attributes"] == (attributes or {})


def test_what_is_given_is_not_changed():
    attributes = {"multiscales": [multiscale_of()], "plate": {"version": "0.4"}, "x": float("nan")}
    before = json.dumps(attributes)
    upgraded = upgrade_group(attributes)
    assert json.dumps(attributes) == before
    assert upgraded.document["attributes"]["x"] == "NaN"
    assert "NaN" in upgraded.notes[0]


def test_names_of_dimensions():
    second = {"axes": axes_of("yx"), "datasets": [{"path": "thumb"}, {"path": 3}, "no dataset"]}
    names = upgrade_group({"multiscales": [multiscale_of("tcyx", ["0", "a/1"]), second]}).dimension_names
    assert dict(names) == {"0": tuple("tcyx"), "a/1": tuple("tcyx"), "thumb": tuple("yx")}


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"multiscales": [multiscale_of(version="0.3")]}, r"0\.3 \(multiscales/0\)"),
        ({"multiscales": [{"version": "0.1", "datasets": [{"path": "0"}]}]}, r"0\.1"),
        ({"multiscales": [{"datasets": [{"path": "0"}]}]}, "0.1 or 0.2, which have no axes"),
        ({"multiscales": [multiscale_of(), {"axes": ["y", "x"]}]}, r"0\.3.*multiscales/1"),
        ({"multiscales": [multiscale_of(version="0.5")]}, r"found 0\.5"),
        ({"plate": {"version": "0.2"}}, r"0\.2 \(plate\)"),
        ({"ome": {"version": "0.5", "labels": []}}, r"'ome' of OME-Zarr 0\.5 \(version 0\.5\)"),
        ({"ome": 3}, "unknown"),
    ],
)
def test_other_versions_are_refused_by_name(attributes, said):
    with pytest.raises(UnsupportedError, match=said) as refusal:
        upgrade_group(attributes)
    assert "0.4" in refusal.value.hint


@pytest.mark.parametrize("version", [None, "0.4", 0.4])
def test_forms_of_the_version(version):
    multiscale = multiscale_of(version=version)
    if version is None:
        del multiscale["version"]
    assert "version" not in ome_of({"multiscales": [multiscale]})["multiscales"][0]


@pytest.mark.parametrize(
    "axes", [[], "yx", [{"name": "y"}, {"name": "y"}], [{"type": "space"}], [{"name": "y"}, 3], {"name": "y"}]
)
def test_axes_without_names(axes):
    with pytest.raises(FormatError, match="axes"):
        upgrade_group({"multiscales": [multiscale_of(axes=axes)]})


@pytest.mark.parametrize("multiscales", [{}, None, ["x"]])
def test_multiscales_that_are_no_list(multiscales):
    with pytest.raises(FormatError, match="multiscales"):
        upgrade_group({"multiscales": multiscales})

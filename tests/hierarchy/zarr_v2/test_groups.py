"""What becomes of the attributes of OME-Zarr 0.4."""

import pytest
from upgrades import multiscale_of

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.zarr_v2.groups import upgrade_group


def ome_of(attributes):
    return upgrade_group(attributes).document["attributes"]["ome"]


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

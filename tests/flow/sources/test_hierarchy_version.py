"""Which Zarr and OME-Zarr a hierarchy is, or what it is instead."""

import json

import pytest
from hierarchies import FIXTURES
from packed import zip_values

from ozx.errors import FormatError
from ozx.flow.repair.hierarchy import open_repaired
from ozx.flow.sources.hierarchy_version import HierarchyVersion, has_version
from ozx.validation.cases.archive_builder import array, group


def version_of(tmp_path, values):
    zip_values(tmp_path / "a.zip", values)
    with open_repaired(tmp_path / "a.zip") as source:
        return has_version(source)


@pytest.mark.parametrize(
    ("name", "version"),
    [("image", (3, "0.5")), ("plate", (3, "0.5")), ("series", (3, "0.5")), ("legacy", (2, "0.4"))],
)
def test_fixtures(name, version):
    assert has_version(open_repaired(FIXTURES / f"{name}.ome.zarr")) == HierarchyVersion(*version)


def test_versions_that_are_not_known_here(tmp_path):
    assert version_of(tmp_path, {"zarr.json": group("0.6rc0")}) == HierarchyVersion(3, "0.6rc0")
    assert version_of(tmp_path, {".zgroup": b"{}", ".zattrs": b'{"labels": []}'}) == HierarchyVersion(2, None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"zarr.json": array([1], [1])}, "found an array"),
        ({"zarr.json": group(None)}, "found a group without OME-Zarr metadata"),
        ({"zarr.json": json.dumps({"zarr_format": 3}).encode()}, "neither a group nor an array"),
        ({"zarr.json": group(7)}, "attributes.ome without a version"),
        ({".zgroup": b"{}"}, "found a group without OME-Zarr metadata"),
        ({".zarray": b"{}"}, "found an array"),
    ],
)
def test_neither(tmp_path, values, message):
    with pytest.raises(FormatError) as caught:
        version_of(tmp_path, values)
    assert message in caught.value.message
    assert caught.value.rule == "rfc9/one-hierarchy"
    assert caught.value.path == str(tmp_path / "a.zip")


@pytest.mark.parametrize("key", [".zgroup", ".zattrs"])
def test_metadata_that_is_no_json(tmp_path, key):
    with pytest.raises(FormatError) as caught:
        version_of(tmp_path, {".zgroup": b"{}"} | {key: b"<xml>"})
    assert (caught.value.rule, caught.value.path) == ("zarr/json", str(tmp_path / "a.zip"))

"""The file of OME metadata of a collection: the only thing that the rules look for beside metadata documents."""

import pytest
from cases.archive_builder import ArchiveBuilder, write_tree
from hierarchies import FIXTURES, group, tree
from packed import pack_tree

from ozx.validation.validate import validate


def ids(path):
    return [finding.id for finding in validate(path).findings if finding.id.startswith("ome/")]


@pytest.mark.parametrize(
    ("name", "has_file", "expected"), [("series", True, []), ("series", False, ["ome/ome-xml"]), ("image", False, [])]
)
def test_a_collection_needs_its_file(tmp_path, name, has_file, expected):
    values = tree(FIXTURES / f"{name}.ome.zarr")
    if not has_file:
        values.pop("OME/METADATA.ome.xml", None)
    source = write_tree(tmp_path / "a.zarr", values)
    assert ids(source) == ids(pack_tree(source, tmp_path / "a.ozx")) == expected


@pytest.mark.parametrize("below", ["", "set/"])
def test_the_file_is_looked_for_beside_the_images(tmp_path, below):
    values = {"zarr.json": group(version="0.5")}
    values[f"{below}zarr.json"] = group(version="0.5", **{"bioformats2raw.layout": 3})
    builder = ArchiveBuilder.of(values | {f"{below}OME/zarr.json": group(version="0.5", series=[])})
    assert ids(builder.write(tmp_path / "a.ozx")) == ["ome/ome-xml"]
    builder.add(f"{below}OME/METADATA.ome.xml", b"<OME/>")
    assert ids(builder.write(tmp_path / "a.ozx")) == []

"""Inspections: right about every fixture, calm about malformed metadata, quick about large archives."""

import json
import shutil

import pytest
import zarr
from cases.archive_builder import group as group_document
from cases.archive_builder import write_tree
from hierarchies import FIXTURES, group, tree
from packed import PROMISE, pack_tree, sort_values, write_archive, zip_values
from uris import ozx_uri

from ozx.errors import FormatError, UsageError
from ozx.ome.plates import Well
from ozx.operations.info import MOST_IMAGES, Container, inspect
from ozx.places.byte_source import FileSource

KINDS = {"image": "image", "plate": "plate", "series": "series", "sharded": "image", "legacy": "image"}


def fixture(name):
    return FIXTURES / f"{name}.ome.zarr"


def changed(tmp_path, name="image", **changes):
    """Pack a fixture with some values replaced or, where they are None, left out."""
    values = {**tree(fixture(name)), **changes}
    values = {key: value for key, value in values.items() if value is not None}
    return write_archive(tmp_path / f"{name}.ozx", sort_values(values))


@pytest.mark.filterwarnings("ignore:Object at METADATA.ome.xml")  # zarr-python, about a file that is no node
@pytest.mark.parametrize("name", KINDS)
def test_facts_of_levels_are_those_of_zarr_python(name):
    inspection = inspect(fixture(name))
    assert (inspection.kind, inspection.notes) == (KINDS[name], ())
    root = zarr.open_group(fixture(name), mode="r")
    assert inspection.images
    for image in (*inspection.images, *inspection.labels):
        for level in image.levels:
            array = root[f"{image.path}/{level.path}".strip("/")]
            assert (level.shape, level.dtype) == (array.shape, array.dtype.name)
            assert (level.chunks, level.shards) == (array.chunks, array.shards)
            assert len(level.scale) == len(level.translation) == len(image.axes) == array.ndim
    arrays = [node for _, node in root.members(max_depth=None) if isinstance(node, zarr.Array)]
    assert inspection.decoded_bytes == sum(array.nbytes for array in arrays)
    assert len(inspection.nodes) == len(root.members(max_depth=None)) + 1


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("comment", [PROMISE, b""])
def test_an_archive_holds_what_its_directory_held(tmp_path, name, comment):
    there = inspect(fixture(name)).to_dict()
    path = pack_tree(fixture(name), tmp_path / "cells.ozx", comment)
    here = inspect(path).to_dict()
    for key in ("kind", "ome_version", "zarr_format", "entries", "decoded_bytes", "images", "labels", "plate", "nodes"):
        assert here[key] == there[key], key
    assert here["bytes"] == path.stat().st_size
    assert here["container"] == {
        "format": "zip",
        "zip64": True,
        "comment": comment.decode(),
        "json_first": comment == PROMISE,
    }
    assert there["container"] == {"format": "directory", "zip64": None, "comment": None, "json_first": None}
    assert there["bytes"] == sum(map(len, tree(fixture(name)).values()))


def test_the_plate_fixture():
    inspection = inspect(fixture("plate"))
    assert (inspection.name, inspection.image_count) == ("Synthetic plate", 6)
    assert inspection.plate.wells == (Well("A/1", 2), Well("A/2", 1), Well("B/1", 1), Well("B/2", 2))
    assert (inspection.plate.rows, inspection.plate.columns) == (("A", "B"), ("1", "2"))


def test_the_series_fixture():
    images = inspect(fixture("series")).images
    assert [(image.path, image.name) for image in images] == [("0", "Stack"), ("1", "Overview")]


def test_a_zipped_04_image_is_shown_and_said_to_be_no_rfc9(tmp_path):
    inspection = inspect(zip_values(tmp_path / "a.zip", tree(fixture("legacy"))))
    assert (inspection.kind, inspection.ome_version, inspection.zarr_format) == ("image", "0.4", 2)
    assert "is not RFC-9" in inspection.notes[0]
    assert inspection.container == Container("zip", zip64=False, comment="", json_first=False)


@pytest.mark.parametrize(
    ("changes", "kind", "note"),
    [
        ({"1/zarr.json": None}, "image", "1: this path is listed as a level, but it has no array"),
        ({"zarr.json": group()}, "other", "not OME-Zarr: the root is a Zarr group without ome metadata"),
        ({"zarr.json": b"["}, "other", "the root: zarr.json: expected JSON"),
        ({"0/zarr.json": b"{}"}, "image", "0: node_type is neither array nor group"),
        ({"zarr.json": group(multiscales=[{}])}, "image", "does not state its OME-Zarr version"),
        ({"labels/cells/zarr.json": None}, "image", "labels/cells: an image is listed here, but there is no node"),
        ({"zarr.json": group(version="0.5", plate={"wells": [{"path": "A/1"}]})}, "plate", None),
        ({"zarr.json": group(version="0.5", series=["7"])}, "series", "7: an image is listed here"),
    ],
)
def test_what_is_missing_is_noted(tmp_path, changes, kind, note):
    inspection = inspect(changed(tmp_path, **changes))
    assert inspection.kind == kind
    assert note is None or any(note in found for found in inspection.notes), inspection.notes


@pytest.mark.parametrize(
    ("values", "zarr_format", "arrays", "note"),
    [
        (tree(fixture("image") / "0"), 3, [("", (2, 256, 256))], "the root is a Zarr array"),
        (
            {f"cells.ome.zarr/{key}": value for key, value in tree(fixture("image")).items()},
            *(None, [], "cells.ome.zarr/, one folder too deep"),
        ),
        ({"a.txt": b"text"}, None, [], "no Zarr metadata at all"),
    ],
    ids=["a bare array", "one folder too deep", "something else"],
)
def test_archives_of_no_image_are_described(tmp_path, values, zarr_format, arrays, note):
    inspection = inspect(zip_values(tmp_path / "a.zip", values))
    assert (inspection.kind, inspection.zarr_format) == ("other", zarr_format)
    assert [(level.path, level.shape) for level in inspection.arrays] == arrays
    assert note in inspection.notes[0]


def test_damaged_values_are_noted(tmp_path):
    path = pack_tree(fixture("image"), tmp_path / "a.ozx")
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"node_type": "array"', b'"node_type": "Array"', 1))
    inspection = inspect(path)
    assert inspection.images[0].levels[0].shape is None
    assert any("expected CRC-32" in note for note in inspection.notes)


def test_a_broken_promise_is_noted(tmp_path):
    values = dict(reversed(sort_values(tree(fixture("image"))).items()))
    inspection = inspect(write_archive(tmp_path / "a.ozx", values))
    assert (inspection.kind, len(inspection.nodes)) == ("image", 9)
    assert "jsonFirst" in inspection.notes[0]


def test_several_images_in_one_group(tmp_path):
    multiscale = json.loads(tree(fixture("image"))["zarr.json"])["attributes"]["ome"]["multiscales"][0]
    root = group(version="0.5", multiscales=[multiscale] * 150)
    inspection = inspect(changed(tmp_path, **{"zarr.json": root}))
    assert (inspection.image_count, len(inspection.images), len(inspection.labels)) == (150, MOST_IMAGES, 1)


def test_a_directory_of_something_else_is_not_walked(tmp_path):
    with pytest.raises(FormatError, match="neither zarr") as caught:
        inspect(FIXTURES)
    assert "image.ome.zarr" in caught.value.hint
    with pytest.raises(FormatError) as caught:
        inspect(tmp_path)
    assert caught.value.hint is None
    (tmp_path / "cells.ozx").touch()
    with pytest.raises(FormatError) as caught:
        inspect(tmp_path)
    assert caught.value.hint == f"Did you mean one of the items in the directory: {tmp_path / 'cells.ozx'}?"


def test_names_fall_back_to_the_file(tmp_path):
    for name, expected in (("cells.ozx", "cells"), ("a.b.ZIP", "a.b"), ("plain", "plain"), (".ozx", ".ozx")):
        assert inspect(zip_values(tmp_path / name, {"zarr.json": group()})).name == expected
    shutil.copytree(fixture("series"), tmp_path / "run.ome.zarr")
    assert inspect(f"{tmp_path / 'run.ome.zarr'}/").name == "run"


def big_plate(wells, fields):
    values = tree(fixture("plate"))
    image, level = values["A/1/0/zarr.json"], values["A/1/0/0/zarr.json"]
    paths = [f"{row}/{column}" for row in range(wells // 10) for column in range(10)]
    documents = {"zarr.json": group(version="0.5", plate={"wells": [{"path": path} for path in paths]})}
    for path in paths:
        listed = [{"path": str(field)} for field in range(fields)]
        documents[f"{path}/zarr.json"] = group(version="0.5", well={"images": listed})
        for field in range(fields):
            documents[f"{path}/{field}/zarr.json"] = image
            documents |= {f"{path}/{field}/{number}/zarr.json": level for number in range(2)}
    return documents


def test_a_large_plate_lists_all_wells_and_nodes_and_describes_some_images(tmp_path):
    values = big_plate(100, 4)
    inspection = inspect(write_archive(tmp_path / "a.ozx", sort_values(values)))
    assert inspection.image_count == 400
    assert len(inspection.images) == MOST_IMAGES
    assert len(inspection.plate.wells) == 100
    assert {well.fields for well in inspection.plate.wells} == {4}
    assert len(inspection.nodes) == len(values)


def test_with_the_promise_the_number_of_reads_does_not_depend_on_that_of_entries(tmp_path, monkeypatch):
    metadata = {key: value for key, value in tree(fixture("image")).items() if key.endswith("zarr.json")}
    reads = []
    read_at = FileSource.read_at
    monkeypatch.setattr(FileSource, "read_at", lambda self, *at: reads.append(at) or read_at(self, *at))
    counts = []
    for entries in (2_000, 20_000):
        values = {**metadata, **{f"0/c/{number}": b"12345678" * 9 for number in range(entries)}}
        path = write_archive(tmp_path / f"{entries}.ozx", sort_values(values))
        reads.clear()
        assert inspect(path).entries == len(values)
        counts.append((len(reads), sum(length for _, length in reads)))
    assert counts[0] == counts[1]
    assert counts[1][0] == 3


def test_a_node_is_inspected_as_its_own_directory_is(tmp_path):
    path = pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "scan.ozx")
    folder = FIXTURES / "image.ome.zarr" / "labels" / "cells"
    for uri in (f"{ozx_uri(path)}/labels/cells", f"{path}|zip:labels/cells/"):
        found, expected = inspect(uri).to_dict(), inspect(folder).to_dict()
        assert found.pop("path") == uri
        assert found.pop("address") == f"file://{path}|zip:labels/cells/|zarr3:"
        assert found.pop("container")["format"] == "zip"
        assert {key: expected[key] for key in found} == found  # name, entries, bytes, images, nodes, …
    assert found["entries"] == len(tree(folder)) > 2


def test_a_node_that_is_an_array_is_no_fault(tmp_path):
    path = pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "scan.ozx")
    inspection = inspect(f"{path}|zip:labels/cells/0")
    assert (inspection.name, inspection.kind, inspection.notes) == ("0", "other", ())
    assert [level.path for level in inspection.arrays] == [""]


def test_a_missing_node_is_a_wrong_call(tmp_path):
    path = pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "scan.ozx")
    with pytest.raises(UsageError, match="no node '7'"):
        inspect(f"{path}|zip:7/")
    with pytest.raises(UsageError, match="found a directory"):
        inspect(f"{FIXTURES / 'image.ome.zarr'}|zip:0/")


def test_extensions_and_conventions_are_listed_by_node(tmp_path):
    extensions = [{"name": "example.tiered-storage", "must_understand": False}]
    conventions = [{"uuid": "f17cb550-5864-4468-aeb7-f3180cfb622f", "name": "proj"}, {"spec_url": "https://x/y"}]
    seed = {"0396f4cd-47fa-4b09-8c79-9072d90ceed3": {"version": "0.1.0", "configuration": {}}}
    write_tree(
        tmp_path / "a.zarr",
        {
            "zarr.json": group_document(extensions=extensions, attributes={"zarr_conventions": conventions}),
            "b/zarr.json": group_document(attributes={"zarr_conventions_metadata": seed}),
            "c/.zgroup": b'{"zarr_format": 2}',
            "c/.zattrs": b'{"zarr_conventions": [{"name": "x"}]}',
        },
    )
    found = {node.path: (node.extensions, node.conventions) for node in inspect(tmp_path / "a.zarr").nodes}
    assert found == {
        "": (("example.tiered-storage",), ("proj", "https://x/y")),
        "b": ((), tuple(seed)),
        "c": ((), ("x",)),
    }


def test_a_broken_root_is_called_broken_only(tmp_path):
    folder = tmp_path / "image.ome.zarr"
    folder.mkdir()
    (folder / "zarr.json").write_text("{")
    notes = inspect(folder).notes
    assert any("expected JSON" in note for note in notes)
    assert not any("not OME-Zarr" in note for note in notes)

"""Hierarchies of OME-Zarr 0.4 open as 0.5 in programs not ours, with the same pixels."""

import importlib.util
import json
import re
import shutil
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import zarr
from cases.archive_builder import write_tree
from hierarchies import tree
from hypothesis import given
from hypothesis import strategies as st
from judges import Package, require
from ome_zarr_models import v05
from ome_zarr_models.exceptions import ValidationWarning
from upgrades import (
    bits,
    group_v2,
    image_v2,
    multiscale_of,
    read_tensorstore,
    read_zarr,
    store_of,
    upgrade_tree,
    write_v2,
)

import ozx
from ozx.errors import FormatError, UnsupportedError
from ozx.ome.model import OME_KEYS
from ozx.ome.upgrade import upgrade_hierarchy

# The keys of objects that a reader of broken metadata might look at.
HOSTILE_KEYS = ("id", "level", "cname", "shuffle", "version", "axes", "name", "datasets", "path", "images")


def upgrade(values, **options):
    """Upgrade, and compare the pixels of every array with what zarr-python reads of the old one."""
    upgraded, moved = upgrade_tree(values, **options)
    assert upgraded.refusals == ()
    for path in upgraded.arrays:
        expected = bits(read_zarr(values, path, zarr_format=2))
        assert bits(read_zarr(moved, path)) == expected
        assert bits(read_tensorstore(moved, path)) == expected
    return upgraded, moved


def group_of(values, path=""):
    return zarr.open_group(store_of(values), path=path, mode="r", zarr_format=3)


def ome_at(upgraded, path=""):
    return upgraded.documents[path]["attributes"]["ome"]


def check_as_ozx(values, folder: Path):
    """Pack the result: what ozx packs and finds nothing to say about is one hierarchy."""
    packed = ozx.pack(write_tree(folder / "new.ome.zarr", values), folder / "new.ozx", sync=False)
    assert [finding.id for finding in ozx.validate(packed.path).findings if finding.severity == "error"] == []


def plate_v2(wells=("A/1", "B/2"), **more):
    rows, columns = (sorted({well.split("/")[i] for well in wells}) for i in (0, 1))
    plate = {
        "version": "0.4",
        "name": "plate",
        "rows": [{"name": row} for row in rows],
        "columns": [{"name": column} for column in columns],
        "wells": [
            {"path": well, "rowIndex": rows.index(well[0]), "columnIndex": columns.index(well[2:])} for well in wells
        ],
        "acquisitions": [{"id": 0, "name": "a"}],
    }
    values = group_v2(plate=plate, **more)
    for well in wells:  # rows are folders without metadata, as some writers leave them
        values |= group_v2(well, well={"version": "0.4", "images": [{"path": "0", "acquisition": 0}]})
        values |= image_v2(f"{well}/0")
    return values


def test_plates(tmp_path):
    upgraded, moved = upgrade(plate_v2(**{"bioformats2raw.layout": 3}))
    with warnings.catch_warnings(action="error", category=ValidationWarning):
        plate = v05.HCS.from_zarr(group_of(moved))
    assert plate.n_wells == len(list(plate.well_groups)) == 2
    assert ome_at(upgraded)["plate"]["version"] == "0.5"
    assert ome_at(upgraded, "B/2")["well"]["version"] == "0.5"
    assert upgraded.documents["A"] == {"attributes": {}, "zarr_format": 3, "node_type": "group"}
    check_as_ozx(moved, tmp_path)


@pytest.mark.parametrize("series", [None, ["0", "1"]])
def test_series_of_bioformats2raw(series, tmp_path):
    values = group_v2(**{"bioformats2raw.layout": 3}) | image_v2("0") | image_v2("1")
    values |= group_v2("OME", series=series) if series else {}
    values["OME/METADATA.ome.xml"] = b"<OME/>"
    upgraded, moved = upgrade(values)
    assert v05.BioFormats2Raw.from_zarr(group_of(moved)).image_paths == ["0", "1"]
    assert ome_at(upgraded) == {"version": "0.5", "bioformats2raw.layout": 3}
    assert ("OME" in upgraded.documents) == bool(series)
    if series:
        assert ome_at(upgraded, "OME") == {"version": "0.5", "series": series}
    assert moved["OME/METADATA.ome.xml"] == b"<OME/>"
    check_as_ozx(moved, tmp_path)


def test_labels_in_folders(tmp_path):
    path, colors = "labels/a/b/cells", [{"label-value": 1, "rgba": [0] * 4}]
    label = {"image-label": {"version": "0.4", "source": {"image": "../../../"}, "colors": colors}}
    values = image_v2() | group_v2("labels", labels=["a/b/cells"]) | image_v2(path, dtype="<i4", attributes=label)
    upgraded, moved = upgrade(values)
    v05.ImageLabel.from_zarr(group_of(moved, path))
    assert [upgraded.documents[path]["attributes"] for path in ("labels/a", "labels/a/b")] == [{}, {}]
    assert list(upgraded.documents) == [
        *("", "0", "1", "labels", "labels/a", "labels/a/b", path, f"{path}/0", f"{path}/1")
    ]
    check_as_ozx(moved, tmp_path)


@pytest.mark.ci
@pytest.mark.parametrize("example", ["image", "plate", "series", "labels"])
def test_the_schemas_of_0_5(example):
    require(Package("ngff_zarr"))
    import jsonschema  # noqa: PLC0415
    import referencing  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    folder = Path(importlib.util.find_spec("ngff_zarr").submodule_search_locations[0]) / "spec/0.5/schemas"
    schemas = [json.loads(path.read_bytes()) for path in folder.glob("*.schema")]
    known = [(schema["$id"], DRAFT202012.create_resource(schema)) for schema in schemas]
    registry = referencing.Registry().with_resources(known)
    schema = registry.contents("https://ngff.openmicroscopy.org/0.5/schemas/ome_zarr.schema")
    values = {
        "image": image_v2(),
        "plate": plate_v2(),
        "series": group_v2(**{"bioformats2raw.layout": 3}) | image_v2("0") | group_v2("OME", series=["0"]),
        "labels": image_v2(attributes={"image-label": {"version": "0.4", "colors": [{"label-value": 1}]}}),
    }[example]
    judge = jsonschema.Draft202012Validator(schema, registry=registry)
    found = [d["attributes"] for d in upgrade_tree(values)[0].documents.values() if "ome" in d["attributes"]]
    assert len(found) >= 1
    for attributes in found:
        judge.validate(attributes)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")
def test_what_ome_zarr_py_writes(tmp_path):
    require(Package("ome_zarr"))
    from ome_zarr import format as formats  # noqa: PLC0415
    from ome_zarr import writer  # noqa: PLC0415

    form = formats.FormatV04()
    root = zarr.open_group(str(tmp_path / "old"), mode="w", zarr_format=2)
    data = np.random.default_rng(0).integers(0, 999, (2, 40, 40)).astype("u2")
    writer.write_image(data, root, axes="cyx", fmt=form, scaler=None)
    writer.write_labels((data > 500).astype("u1"), root, "cells", axes="cyx", fmt=form, scaler=None)
    _, moved = upgrade(tree(tmp_path / "old"))
    v05.Image.from_zarr(group_of(moved))
    v05.Labels.from_zarr(group_of(moved, "labels"))
    shutil.rmtree(tmp_path / "old")

    root = zarr.open_group(str(tmp_path / "old"), mode="w", zarr_format=2)
    writer.write_plate_metadata(root, ["A"], ["1"], ["A/1"], fmt=form)
    well = root.require_group("A/1")
    writer.write_well_metadata(well, ["0"], fmt=form)
    writer.write_image(data, well.require_group("0"), axes="cyx", fmt=form, scaler=None)
    _, moved = upgrade(tree(tmp_path / "old"))
    assert len(list(v05.HCS.from_zarr(group_of(moved)).well_groups)) == 1
    check_as_ozx(moved, tmp_path)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")
def test_what_ngff_zarr_writes(tmp_path):
    require(Package("ngff_zarr"))
    import ngff_zarr  # noqa: PLC0415

    data = np.random.default_rng(0).integers(0, 999, (2, 64, 64)).astype("u2")
    image = ngff_zarr.to_ngff_image(data, dims=["c", "y", "x"], scale={"c": 1, "y": 0.5, "x": 0.5})
    multiscales = ngff_zarr.to_multiscales(image, scale_factors=[2])
    ngff_zarr.to_ngff_zarr(str(tmp_path / "old"), multiscales, version="0.4")
    upgraded, moved = upgrade(tree(tmp_path / "old"))
    v05.Image.from_zarr(group_of(moved))
    for path, array in upgraded.arrays.items():  # it repeats the names for xarray
        assert array.document["dimension_names"] == ["c", "y", "x"]
        assert "_ARRAY_DIMENSIONS" not in upgraded.documents[path]["attributes"]
    check_as_ozx(moved, tmp_path)


def array_v2(path, shape=(2, 2), **options):
    array = write_v2(np.zeros(shape, "u1"), chunks=shape, **options)
    return {f"{path}/{key}": value for key, value in array.items()}


def test_axes_win_over_names_of_xarray():
    values = group_v2(multiscales=[multiscale_of("yx", ["a"])])
    values |= array_v2("a", attributes={"_ARRAY_DIMENSIONS": ["v", "u"]})
    values |= array_v2("b", attributes={"_ARRAY_DIMENSIONS": ["v", "u"]})
    upgraded, _ = upgrade(values)
    assert upgraded.documents["a"]["dimension_names"] == ["y", "x"]
    assert upgraded.documents["b"]["dimension_names"] == ["v", "u"]
    assert upgraded.notes == ("a: _ARRAY_DIMENSIONS (v, u) is replaced by the axes (y, x)",)


def test_an_array_of_two_images():
    def values(names):
        found = group_v2(multiscales=[multiscale_of("yx", ["a/0"])]) | array_v2("a/0")
        return found | group_v2("a", multiscales=[multiscale_of(names, ["./0"])])

    assert upgrade(values("yx"))[0].documents["a/0"]["dimension_names"] == ["y", "x"]
    (refusal,) = upgrade_tree(values("zy"))[0].refusals
    assert isinstance(refusal, UnsupportedError)
    assert refusal.message.startswith("a/0: ")
    assert "(y, x) in the root, (z, y) in a" in refusal.message


def test_more_axes_than_dimensions():
    (refusal,) = upgrade_tree(group_v2(multiscales=[multiscale_of("zyx", ["0"])]) | array_v2("0"))[0].refusals
    assert isinstance(refusal, FormatError)
    assert refusal.message.startswith("0: expected 2 axes, one per dimension; found 3: z, y, x")


def test_a_level_that_is_missing():
    upgraded, _ = upgrade(group_v2(multiscales=[multiscale_of("yx", ["0", "1"])]) | array_v2("0"))
    assert upgraded.notes == ("1: this path is listed as a level, but it has no array",)


@pytest.mark.parametrize(
    ("values", "said", "rule"),
    [
        ({}, "no", "rfc9/root"),
        (image_v2("0"), "there is none", "rfc9/root"),
        (group_v2() | image_v2("0"), "a plain Zarr group", "rfc9/one-hierarchy"),
        (group_v2(author="me"), "a plain Zarr group", "rfc9/one-hierarchy"),
        (write_v2(np.zeros(2), chunks=(1,)), "found an array", "rfc9/one-hierarchy"),
        (image_v2() | {"labels/zarr.json": b"{}"}, "labels/zarr.json", "rfc9/one-hierarchy"),
        ({"zarr.json": b"{}", "0/.zarray": b"{}"}, "zarr.json", "rfc9/one-hierarchy"),
    ],
)
def test_what_is_no_hierarchy_of_0_4(values, said, rule):
    with pytest.raises(FormatError, match=said) as refusal:
        upgrade_hierarchy(values)
    assert refusal.value.rule == rule


def test_the_images_below_a_bare_root_are_named():
    with pytest.raises(FormatError) as refusal:
        upgrade_hierarchy(group_v2() | image_v2("b/2") | image_v2("c"))
    assert refusal.value.message.endswith("; OME-Zarr images are below it: c, b/2")


def refusals_of(values):
    return [refusal.message for refusal in upgrade_hierarchy(values).refusals]


def test_refusals_are_gathered_and_name_the_nodes():
    values = image_v2("a") | image_v2("b") | group_v2(labels=["a"])
    for path in ("a/0", "a/1", "b/1"):
        values[f"{path}/.zarray"] = values[f"{path}/.zarray"].replace(b'"<u2"', b'"|O"')
    (objects,) = upgrade_hierarchy(values).refusals
    assert objects.message.startswith("a/0 and 2 more: expected a data type")
    assert isinstance(objects, UnsupportedError)
    assert objects.hint


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"0/.zgroup": b'{"zarr_format": 2}'}, "0: expected an array or a group"),
        (
            {"0/x/.zgroup": b'{"zarr_format": 2}'},
            "0/x: expected no nodes inside an array; found a node below the array 0",
        ),
        ({"0/y/z/.zattrs": b"{}"}, "0/y/z: expected no nodes inside an array; found a node below the array 0"),
        ({"a/.zgroup": b'{"zarr_format": 3}'}, "a: expected zarr_format 2; found 3"),
        ({"a/.zgroup": b"[]"}, "a: .zgroup: expected a JSON object"),
        ({"a/.zgroup": b'{"zarr_format": 2}', "a/.zattrs": b"{"}, "a: .zattrs: expected JSON"),
        ({"a/.zarray": b"{"}, "a: .zarray: expected JSON"),
        ({"__a/.zgroup": b'{"zarr_format": 2}'}, "__a: expected a node name"),
        ({".../b/.zgroup": b'{"zarr_format": 2}'}, "...: expected a node name"),
        ({"zarr.json/.zgroup": b'{"zarr_format": 2}'}, "zarr.json: expected a node name"),
    ],
)
def test_nodes_that_are_refused(more, said):
    assert [message[: len(said)] for message in refusals_of(image_v2() | more)] == [said]


@pytest.mark.parametrize("inside", [b"", b"NaN"])
@pytest.mark.parametrize("depth", [400, 600, 900, 100_000])
def test_metadata_nested_too_deep(depth, inside):
    """Python's parser, its writer and a walk have limits of their own: none may surface as an error of another kind."""
    deep = b'{"labels": [], "a": ' + b"[" * depth + inside + b"]" * depth + b"}"
    upgraded = upgrade_hierarchy({".zgroup": b'{"zarr_format": 2}', ".zattrs": deep})
    assert all("depth" in refusal.message for refusal in upgraded.refusals)
    assert len(list(upgraded.iter_values())) == 1 - len(upgraded.refusals)
    assert upgraded.refusals or depth < 100_000


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"multiscales": [multiscale_of(version="0.3")]}, r"found 0\.3 \(multiscales/0\)"),
        ({"multiscales": [{"version": "0.1", "datasets": [{"path": "0"}]}]}, r"found 0\.1"),
        ({"multiscales": [{"datasets": [{"path": "0"}]}]}, r"found 0\.1 or 0\.2, which have no axes"),
        ({"multiscales": [multiscale_of(), {"axes": ["y", "x"]}]}, r"only names, as in 0\.3 \(multiscales/1\)"),
        ({"multiscales": [multiscale_of(version="0.5")]}, r"found 0\.5"),
        ({"plate": {"version": "0.2"}}, r"found 0\.2 \(plate\)"),
        ({"ome": {"version": "0.5", "labels": []}}, r"'ome' of OME-Zarr 0\.5 \(version 0\.5\)"),
        ({"ome": 3}, r"'ome' of OME-Zarr 0\.5 \(version unknown\)"),
    ],
)
def test_other_versions_are_refused_by_name(attributes, said):
    (refusal,) = upgrade_hierarchy(image_v2() | group_v2("a", **attributes)).refusals
    assert re.match(rf"a: expected OME-Zarr 0\.4.*{said}", refusal.message)
    assert "0.4" in refusal.hint


def test_a_broken_root_is_told_before_it_is_called_no_ome_zarr():
    assert refusals_of({".zgroup": b"{}"}) == ["the root: expected zarr_format 2; found None"]


def test_attributes_without_a_group():
    values = image_v2()
    del values[".zgroup"]
    upgraded, _ = upgrade(values)
    assert upgraded.notes == ("the root: treated as a group: it has .zattrs, but neither .zgroup nor .zarray",)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2**70)
    | st.floats()
    | st.sampled_from(["", "0", "C", "<u2", "zlib", "0.4"]),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(HOSTILE_KEYS), inside, max_size=3),
    max_leaves=8,
)


@given(
    array=st.dictionaries(st.sampled_from(sorted(json.loads(array_v2("0")["0/.zarray"]))), JSON),
    group=st.dictionaries(st.sampled_from((*OME_KEYS, "ome")), JSON),
    attributes=st.dictionaries(st.sampled_from(["_ARRAY_DIMENSIONS", "a"]), JSON),
)
def test_whatever_the_documents_say_it_is_upgraded_or_refused(array, group, attributes):
    values = image_v2() if not group else group_v2(**group)
    values["0/.zarray"] = json.dumps(json.loads(array_v2("0")["0/.zarray"]) | array).encode()
    values["0/.zattrs"] = json.dumps(attributes).encode()
    upgraded = upgrade_hierarchy(values)
    assert upgraded.refusals or len(upgraded.documents) > 1
    for _, value in upgraded.iter_values():
        json.loads(value, parse_constant=pytest.fail)


def test_numbers_stay_as_they_are_written_and_copies_are_not_read():
    class Values(dict):
        read: list[str]

        def __getitem__(self, key):
            self.read.append(key)
            return super().__getitem__(key)

    numbers = b'{"a": 1.0, "b": 1, "c": 123456789012345678901234567890, "d": 0.1, "labels": [], "e": 1e400}'
    values = Values(group_v2("x") | {".zgroup": b'{"zarr_format": 2}', ".zattrs": numbers, ".zmetadata": b"no JSON"})
    values.read = []
    upgraded = upgrade_hierarchy(values)
    assert sorted(values.read) == [".zattrs", ".zgroup", "x/.zgroup"]
    text = dict(upgraded.iter_values())["zarr.json"].decode()
    for literal in ('"a": 1.0,', '"b": 1,', '"c": 123456789012345678901234567890,', '"d": 0.1,', '"e": "Infinity"'):
        assert literal in text
    assert json.loads(text) == upgraded.documents[""]


def test_numcodecs_names_for_the_whole_hierarchy():
    import numcodecs  # noqa: PLC0415

    values = image_v2(compressors=numcodecs.BZ2())
    assert {array.treatment for array in upgrade(values)[0].arrays.values()} == {"transcode"}
    kept, _ = upgrade_tree(values, keep_numcodecs=True)
    assert {array.treatment for array in kept.arrays.values()} == {"verbatim"}


def make_plate_documents(wells):
    """Return the documents of a plate, each well of one field of four levels and one label image: nine nodes."""
    rows = max(wells // 48, 1)
    paths = [f"{row}/{column}" for row in range(rows) for column in range(wells // rows)]
    axes = group_v2(plate={"version": "0.4", "wells": [{"path": path} for path in paths]})
    array = json.dumps({
        "zarr_format": 2, "shape": [3, 2160, 2160], "chunks": [1, 1024, 1024], "dtype": "<u2", "fill_value": 0,
        "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}, "order": "C", "filters": None,
    }).encode()  # fmt: skip
    field = group_v2("0", multiscales=[multiscale_of(levels="0123")]) | {f"0/{i}/.zarray": array for i in range(4)}
    field |= group_v2("0/labels", labels=["cells"]) | group_v2(well={"images": [{"path": "0"}]})
    field |= group_v2("0/labels/cells", multiscales=[multiscale_of(levels="0")]) | {"0/labels/cells/0/.zarray": array}
    return axes | {f"{path}/{key}": value for path in paths for key, value in field.items()}


@pytest.mark.ci
def test_time_grows_with_the_number_of_nodes_alone():
    def seconds(wells):
        documents = make_plate_documents(wells)
        start = time.process_time()
        upgraded = upgrade_hierarchy(documents)
        assert upgraded.refusals == ()
        return time.process_time() - start

    assert min(seconds(960) for _ in range(2)) < 60 * min(seconds(96) for _ in range(3))


def test_arrays_that_are_alike_share_a_document():
    upgraded = upgrade_hierarchy(make_plate_documents(4))
    assert len({id(array.document) for array in upgraded.arrays.values()}) == 1
    assert len(dict(upgraded.iter_values())) == len(upgraded.documents) == 2 + 4 * 9

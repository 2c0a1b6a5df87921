"""The checks of new metadata: what pack refuses with, so the words matter as much as the ids."""

import json

import pytest
from cases.archive_builder import array, group

from ozx.errors import FormatError
from ozx.validation.container.one_hierarchy import check_new_metadata, check_nodes, check_read_faults, check_sharding
from ozx.validation.nodes.facts import read_nodes
from ozx.validation.report import Where


def check_metadata(metadata, legacy=()):
    nodes, faults = read_nodes(metadata)
    return [*check_read_faults(faults), *check_nodes(nodes, tuple(legacy))]


def messages(metadata, legacy=()):
    return [(finding.id, finding.message) for finding in check_metadata(metadata, legacy)]


@pytest.mark.parametrize(
    ("nodes", "legacy", "found"),
    [
        ([], [], "no Zarr metadata"),
        ([], [".zattrs", ".zgroup"], ".zgroup: this is OME-Zarr 0.4 (Zarr v2)"),
        (["a/", "a/0/"], [], "the hierarchy in the folder 'a' instead"),
        (["data/a/", "data/a/0/"], [], "the hierarchy in the folder 'data/a' instead"),
        (["./", "./0/"], [], "'./zarr.json', which is another name"),
        ([], ["a/.zgroup", "a/0/.zarray"], "an OME-Zarr 0.4 (Zarr v2) hierarchy in the folder 'a' instead"),
        (["a/", "b/"], ["c/.zgroup"], "3 nodes, but no node that contains all of them: 'a', 'b', 'c'"),
    ],
)
def test_no_root_says_what_there_is_instead(nodes, legacy, found):
    metadata = {f"{node}zarr.json": group() for node in nodes}
    assert messages(metadata, legacy) == [("rfc9/root", f"expected a zarr.json at the root; found {found}")]


def test_arrays_alone_are_no_hierarchy_in_a_folder():
    assert "no node that contains all of them: '0'" in messages({"0/zarr.json": array([4], [4])})[0][1]


@pytest.mark.parametrize("key", [".zgroup", "a/.zgroup"])
def test_an_old_root_names_the_way_to_convert_it(key):
    (finding,) = check_metadata({}, [key])
    assert "ozx repack" in finding.hint


@pytest.mark.parametrize(
    ("root", "message", "pointer"),
    [
        (array([4], [4]), "the root is an array: this is Zarr, but not OME-Zarr, which has a group at its root", None),
        (group(node_type=None), "zarr.json: expected the node_type group; found None", "/node_type"),
        (group(zarr_format=2), "zarr.json: expected zarr_format 3; found 2", "/zarr_format"),
        (group(None), "zarr.json has no attributes.ome: this is Zarr, but not OME-Zarr", "/attributes"),
        (group(attributes=[]), "zarr.json has no attributes.ome: this is Zarr, but not OME-Zarr", "/attributes"),
        (
            group(attributes={"ome": {}}),
            "zarr.json: expected attributes.ome.version, a string; found none",
            "/attributes/ome",
        ),
        (group(0.5), "zarr.json: expected attributes.ome.version, a string; found 0.5", "/attributes/ome"),
    ],
)
def test_roots_that_are_no_ome_zarr(root, message, pointer):
    (finding,) = check_metadata({"zarr.json": root})
    assert (finding.id, finding.message, finding.severity) == ("rfc9/one-hierarchy", message, "error")
    assert finding.where == Where("zarr.json", pointer=pointer)


def test_missing_groups_are_named_each_once():
    metadata = {"zarr.json": group()} | {f"A/{well}/0/zarr.json": group() for well in (1, 2)}
    assert messages(metadata) == [
        ("rfc9/one-hierarchy", "A/zarr.json is missing, so readers cannot find the node 'A/1/0' and 1 more below 'A'"),
        ("rfc9/one-hierarchy", "A/1/zarr.json is missing, so readers cannot find the node 'A/1/0'"),
        ("rfc9/one-hierarchy", "A/2/zarr.json is missing, so readers cannot find the node 'A/2/0'"),
    ]
    assert all("ozx repack" in finding.hint for finding in check_metadata(metadata))


def test_nodes_below_an_array():
    metadata = {"zarr.json": group(), "0/zarr.json": array([4], [4]), "0/labels/zarr.json": group()}
    assert messages(metadata) == [
        ("rfc9/one-hierarchy", "0/labels/zarr.json lies below the array '0'; only chunks may be below an array")
    ]


def test_old_metadata_beside_new():
    assert messages({"zarr.json": group()}, ["x/.zattrs"]) == [
        ("rfc9/one-hierarchy", "x/.zattrs is Zarr v2 metadata in a Zarr v3 hierarchy")
    ]


def test_versions_below_the_root():
    metadata = {"zarr.json": group("0.5"), "a/zarr.json": group("0.6"), "b/zarr.json": group("0.5")}
    (finding,) = check_metadata(metadata)
    assert finding.message == "a/zarr.json: ome.version is '0.6', but the root has '0.5'"
    assert finding.where == Where("a/zarr.json", pointer="/attributes/ome/version")


def test_broken_documents_hide_nothing_else():
    metadata = {
        "zarr.json": group(),
        "a/zarr.json": b"{",
        "a/b/zarr.json": group(),
        "c/zarr.json": b"\xff",
        "d/zarr.json": b"1",
    }
    found = messages(metadata)
    assert [identifier for identifier, _ in found] == ["zarr/json"] * 3
    assert found[0][1].startswith("a/zarr.json: expected JSON; ")
    assert found[1][1] == "c/zarr.json: expected JSON in UTF-8; byte 0 is not UTF-8"
    assert found[2][1] == "d/zarr.json: expected a JSON object; found int"


def sharding(metadata, keys):
    return [(finding.severity, finding.message) for finding in check_sharding(read_nodes(metadata)[0], keys)]


@pytest.mark.parametrize(
    ("entries", "expected"), [(0, []), (1, []), (2, ["note"]), (999, ["note"]), (1000, ["warning"])]
)
def test_sharding_goes_by_the_entries_of_unsharded_arrays(entries, expected):
    metadata = {"zarr.json": group(), "0/zarr.json": array([5000], [1])}
    keys = [*metadata, "OME/a", "OME/b", *(f"0/c/{number}" for number in range(entries))]
    assert [severity for severity, _ in sharding(metadata, keys)] == expected


@pytest.mark.parametrize(
    ("chunks", "names", "is_apart"),
    [
        ([1, 8, 8], ["c", "y", "x"], True),
        ([1, 8, 8], ["time", "y", "x"], True),
        ([1, 8, 8], ["z", "y", "x"], False),
        ([1, 4, 8], ["c", "y", "x"], False),
        ([1, 8, 8], None, False),
    ],
)
def test_automatic_shards_are_advised_where_they_join_chunks(chunks, names, is_apart):
    document = json.loads(array([3, 8, 8], chunks))
    if names is not None:
        document["dimension_names"] = names
    metadata = {"zarr.json": group(), "0/zarr.json": json.dumps(document).encode()}
    (finding,) = check_sharding(read_nodes(metadata)[0], [f"0/c/{number}/0/0" for number in range(3)])
    assert ("--shards auto" not in finding.hint) == is_apart
    assert not is_apart or f"--shards {names[0]}=3,y=8,x=8`" in finding.hint


def test_sharding_counts_no_shards():
    metadata = {
        "zarr.json": group(),
        "0/zarr.json": array([5000], [1], sharded=True),
        "1/zarr.json": array([3], [1]),
        "2/zarr.json": array([1], [1]),
        "a/3/zarr.json": array([3], [1]),
    }
    keys = [*(f"0/c/{number}" for number in range(5000)), "1/c/0", "1/c/1", "2/c/0", "a/3/c/0", "a/3/zarr.json"]
    assert sharding(metadata, keys) == [
        ("note", "2 arrays of several chunks are not sharded; their chunks take 3 entries")
    ]


def test_sharding_says_nothing_of_arrays_it_does_not_understand():
    odd = json.loads(array([8], [1]))
    odd["chunk_grid"] = {"name": "rectangular"}
    zero = json.loads(array([8], [1]))
    zero["chunk_grid"]["configuration"]["chunk_shape"] = [0]
    metadata = {"0/zarr.json": json.dumps(odd).encode(), "1/zarr.json": json.dumps(zero).encode()}
    assert sharding(metadata, ["0/c/0", "0/c/1", "1/c/0", "1/c/1"]) == []


def test_one_array_without_shards_is_named():
    metadata = {"a/0/zarr.json": array([3], [1])}
    message = "the array 'a/0' of several chunks is not sharded; its chunks take 2 entries"
    assert sharding(metadata, ["a/0/c/0", "a/0/c/1"]) == [("note", message)]


def test_the_first_error_is_raised_with_its_rule():
    metadata = {"zarr.json": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}).encode()}
    first = next(finding for finding in check_metadata(metadata) if finding.severity == "error")
    with pytest.raises(FormatError) as caught:
        check_new_metadata(metadata, path="cells.zarr")
    assert (caught.value.rule, caught.value.hint, caught.value.path) == (first.id, first.hint, "cells.zarr")


def test_a_note_names_numbers_that_are_no_json():
    document = array([4], [4]).replace(b'"attributes": {}', b'"attributes": {"x": NaN}')
    metadata = {"zarr.json": group(), "0/zarr.json": document}
    (note,) = check_new_metadata(metadata, path="cells.zarr")
    assert note.startswith("0/zarr.json: the bare word NaN is no JSON")
    metadata["1/zarr.json"] = document.replace(b"NaN", b"-Infinity")
    (note,) = check_new_metadata(metadata, path="cells.zarr")
    assert note.startswith("0/zarr.json and 1 more: the bare word NaN")

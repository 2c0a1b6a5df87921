"""Array metadata: the facts that zarr-python sees, and what becomes of malformed documents."""

import copy
import json

import pytest
import zarr
from hierarchies import FIXTURES

from ozx.hierarchy.zarr.array import parse_array

ARRAYS = sorted(
    path.parent.relative_to(FIXTURES).as_posix()
    for path in FIXTURES.rglob("zarr.json")
    if json.loads(path.read_bytes())["node_type"] == "array"
)

SHARDED = json.loads((FIXTURES / "sharded.ome.zarr/0/zarr.json").read_bytes())
PLAIN = json.loads((FIXTURES / "image.ome.zarr/0/zarr.json").read_bytes())


def changed(document, **values):
    return {**copy.deepcopy(document), **values}


@pytest.mark.parametrize("path", ARRAYS)
def test_facts_are_those_of_zarr_python(path):
    array = zarr.open_array(FIXTURES / path, mode="r")
    facts = parse_array(json.loads((FIXTURES / path / "zarr.json").read_bytes()))
    assert facts.shape == array.shape
    assert facts.data_type == array.dtype.name
    assert facts.item_size == array.dtype.itemsize
    assert facts.chunks == array.chunks
    assert facts.shards == array.shards
    assert facts.dimension_names == array.metadata.dimension_names
    assert facts.decoded_bytes == array.nbytes
    assert facts.fill_value == array.fill_value
    assert facts.problems == ()


def test_codecs_inside_a_shard_follow_the_sharding_codec():
    assert parse_array(SHARDED).codecs == ("sharding_indexed", "bytes", "zstd")
    assert parse_array(PLAIN).codecs == ("bytes", "blosc")


def test_a_shard_in_a_shard_has_the_innermost_chunks():
    document = copy.deepcopy(SHARDED)
    outer = document["codecs"][0]
    inner = copy.deepcopy(outer)
    inner["configuration"]["chunk_shape"] = [1, 1, 1, 16, 16]
    outer["configuration"]["codecs"] = [inner]
    facts = parse_array(document)
    assert facts.chunks == (1, 1, 1, 16, 16)
    assert facts.shards == (1, 2, 4, 64, 64)
    assert facts.codecs == ("sharding_indexed", "sharding_indexed", "bytes", "zstd")


def test_short_hand_strings_are_understood():
    facts = parse_array(changed(PLAIN, data_type={"name": "uint16"}, codecs=["bytes", {"name": "zstd"}]))
    assert (facts.data_type, facts.codecs, facts.problems) == ("uint16", ("bytes", "zstd"), ())


def test_unknown_names_are_carried():
    facts = parse_array(changed(PLAIN, data_type="bfloat17", codecs=[{"name": "numcodecs.pcodec"}, {"x": 1}]))
    assert facts.data_type == "bfloat17"
    assert facts.item_size is None
    assert facts.decoded_bytes is None
    assert facts.codecs == ("numcodecs.pcodec",)


@pytest.mark.parametrize(
    ("data_type", "size"),
    [
        ("bool", 1),
        ("int8", 1),
        ("int2", 1),
        ("float64", 8),
        ("complex128", 16),
        ("bfloat16", 2),
        ("float8_e5m2", 1),
        ("r48", 6),
        ("string", None),
        ("bytes", None),
        ({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}, 8),
        ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 40}}, 40),
        ({"name": "fixed_length_utf32", "configuration": {"length_bytes": -4}}, None),
    ],
)
def test_item_sizes(data_type, size):
    assert parse_array(changed(PLAIN, data_type=data_type)).item_size == size


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"shape": None}, "shape is missing"),
        ({"shape": [1.5, 2, 2]}, "shape is missing"),
        ({"shape": [True, 2, 2]}, "shape is missing"),
        ({"shape": [2, 256]}, "the array has 2 dimensions, its chunks have 3"),
        ({"data_type": 7}, "data_type is missing"),
        ({"codecs": {}}, "codecs is missing"),
        ({"chunk_grid": []}, "chunk_grid is missing"),
        ({"chunk_grid": {"name": "rectilinear"}}, "ozx does not support the chunk grid 'rectilinear'"),
        ({"chunk_grid": "regular"}, "chunk_shape is missing"),
        ({"dimension_names": ["y", 3, "x"]}, "dimension_names is not a list"),
        ({"dimension_names": ["y"]}, "it has 3 dimensions, but 1 dimension names"),
        ({"codecs": ["sharding_indexed"]}, "the sharding codec has no chunk_shape"),
    ],
)
def test_what_is_wrong_is_named(changes, problem):
    assert problem in " ".join(parse_array(changed(PLAIN, **changes)).problems)


def test_an_impossible_size_is_no_size():
    assert parse_array(changed(PLAIN, shape=[2**62] * 60)).decoded_bytes is None
    assert parse_array(changed(PLAIN, shape=[2**62, 2**62, 0])).decoded_bytes == 0


def test_shards_nested_without_end_do_not_exhaust_the_stack():
    codec = {"name": "sharding_indexed", "configuration": {"chunk_shape": [1], "codecs": []}}
    for _ in range(300):
        codec = {"name": "sharding_indexed", "configuration": {"chunk_shape": [1], "codecs": [codec]}}
    assert len(parse_array(changed(PLAIN, codecs=[codec])).codecs) < 20

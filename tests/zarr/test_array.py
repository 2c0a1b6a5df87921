"""Array metadata and conventions: what becomes of malformed documents; keys of chunks, and what is none."""

import copy
import itertools
import json

import pytest
from hierarchies import FIXTURES
from hypothesis import given
from hypothesis import strategies as st

from ozx.errors import FormatError, UnsupportedError
from ozx.zarr.array import ChunkKeys, convention_names, parse_array, parse_chunk_keys

PLAIN = json.loads((FIXTURES / "image.ome.zarr/0/zarr.json").read_bytes())


def changed(document, **values):
    return {**copy.deepcopy(document), **values}


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


UUID = "f010a634-3525-416e-9320-8f44b5bc352c"


@pytest.mark.parametrize(
    ("attributes", "names"),
    [
        ({}, ()),
        (None, ()),
        ({"zarr_conventions": [{"name": "proj", "uuid": UUID}]}, ("proj",)),
        ({"zarr_conventions": [{"uuid": UUID, "schema_url": "s", "spec_url": "p"}]}, (UUID,)),
        ({"zarr_conventions": [{"schema_url": "s", "spec_url": "p"}]}, ("s",)),
        ({"zarr_conventions": [{"spec_url": "p"}, {"spec_url": "p"}]}, ("p",)),
        ({"zarr_conventions": [{}, 5, None, {"name": ""}, {"name": 7, "uuid": UUID}]}, (UUID,)),
        ({"zarr_conventions": {"name": "proj"}}, ()),
        ({"zarr_conventions_metadata": {UUID: {"name": "proj"}}}, ("proj",)),
        ({"zarr_conventions_metadata": {UUID: {}}}, (UUID,)),
        ({"zarr_conventions_metadata": {UUID: 5}}, (UUID,)),
        ({"zarr_conventions_metadata": [UUID]}, ()),
    ],
)
def test_names_of_conventions(attributes, names):
    assert convention_names(attributes) == names


ENCODINGS = [ChunkKeys(name, separator) for name, separator in itertools.product(("default", "v2"), "/.")]


@pytest.mark.parametrize("keys", ENCODINGS, ids=str)
@given(coordinates=st.lists(st.integers(0, 10**18 - 1), max_size=5))
def test_a_key_gives_its_coordinates_back(keys, coordinates):
    assert keys.decode(keys.encode(coordinates), len(coordinates)) == tuple(coordinates)


@pytest.mark.parametrize(
    "key",
    [
        *["c/0", "c/0/0/0", "c/00/0", "c/+1/0", "c/-1/0", "c/ 1/0", "c/1_0/0", "c/²/0", "c/١/0", "c//0", "c/0/"],
        *["C/0/0", "0/0", "c.0.0", "c/0/0.tmp", "x/c/0/0", "", "c", "c/0/" + "9" * 19],
    ],
)
def test_nothing_else_is_a_chunk_key(key):
    assert ChunkKeys().decode(key, 2) is None


@pytest.mark.parametrize("key", ["1", "00", "", "c/0", "0.0"])
def test_a_0_d_array_has_one_chunk(key):
    assert ChunkKeys("v2", ".").decode(key, 0) is None
    assert ChunkKeys().decode(key, 0) is None


def test_encodings_have_their_own_separator_and_may_be_short():
    assert parse_chunk_keys("v2", "0") == ChunkKeys("v2", ".")
    assert parse_chunk_keys({"name": "default"}, "0") == ChunkKeys("default", "/")


def test_unknown_encodings_are_refused_by_name():
    with pytest.raises(UnsupportedError, match=r"0: ozx does not support the chunk key encoding 'example\.suffix'"):
        parse_chunk_keys("example.suffix", "0")
    with pytest.raises(FormatError, match="found '-'"):
        parse_chunk_keys({"name": "v2", "configuration": {"separator": "-"}}, "0")
    with pytest.raises(FormatError, match="missing"):
        parse_chunk_keys(None, "0")

"""Array metadata and conventions: what becomes of malformed documents."""

import copy
import json

import pytest
from hierarchies import FIXTURES

from ozx.hierarchy.zarr.array import convention_names, parse_array

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
def test_names(attributes, names):
    assert convention_names(attributes) == names

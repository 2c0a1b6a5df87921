"""Zarr v2 metadata gives the same facts as v3's."""

import json

import numpy as np
import pytest
import zarr
from hierarchies import FIXTURES

from ozx.hierarchy.zarr_v2.documents import parse_v2_array, parse_v2_dtype

LEGACY = FIXTURES / "legacy.ome.zarr"
ARRAYS = sorted(path.parent.relative_to(LEGACY).as_posix() for path in LEGACY.rglob(".zarray"))


@pytest.mark.parametrize("path", ARRAYS)
def test_facts_are_those_of_zarr_python(path):
    array = zarr.open_array(LEGACY / path, mode="r", zarr_format=2)
    facts = parse_v2_array(json.loads((LEGACY / path / ".zarray").read_bytes()), {"a": 1})
    assert facts.shape == array.shape
    assert facts.chunks == array.chunks
    assert facts.shards is None
    assert facts.data_type == array.dtype.name
    assert facts.decoded_bytes == array.nbytes
    assert facts.attributes == {"a": 1}
    assert facts.problems == ()


def test_codecs_are_filters_then_compressor():
    document = {"shape": [4], "chunks": [2], "dtype": "<i4", "filters": [{"id": "delta"}], "compressor": {"id": "zlib"}}
    assert parse_v2_array(document).codecs == ("delta", "zlib")
    assert parse_v2_array({**document, "filters": None, "compressor": None}).codecs == ()


@pytest.mark.parametrize("dtype", ["|u1", "<i2", ">u2", "<f4", "<f8", "<c16", "|b1"])
def test_numbers_have_the_names_of_numpy(dtype):
    assert parse_v2_dtype(dtype) == (np.dtype(dtype).name, np.dtype(dtype).itemsize)


@pytest.mark.parametrize("dtype", ["|S7", "<U5", "|V3", "<M8[ns]", "<m8[s]"])
def test_other_types_have_the_size_of_numpy(dtype):
    found = parse_v2_dtype(dtype)
    assert found is not None
    assert found[1] == np.dtype(dtype).itemsize


@pytest.mark.parametrize("dtype", [None, 3, "", "uint8", "<u", "u2", [], {}])
def test_no_data_type(dtype):
    assert parse_v2_dtype(dtype) is None


def test_what_is_wrong_is_named():
    problems = " ".join(parse_v2_array({"shape": 3, "chunks": None, "dtype": "?"}).problems)
    assert all(word in problems for word in ("shape", "chunks", "dtype"))
    assert parse_v2_array({"shape": [3], "chunks": [1, 1], "dtype": "|u1"}).problems == (
        "the array has 1 dimensions, its chunks have 2",
    )

"""Zarr v2 metadata gives the same facts as v3's."""

import pytest

from ozx.zarr.v2_documents import parse_v2_array, parse_v2_dtype


@pytest.mark.parametrize("dtype", [None, 3, "", "uint8", "<u", "u2", [], {}])
def test_no_data_type(dtype):
    assert parse_v2_dtype(dtype) is None


def test_what_is_wrong_is_named():
    problems = " ".join(parse_v2_array({"shape": 3, "chunks": None, "dtype": "?"}).problems)
    assert all(word in problems for word in ("shape", "chunks", "dtype"))
    assert parse_v2_array({"shape": [3], "chunks": [1, 1], "dtype": "|u1"}).problems == (
        "the array has 1 dimensions, its chunks have 2",
    )

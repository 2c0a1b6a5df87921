"""Keys of chunks, and what is none."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.zarr.chunk_keys import ChunkKeys, parse_chunk_keys

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
    with pytest.raises(UnsupportedError, match=r"0: expected .*found 'example\.suffix'"):
        parse_chunk_keys("example.suffix", "0")
    with pytest.raises(FormatError, match="found '-'"):
        parse_chunk_keys({"name": "v2", "configuration": {"separator": "-"}}, "0")
    with pytest.raises(FormatError, match="missing"):
        parse_chunk_keys(None, "0")

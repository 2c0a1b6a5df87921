"""How chunks of Zarr v2 are laid out."""

import pytest

from ozx.errors import FormatError
from ozx.hierarchy.zarr_v2.arrays import parse_v2_layout


@pytest.mark.parametrize("separator", [".", "/", None])
def test_layouts_say_which_key_is_which_chunk(separator):
    document = {"shape": [9, 9], "chunks": [4, 0], "dtype": ">u2"}
    layout = parse_v2_layout(document | ({} if separator is None else {"dimension_separator": separator}), "0")
    assert (layout.chunks, layout.stored_grid, layout.item_size) == ((4, 1), (3, 9), 2)
    assert layout.keys.encode((2, 1)) == f"2{separator or '.'}1"
    assert parse_v2_layout({"shape": [], "chunks": [], "dtype": "<u2"}, "").keys.encode(()) == "0"


@pytest.mark.parametrize(
    "wrong", [{"shape": None}, {"chunks": "4"}, {"chunks": [4]}, {"dimension_separator": "-"}], ids=str
)
def test_layouts_of_malformed_documents(wrong):
    with pytest.raises(FormatError, match=r"^the root: expected"):
        parse_v2_layout({"shape": [9, 9], "chunks": [4, 4], "dtype": "<u2"} | wrong, "")

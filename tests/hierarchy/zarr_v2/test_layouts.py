"""How chunks of Zarr v2 are laid out."""

import pytest

from ozx.errors import FormatError
from ozx.hierarchy.zarr_v2.arrays import parse_v2_layout


@pytest.mark.parametrize(
    "wrong", [{"shape": None}, {"chunks": "4"}, {"chunks": [4]}, {"dimension_separator": "-"}], ids=str
)
def test_layouts_of_malformed_documents(wrong):
    with pytest.raises(FormatError, match=r"^the root: expected"):
        parse_v2_layout({"shape": [9, 9], "chunks": [4, 4], "dtype": "<u2"} | wrong, "")

"""The listing of keys: the same as that of the directory with such files."""

import pytest

from ozx.errors import FormatError
from ozx.flow.sources.remote_objects import list_keys


@pytest.mark.parametrize("key", ["../zarr.json", "a//b", "a/./b", "a\\b", "/a", "x/" * 300 + "y"])
def test_names_that_no_entry_can_have(key):
    with pytest.raises(FormatError) as caught:
        list_keys("s3://b/x", ["zarr.json", key])
    assert caught.value.rule == "zip/name"

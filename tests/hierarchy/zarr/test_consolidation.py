"""Copies of metadata are told from what they are copies of."""

import json
import warnings

import pytest
import zarr
from zarr.storage import LocalStore

from ozx.hierarchy.zarr.normalisation import is_stale


@pytest.fixture
def documents(tmp_path):
    """What zarr-python consolidates, as documents by path."""
    root = zarr.create_group(LocalStore(tmp_path), zarr_format=3)
    root.create_array("0", shape=(4,), chunks=(2,), dtype="u2")
    root.create_group("labels").create_array("cells", shape=(4,), chunks=(2,), dtype="u1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(LocalStore(tmp_path))
    return {
        path.parent.relative_to(tmp_path).as_posix().removeprefix("."): json.loads(path.read_bytes())
        for path in tmp_path.rglob("zarr.json")
    }


def test_what_zarr_python_writes_is_not_stale(documents):
    root = documents.pop("")
    assert not is_stale(root, documents.keys(), documents.__getitem__)

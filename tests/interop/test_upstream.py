"""The faults of other programs that docs/upstream/ describes: a test fails on the day that one is repaired.

The other tests that the pages name are test_ome_readers.py and test_writers_findings.py.
"""

# ruff: noqa: PLC0415 (the packages may be absent)

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
import zarr
from judges import absent_packages
from packaging.version import Version
from writers import IOHUB
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

import ozx

ARRAY = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [2, 2],
    "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [{"name": "bytes"}],
    "attributes": {},
}
STRINGS = {
    "data_type": "string",
    "fill_value": "",
    "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "vlen-utf8"}],
}


def memory(document):
    buffer = default_buffer_prototype().buffer
    return MemoryStore({"zarr.json": buffer.from_bytes(json.dumps(document).encode())})


def require(name):
    if absent_packages(name):
        pytest.skip(f"{name} is not installed")


def test_tensorstore_refuses_equal_dimension_names(tmp_path):
    import tensorstore

    (tmp_path / "zarr.json").write_text(json.dumps({**ARRAY, "dimension_names": ["x", "x"]}))
    with pytest.raises(ValueError, match="not unique"):
        tensorstore.open({"driver": "zarr3", "kvstore": f"file://{tmp_path}/"}).result()


def test_zarr_python_refuses_short_names():
    with pytest.raises((TypeError, ValueError, AttributeError)):
        zarr.open_array(memory({**ARRAY, "codecs": ["bytes"]}), mode="r")


# Later versions of zarr-python have repaired these two.
IS_REPAIRED = Version(zarr.__version__) >= Version("3.4")


def test_zarr_python_refuses_fields_that_may_be_ignored():
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}, "note": {"name": "x", "must_understand": False}}
    if IS_REPAIRED:
        zarr.open_group(memory(group), mode="r")
        return
    with pytest.raises(TypeError, match="unexpected keyword argument 'note'"):
        zarr.open_group(memory(group), mode="r")


def test_zarr_python_loses_the_order_of_transposed_strings():
    values = np.array([["a", "b"], ["c", "d"]], dtype=object)
    array = zarr.open_array(memory({**ARRAY, **STRINGS}), mode="r+")
    array[...] = values
    assert array[...].tolist() == (values if IS_REPAIRED else values.T).tolist()


def test_ngff_zarr_loses_labels_and_deletes_the_files_of_a_directory(tmp_path):
    require("ngff_zarr")
    import ngff_zarr

    pixels = np.zeros((64, 64), "uint8")
    ozx.write_image(tmp_path / "in.ozx", pixels, axes="yx", labels={"cells": pixels}, sync=False)
    image = ngff_zarr.from_ome_zarr(tmp_path / "in.ozx")
    ngff_zarr.to_ome_zarr(tmp_path / "out.ozx", image, version="0.5")
    with zipfile.ZipFile(tmp_path / "out.ozx") as archive:
        assert not [name for name in archive.namelist() if "labels" in name]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("mine")
    ngff_zarr.to_ome_zarr(tmp_path / "folder", image, version="0.5")
    assert not (tmp_path / "folder" / "notes.txt").exists()


def test_iohub_writes_entries_twice():
    with zipfile.ZipFile(IOHUB) as archive:
        assert archive.namelist().count("zarr.json") == 2

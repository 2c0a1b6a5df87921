"""The codec pipeline that zarr-python uses by its configuration."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import zarr
from zarr.registry import get_pipeline_class

import ozx
from ozx.store.pixels.configured import StorePipeline
from ozx.store.pixels.pipeline import ArchivePipeline


@pytest.fixture(autouse=True)
def configuration() -> Iterator[None]:
    before = zarr.config.get("codec_pipeline.path")
    yield
    zarr.config.set({"codec_pipeline.path": before})


def pipeline_of(array: zarr.Array) -> object:
    return array.async_array.codec_pipeline


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with ozx.OzxStore(tmp_path / "a.ozx", "w") as store:
        root = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
        root.create_array("0", shape=(9, 9), chunks=(2, 2), shards=(4, 4), dtype="u2")[:] = np.arange(81).reshape(9, 9)
    return tmp_path / "a.ozx"


def test_arrays_of_archives_have_it_and_others_keep_theirs(archive: Path, tmp_path: Path) -> None:
    plain = type(pipeline_of(zarr.create_array({}, shape=(2,), dtype="u1")))
    ozx.use_pipeline()
    ozx.use_pipeline()
    assert get_pipeline_class() is StorePipeline
    array = zarr.open_array(ozx.OzxStore(archive), path="0", mode="r")
    assert isinstance(pipeline_of(array), ArchivePipeline)
    assert array[:].tolist() == np.arange(81).reshape(9, 9).tolist()
    other = zarr.create_array(tmp_path / "b.zarr", shape=(4, 4), chunks=(2, 2), shards=(4, 4), dtype="u1")
    other[1:] = 5
    assert type(pipeline_of(other)) is plain
    assert int(other[:].sum()) == 60

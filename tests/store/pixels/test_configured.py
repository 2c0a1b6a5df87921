"""The codec pipeline that zarr-python uses by its configuration."""

import subprocess
import sys
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


def test_archives_that_are_written_have_it_too(tmp_path: Path) -> None:
    ozx.use_pipeline()
    with ozx.OzxStore(tmp_path / "a.ozx", "w") as store:
        root = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
        array = root.create_array("0", shape=(4, 4), chunks=(2, 2), dtype="u1")
        array[1:3] = 1
        assert isinstance(pipeline_of(array), ArchivePipeline)
        assert int(array[:].sum()) == 8


def test_zarr_finds_the_class_by_its_name_alone(archive: Path) -> None:
    script = (
        "import zarr, sys\n"
        "zarr.config.set({'codec_pipeline.path': 'ozx.store.pixels.configured.StorePipeline'})\n"
        "assert 'ozx.store.pixels' not in ' '.join(sys.modules)\n"
        "import ozx\n"
        "array = zarr.open_array(ozx.OzxStore(sys.argv[1]), path='0', mode='r')\n"
        "assert type(array.async_array.codec_pipeline).__name__ == 'ArchivePipeline'\n"
        "assert int(array[8, 8]) == 80\n"
    )
    subprocess.run([sys.executable, "-c", script, str(archive)], check=True, timeout=60)

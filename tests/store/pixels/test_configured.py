"""The codec pipeline that zarr-python uses by its configuration."""

import asyncio
import multiprocessing
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import zarr
from stores import writing
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.registry import get_pipeline_class, register_pipeline

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
    with writing(tmp_path / "a.ozx") as root:
        root.create_array("0", shape=(9, 9), chunks=(2, 2), shards=(4, 4), dtype="u2")[:] = np.arange(81).reshape(9, 9)
    return tmp_path / "a.ozx"


def test_arrays_of_archives_have_it_and_others_keep_theirs(archive: Path, tmp_path: Path) -> None:
    plain = type(pipeline_of(zarr.create_array({}, shape=(2,), dtype="u1")))
    ozx.use_pipeline()
    ozx.use_pipeline()
    assert issubclass(get_pipeline_class(), StorePipeline)
    array = zarr.open_array(ozx.OzxStore(archive), path="0", mode="r")
    assert isinstance(pipeline_of(array), ArchivePipeline)
    assert array[:].tolist() == np.arange(81).reshape(9, 9).tolist()
    other = zarr.create_array(tmp_path / "b.zarr", shape=(4, 4), chunks=(2, 2), shards=(4, 4), dtype="u1")
    other[1:] = 5
    assert type(pipeline_of(other)) is plain
    assert int(other[:].sum()) == 60


class Theirs(BatchedCodecPipeline):
    pass


register_pipeline(Theirs)
PLAIN = "zarr.core.codec_pipeline.BatchedCodecPipeline"
THEIRS = {"codec_pipeline.path": f"{Theirs.__module__}.{Theirs.__qualname__}"}


def kind_in(store: object) -> type:
    if isinstance(store, Path):
        return type(pipeline_of(zarr.open_group(ozx.OzxStore(store), mode="r")["0"]))
    return type(pipeline_of(zarr.create_array(store, shape=(2,), dtype="u1")))


def test_zarr_writes_and_reads_a_store_with_our_pipeline(tmp_path: Path) -> None:
    with ozx.OzxStore(tmp_path / "a.ozx", "w", sync=False) as store:
        root = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
        made = [
            root.create_array("0", shape=(4,), dtype="u1"),
            root.create_array("1", data=np.arange(4)),
            root.create_array("1", shape=(4,), dtype="u1", overwrite=True),
            root.require_array("2", shape=(4,), dtype="u1"),
            root["0"],
            zarr.create_array(store, name="3", shape=(4,), dtype="u1"),
            zarr.open_array(store, path="3", mode="r+"),
            *(array for _, array in root.arrays()),
        ]
        assert {type(pipeline_of(array)) for array in made} == {ArchivePipeline}
    assert kind_in(tmp_path / "a.ozx") is ArchivePipeline
    with ozx.OzxStore(tmp_path / "a.ozx", "a", sync=False) as store:
        assert isinstance(pipeline_of(zarr.open_group(store)["1"]), ArchivePipeline)


def test_the_first_array_of_a_store_has_our_pipeline(tmp_path: Path) -> None:
    for overwrite in (False, True):
        with pytest.warns(ozx.NotOmeZarrWarning), ozx.OzxStore(tmp_path / "a.ozx", "w", sync=False) as store:
            array = zarr.create_array(store, shape=(2,), dtype="u1", overwrite=overwrite)
            assert isinstance(pipeline_of(array), ArchivePipeline)
        zarr.config.set({"codec_pipeline.path": PLAIN})


@pytest.mark.parametrize("is_on_before", [False, True])
def test_a_with_block_sets_the_pipeline_of_other_stores_until_its_end(archive: Path, *, is_on_before: bool) -> None:
    zarr.config.set({"codec_pipeline.path": PLAIN})
    if is_on_before:
        assert kind_in(archive) is ArchivePipeline
    with zarr.config.set(THEIRS):
        assert kind_in({}) is Theirs
        assert kind_in(archive) is ArchivePipeline
        assert kind_in({}) is Theirs
        with zarr.config.set({"codec_pipeline.path": PLAIN}):
            assert kind_in(archive) is ArchivePipeline
            assert kind_in({}) is BatchedCodecPipeline
        assert kind_in({}) is Theirs
    assert kind_in({}) is BatchedCodecPipeline
    assert kind_in(archive) is ArchivePipeline
    assert kind_in({}) is BatchedCodecPipeline


def test_a_setting_that_does_not_exist_raises_the_error_of_zarr(archive: Path) -> None:
    setting = {"codec_pipeline.path": "no.such.Pipeline"}
    with zarr.config.set(setting), pytest.raises(zarr.core.config.BadConfigError, match=r"no\.such\.Pipeline"):
        kind_in(archive)
    assert kind_in(archive) is ArchivePipeline


def test_unpickled_arrays_keep_their_pipelines(archive: Path, tmp_path: Path) -> None:
    ours = zarr.open_group(ozx.OzxStore(archive), mode="r")["0"]
    with zarr.config.set(THEIRS):
        other = zarr.create_array(tmp_path / "b.zarr", shape=(4,), dtype="u1")
    again, other = pickle.loads(pickle.dumps((ours, other)))
    assert isinstance(pipeline_of(again), ArchivePipeline)
    assert type(pipeline_of(other)) is Theirs
    group = pickle.loads(pickle.dumps(zarr.open_group(ozx.OzxStore(archive), mode="r")))
    with zarr.config.set(THEIRS):
        assert isinstance(pipeline_of(group["0"]), ArchivePipeline)
        assert kind_in({}) is Theirs


def names_of(pickled: bytes, archive: Path) -> list[str]:
    """Return the names of the pipelines of an unpickled array, one that is opened, and one of another store."""
    return [type(pipeline_of(pickle.loads(pickled))).__name__, kind_in(archive).__name__, kind_in({}).__name__]


FORK = pytest.param("fork", marks=pytest.mark.posix("Windows has no fork"))


@pytest.mark.parametrize("method", [FORK, pytest.param("spawn", marks=pytest.mark.ci)])
def test_another_process_has_the_same_pipelines(archive: Path, method: str) -> None:
    pickled = pickle.dumps(zarr.open_group(ozx.OzxStore(archive), mode="r")["0"])
    zarr.config.set(THEIRS)
    expected = ["ArchivePipeline", "ArchivePipeline", "Theirs" if method == "fork" else "BatchedCodecPipeline"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forks a process that has threads
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.apply(names_of, (pickled, archive)) == expected


def test_the_loop_of_the_user_meets_our_pipeline(archive: Path) -> None:
    async def kind() -> type:
        group = await zarr.api.asynchronous.open_group(ozx.OzxStore(archive), mode="r")
        return type((await group.getitem("0")).codec_pipeline)

    assert asyncio.run(kind()) is ArchivePipeline


def test_ozx_open_does_not_configure_zarr(archive: Path) -> None:
    zarr.config.set(THEIRS)
    with ozx.open(archive) as group:
        assert isinstance(pipeline_of(group["0"]), ArchivePipeline)
    with ozx.open(archive, "a", sync=False) as group:
        group.create_array("1", shape=(2,), dtype="u1")
        assert isinstance(pipeline_of(group["0"]), ArchivePipeline)
    assert zarr.config.get("codec_pipeline.path") == THEIRS["codec_pipeline.path"]

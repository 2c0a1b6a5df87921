"""dask reads and writes .ozx files under every scheduler: each byte of each array."""

import multiprocessing

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from clusters import local_cluster
from hierarchies import FIXTURES
from packed import pack_tree

import ozx
from ozx.integrations.fsspec import OzxFileSystem

SHARDED = FIXTURES / "sharded.ome.zarr"


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    return pack_tree(SHARDED, tmp_path_factory.mktemp("dask") / "cells.ozx")


@pytest.fixture(scope="module")
def expected():
    return zarr.open_array(SHARDED / "0", mode="r")[...]


def arrays(path):
    """Return the same level as dask array, in every way that there is."""
    group = ozx.open(path)
    yield da.from_zarr(group["0"])
    yield da.from_array(group["0"], chunks=(1, 1, 4, 64, 64))  # shards
    yield da.from_zarr(zarr.open_array(OzxFileSystem().unstrip_protocol(str(path)) + "/0", mode="r"))


def check(path, expected, **options):
    wholes = list(arrays(path))
    assert [array.chunksize for array in wholes[:2]] == [(1, 1, 2, 32, 32), (1, 1, 4, 64, 64)]
    maxima = [array.max(axis=(0, 2)) for array in wholes]
    found = dask.compute(wholes, maxima, **options)  # at once: starting processes takes longer than reading
    for array, maximum in zip(*found, strict=True):
        assert array.dtype == np.uint16
        np.testing.assert_array_equal(array, expected)
        np.testing.assert_array_equal(maximum, expected.max(axis=(0, 2)))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_schedulers_in_one_process(packed, expected, scheduler):
    check(packed, expected, scheduler=scheduler, num_workers=8)


@pytest.mark.parametrize("start", [pytest.param("spawn", marks=pytest.mark.ci), "fork"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_process_scheduler(packed, expected, start):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system does not {start}")
    with dask.config.set({"multiprocessing.context": start}):
        check(packed, expected, scheduler="processes", num_workers=2)


@pytest.mark.ci
def test_distributed_workers_in_processes(packed, expected):
    with local_cluster(threads=2) as (_, client):
        check(packed, expected)
        assert len(client.scheduler_info()["workers"]) == 2


def test_two_versions_of_a_file_are_two_arrays(packed, tmp_path):
    path = tmp_path / "a.ozx"
    path.write_bytes(packed.read_bytes())
    before = [array.name for array in arrays(path)]
    pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "b.ozx").replace(path)
    group = ozx.open(path)
    assert da.from_zarr(group["0"]).name not in before


@pytest.mark.parametrize("shards", [None, (1, 128, 128)])
@pytest.mark.parametrize("is_rechunked", [False, True])
def test_blocks_smaller_than_a_chunk_are_stored_one_at_a_time_or_joined(tmp_path, shards, is_rechunked):
    pixels = np.random.default_rng(0).integers(1, 4000, (3, 128, 128), "uint16")
    result = da.from_array(pixels, chunks=(1, 32, 64))
    with ozx.OzxStore(tmp_path / "a.ozx", "w") as store:
        group = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
        chunks = (1, 128, 128) if shards is None else (1, 64, 64)
        array = group.create_array("0", shape=pixels.shape, chunks=chunks, shards=shards, dtype="uint16")
        if is_rechunked:
            da.store(result.rechunk(array.shards or array.chunks), array, lock=False, scheduler="threads")
        else:
            da.store(result, array, lock=True, scheduler="threads")
    np.testing.assert_array_equal(ozx.open(tmp_path / "a.ozx")["0"][...], pixels)

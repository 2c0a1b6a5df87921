"""The work of one image done by the processes of a Dask cluster, one of which is killed."""

import os

import dask.array as da
import numpy as np
import pytest
import zarr
from clusters import Killer, any_process, local_cluster

import ozx
from ozx.operations.write_image import write_image

pytestmark = [pytest.mark.ci, pytest.mark.filterwarnings("ignore")]  # what distributed says of the killed worker

PIXELS = np.random.default_rng(0).integers(0, 4000, (4, 2200, 2300)).astype("uint16")


@pytest.fixture(scope="module")
def client():
    with local_cluster() as (_, client):
        yield client


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("expected") / "a.ozx"
    write_image(path, PIXELS, axes="cyx", name="image")
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["numpy", "dask", "zarr"])
def test_workers_make_the_same_file(tmp_path, client, expected, kind):
    array = PIXELS
    if kind == "dask":
        array = da.from_array(PIXELS, chunks=(1, 1100, 1100))
    if kind == "zarr":
        array = zarr.create_array(tmp_path / "z", shape=PIXELS.shape, dtype=PIXELS.dtype, chunks=(1, 512, 512))
        array[:] = PIXELS
    write_image(tmp_path / "a.ozx", array, axes="cyx", name="image", executor=client.get_executor())
    assert pixels_of(tmp_path / "a.ozx") == pixels_of_bytes(tmp_path, expected)
    if kind == "numpy":
        assert (tmp_path / "a.ozx").read_bytes() == expected


def test_a_killed_worker_is_survived(tmp_path, client, expected):
    array = zarr.create_array(tmp_path / "z", shape=PIXELS.shape, dtype=PIXELS.dtype, chunks=(1, 512, 512))
    array[:] = PIXELS
    victim = any_process(client)
    progress = Killer(victim)
    write_image(tmp_path / "a.ozx", array, axes="cyx", name="image", executor=client.get_executor(), progress=progress)
    assert progress.calls > 2
    assert pixels_of(tmp_path / "a.ozx") == pixels_of_bytes(tmp_path, expected)
    assert victim not in client.run(os.getpid).values()


def pixels_of(path):
    group = ozx.open(path)
    return {name: array[...].tobytes() for name, array in group.arrays()}


def pixels_of_bytes(tmp_path, data):
    (tmp_path / "expected.ozx").write_bytes(data)
    return pixels_of(tmp_path / "expected.ozx")

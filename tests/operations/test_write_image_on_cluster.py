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
    return path


def assert_same_pixels(path, expected):
    found, wanted = ({name: array[...].tobytes() for name, array in ozx.open(one).arrays()} for one in (path, expected))
    assert found == wanted


def as_dask(_):
    return da.from_array(PIXELS, chunks=(1, 1100, 1100))


def as_zarr(folder):
    return zarr.create_array(folder / "z", data=PIXELS, chunks=(1, 512, 512))


@pytest.mark.parametrize("make", [lambda _: PIXELS, as_dask, as_zarr], ids=["numpy", "dask", "zarr"])
def test_workers_make_the_same_file(tmp_path, client, expected, make):
    array = make(tmp_path)
    write_image(tmp_path / "a.ozx", array, axes="cyx", name="image", executor=client.get_executor())
    assert_same_pixels(tmp_path / "a.ozx", expected)
    if array is PIXELS:
        assert (tmp_path / "a.ozx").read_bytes() == expected.read_bytes()


def test_a_killed_worker_is_survived(tmp_path, client, expected):
    victim = any_process(client)
    words = {
        "axes": "cyx",
        "name": "image",
        "executor": client.get_executor(),
        "progress": (progress := Killer(victim)),
    }
    write_image(tmp_path / "a.ozx", as_zarr(tmp_path), **words)
    assert progress.calls > 2
    assert_same_pixels(tmp_path / "a.ozx", expected)
    assert victim not in client.run(os.getpid).values()

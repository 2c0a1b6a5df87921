"""The work of imports done by the processes of a Dask cluster, one of which is killed."""

import json
import os
import re

import numpy as np
import pytest
from clusters import Killer, any_process, local_cluster
from tiffs import damage_segment, pixels, write, write_parts

import ozx
from ozx.cli.app import run
from ozx.errors import FormatError

pytestmark = [pytest.mark.ci, pytest.mark.filterwarnings("ignore")]  # what distributed says of the killed worker


@pytest.fixture(scope="module")
def cluster_and_client():
    with local_cluster(threads=2) as both:
        yield both


@pytest.fixture(scope="module")
def client(cluster_and_client):
    return cluster_and_client[1]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "a.ome.tif"
    return write(path, pixels((3, 2200, 2300)), tile=(256, 256), compression="zlib")


def test_the_command_takes_an_address(tmp_path, cluster_and_client, source, capsys):
    cluster, _ = cluster_and_client
    code = run(["import", str(source), str(tmp_path / "a.ozx"), "--dask", cluster.scheduler_address])
    assert code == 0
    assert capsys.readouterr().err.endswith(f"to set one: ozx edit {tmp_path / 'a.ozx'} --pixel-size 0.65um\n")
    np.testing.assert_array_equal(ozx.open(tmp_path / "a.ozx")["0"][:], pixels((3, 2200, 2300)))


def test_planes_in_several_files(tmp_path, client):
    master, stack = write_parts(tmp_path)
    ozx.import_image(master, tmp_path / "a.ozx", executor=client.get_executor())
    np.testing.assert_array_equal(ozx.open(tmp_path / "a.ozx")["0"][:], stack)


def test_errors_of_workers_come_back(tmp_path, client):
    path = write(tmp_path / "a.tif", pixels((600, 700)), tile=(128, 128), compression="zlib")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(FormatError, match=r"page 0, tile \d+: .* the file ends at"):
        ozx.import_image(path, executor=client.get_executor())
    assert os.listdir(tmp_path) == ["a.tif"]


def test_what_workers_filled_is_told_every_time(tmp_path, cluster_and_client, capsys):
    cluster, client = cluster_and_client
    path = write(tmp_path / "a.tif", pixels((600, 700)), tile=(64, 64), compression="zlib")
    for number in (7, 8, 100):
        damage_segment(path, number)
    here = ozx.import_image(path, tmp_path / "1.ozx", on_error="fill")
    assert [int(number) for number in re.findall(r"page 0, tile (\d+)", " ".join(here.damage))] == [7, 8, 100]
    for name in ("2.ozx", "3.ozx"):  # the second time workers have the file open still
        there = ozx.import_image(path, tmp_path / name, on_error="fill", executor=client.get_executor())
        assert there.damage == here.damage
    arguments = ["import", str(path), str(tmp_path / "4.ozx"), "--on-error", "fill", "--json"]
    code = run([*arguments, "--dask", cluster.scheduler_address])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (code, result["damage"]) == (3, list(here.damage))


def test_a_killed_worker_is_survived(tmp_path, client, source):
    victim = any_process(client)
    progress = Killer(victim)
    ozx.import_image(source, tmp_path / "a.ozx", executor=client.get_executor(), progress=progress)
    assert progress.calls > 2
    ozx.import_image(source, tmp_path / "b.ozx")
    assert (tmp_path / "a.ozx").read_bytes() == (tmp_path / "b.ozx").read_bytes()
    assert victim not in client.run(os.getpid).values()

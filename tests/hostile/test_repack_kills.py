"""SIGKILL at any moment of a repack, and a full disk: the old or the new file, whole."""

import os
import random
import resource
import shutil
import signal
import time

import numpy as np
import pytest
import zarr
from children import in_child, shortest_duration, wait
from hierarchies import make_image, tree
from sweeping import forget_swept_folders

from ozx.operations.repack import repack

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")

KILLS = int(os.environ.get("OZX_KILLS", "60"))
LAYOUT = {"shards": "y=512,x=512"}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return a folder with a hierarchy of many chunks, what it becomes, and what is there before."""
    folder = tmp_path_factory.mktemp("sources")
    root = make_image(folder / "new", {})
    noise = np.random.default_rng(0)
    for name, side in (("0", 2048), ("1", 1024)):
        shutil.rmtree(root / name, ignore_errors=True)
        options = {"shape": (side, side), "chunks": (32, 32), "dtype": "uint8", "compressors": None}
        zarr.create_array(root, name=name, **options)[:] = noise.integers(0, 256, (side, side), dtype="uint8")
    repack(root, folder / "new.ozx", **LAYOUT)
    repack(make_image(folder / "old"), folder / "old.ozx")
    return folder


def assert_no_more_than(folder, name):
    left = [other for other in os.listdir(folder) if other != name]
    assert all(other.startswith(".") and other.endswith((".ozx-tmp", ".ozx-swap")) for other in left), left


@pytest.mark.ci
@pytest.mark.parametrize("form", ["file", "directory"])
def test_killed_at_random_moments(tmp_path, sources, form):
    out = tmp_path / ("a.ozx" if form == "file" else "a.ome.zarr")

    def state():
        if out.is_dir():
            return tree(out)
        return out.read_bytes() if out.exists() else None

    def start_anew():
        shutil.rmtree(out, ignore_errors=True) if out.is_dir() else out.unlink(missing_ok=True)
        repack(sources / "old", out, sync=False)

    def work():
        repack(sources / "new", out, force=True, **LAYOUT)

    start_anew()
    before, usual = state(), shortest_duration(work)
    after = state()
    moments, killed = random.Random(8), 0
    for _ in range(KILLS // 2):  # as a file and as a directory: KILLS in all
        start_anew()
        child = in_child(work)
        time.sleep(moments.uniform(0, usual * 1.1))
        os.kill(child, signal.SIGKILL)
        killed += wait(child) == -signal.SIGKILL
        forget_swept_folders()
        assert state() in (before, after)
        assert_no_more_than(tmp_path, out.name)
    assert killed > KILLS // 6
    work()
    assert os.listdir(tmp_path) == [out.name]


@pytest.mark.ci
@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_leaves_the_old_file(tmp_path, sources, old):
    out = tmp_path / "a.ozx"
    if old:
        shutil.copyfile(sources / "old.ozx", out)
    before = out.read_bytes() if old else None
    whole = (sources / "new.ozx").stat().st_size
    for limit in (0, 1, 1_000, 1 << 20, whole // 2, whole - 1):

        def work(limit=limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                repack(sources / "new", out, force=True, **LAYOUT)
            except OSError:
                os._exit(4)

        assert wait(in_child(work)) == 4
        assert (out.read_bytes() if out.exists() else None) == before
        assert len(os.listdir(tmp_path)) == old

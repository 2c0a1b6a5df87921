"""SIGKILL at any moment of an export, and a full disk: the old or the new file, whole."""

import os
import random
import resource
import signal
import time

import numpy as np
import pytest
import zarr
from children import in_child, shortest_duration, wait
from hierarchies import make_image
from sweeping import forget_swept_folders

import ozx

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")

KILLS = int(os.environ.get("OZX_KILLS", "60"))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Return an image of 4 MiB of noise."""
    root = make_image(tmp_path_factory.mktemp("sources") / "new", {})
    options = {"shape": (2048, 2048), "chunks": (128, 128), "dtype": "uint8", "overwrite": True}
    noise = np.random.default_rng(0).integers(0, 256, (2048, 2048), dtype="uint8")
    zarr.create_array(root, name="0", **options)[:] = noise
    return root


@pytest.mark.ci
def test_killed_at_random_moments(tmp_path, source):
    out = tmp_path / "a.ome.tif"

    def work():
        ozx.export(source, out, force=True, sync=False, jobs=2)

    usual = shortest_duration(work)
    whole = out.read_bytes()
    moments, killed = random.Random(8), 0
    for _ in range(KILLS // 2):
        out.write_bytes(b"old")
        child = in_child(work)
        time.sleep(moments.uniform(0, usual * 1.1))
        os.kill(child, signal.SIGKILL)
        killed += wait(child) == -signal.SIGKILL
        forget_swept_folders()
        assert out.read_bytes() in (b"old", whole)
        assert all(name.endswith(".ozx-tmp") for name in os.listdir(tmp_path) if name != out.name)
    assert killed > KILLS // 6
    ozx.export(source, out, force=True)
    assert os.listdir(tmp_path) == [out.name]


@pytest.mark.ci
@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_leaves_the_old_file(tmp_path, source, old):
    out = tmp_path / "a.ome.tif"
    ozx.export(source, tmp_path / "whole.tif")
    whole = (tmp_path / "whole.tif").stat().st_size
    (tmp_path / "whole.tif").unlink()
    if old:
        out.write_bytes(b"old")
    for limit in (0, 1, 1_000, 1 << 20, whole // 2, whole - 1):

        def work(limit=limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                ozx.export(source, out, force=True)
            except OSError as error:
                os._exit(4 if error.filename == str(out) else 5)

        assert wait(in_child(work)) == 4
        assert (out.read_bytes() if out.exists() else None) == (b"old" if old else None)
        assert len(os.listdir(tmp_path)) == old

"""SIGKILL and Ctrl-C at any moment of write_image, and a full disk: the old or the new file, whole."""

import os
import random
import resource
import signal
import time

import numpy as np
import pytest
from children import in_child, shortest_duration, wait
from sweeping import forget_swept_folders

import ozx
from ozx.operations.write_image import write_image

pytestmark = [pytest.mark.ci, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")]

KILLS = int(os.environ.get("OZX_KILLS", "60"))
PIXELS = np.random.default_rng(0).integers(0, 60_000, (3, 1500, 1700)).astype("uint16")


def work(out):
    write_image(out, PIXELS, axes="cyx", codec="zstd:1", force=True)


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT])
def test_ended_at_random_moments(tmp_path, kind):
    out = tmp_path / "a.ozx"
    usual = shortest_duration(lambda: work(out))
    after = out.read_bytes()
    moments, ended = random.Random(8), 0
    for number in range(KILLS // 2):
        out.unlink(missing_ok=True)
        if number % 2:
            write_image(out, PIXELS[0, :9, :9], sync=False)
        before = out.read_bytes() if number % 2 else None

        def child_work():
            signal.signal(signal.SIGINT, signal.default_int_handler)
            work(out)

        child = in_child(child_work)
        time.sleep(moments.uniform(0, usual * 1.1))
        os.kill(child, kind)
        ended += wait(child) != 0
        forget_swept_folders()
        assert (out.read_bytes() if out.exists() else None) in (before, after)
        left = [name for name in os.listdir(tmp_path) if name != out.name]
        assert all(name.endswith(".ozx-tmp") for name in left) if kind == signal.SIGKILL else not left
    assert ended > KILLS // 6
    work(out)
    assert os.listdir(tmp_path) == [out.name]
    assert out.read_bytes() == after
    assert ozx.validate(out).valid


@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_leaves_the_old_file(tmp_path, old):
    out = tmp_path / "a.ozx"
    work(out)
    whole = out.stat().st_size
    out.unlink()
    if old:
        write_image(out, PIXELS[0, :9, :9], sync=False)
    before = out.read_bytes() if old else None
    for limit in (0, 1, 1_000, 1 << 20, whole // 2, whole - 1):

        def child_work(limit=limit):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                work(out)
            except OSError:
                os._exit(4)

        assert wait(in_child(child_work)) == 4
        assert (out.read_bytes() if out.exists() else None) == before
        assert len(os.listdir(tmp_path)) == old

"""SIGKILL and Ctrl-C at any moment of write_image, and a full disk: the old or the new file, whole."""

import os
import shutil
import signal

import numpy as np
import pytest
from children import shortest_duration
from ending import assert_no_more_than, check_full_disks, needs_fork, random_endings, rooms_below

import ozx
from ozx.operations.write_image import write_image

pytestmark = [pytest.mark.ci, needs_fork]

PIXELS = np.random.default_rng(0).integers(0, 60_000, (3, 1500, 1700)).astype("uint16")


def work(out):
    write_image(out, PIXELS, axes="cyx", codec="zstd:1", force=True)


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT])
def test_ended_at_random_moments(tmp_path, tmp_path_factory, kind):
    out = tmp_path / "a.ozx"
    usual = shortest_duration(lambda: work(out))
    after = out.read_bytes()
    old = tmp_path_factory.mktemp("old") / "a.ozx"
    write_image(old, PIXELS[0, :9, :9], sync=False)

    def start_anew(number):
        out.unlink(missing_ok=True)
        if number % 2:
            shutil.copyfile(old, out)

    def child_work():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        work(out)

    for number in random_endings(child_work, usual, start_anew, seed=8, kind=kind):
        before = old.read_bytes() if number % 2 else None
        assert (out.read_bytes() if out.exists() else None) in (before, after)
        assert_no_more_than(tmp_path, out.name)
        assert kind == signal.SIGKILL or set(os.listdir(tmp_path)) <= {out.name}
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
    check_full_disks(lambda: work(out), out, rooms_below(whole))

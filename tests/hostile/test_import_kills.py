"""SIGKILL, Ctrl-C and a full disk in the middle of an import: the old or the new file, whole."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from children import shortest_duration
from ending import check_endings, check_full_disks, needs_fork, rooms_below
from tiffs import pixels, write

import ozx

pytestmark = [pytest.mark.ci, needs_fork]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return a folder with two TIFF files, and what they become."""
    folder = tmp_path_factory.mktemp("sources")
    for name, side in (("new", 3000), ("old", 100)):
        write(folder / f"{name}.tif", pixels((side, side)), tile=(256, 256), compression="zlib")
        ozx.import_image(folder / f"{name}.tif", sync=False)
    return folder


def test_killed_at_random_moments(tmp_path, sources):
    out = tmp_path / "a.ozx"
    before = (sources / "old.ozx").read_bytes()

    def work():
        ozx.import_image(sources / "new.tif", out, force=True, name="new")

    usual = shortest_duration(work)
    rights = before, out.read_bytes()
    check_endings(work, out, lambda _: out.write_bytes(before), rights, usual=usual, seed=4)


@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_leaves_the_old_file(tmp_path, sources, old):
    out = tmp_path / "a.ozx"
    if old:
        shutil.copyfile(sources / "old.ozx", out)
    whole = (sources / "new.ozx").stat().st_size
    check_full_disks(lambda: ozx.import_image(sources / "new.tif", out, force=True), out, rooms_below(whole))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing(tmp_path, number):
    write(tmp_path / "a.tif", pixels((6000, 6000)), tile=(256, 256), compression="zlib", predictor=True)
    command = [sys.executable, "-m", "ozx", "import", "a.tif", "--codec", "zstd:19"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        while not any(name.endswith(".ozx-tmp") for name in os.listdir(tmp_path)):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        _, message = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else 128 + number)
    assert "Traceback" not in message
    assert os.listdir(tmp_path) == ["a.tif"]

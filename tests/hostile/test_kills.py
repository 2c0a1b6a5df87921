"""SIGKILL at any moment, and a full disk: the old or the new file, whole, and never a source without its copy."""

import os
import random
import re
import shutil
import signal
import time

import pytest
from children import in_child, shortest_duration, wait
from ending import (
    KILLS,
    assert_no_more_than,
    check_endings,
    check_full_disks,
    die_at_step,
    needs_fork,
    random_endings,
    rooms_below,
)
from hierarchies import make_image, state, tree
from sweeping import forget_swept_folders

import ozx
from ozx.atomic.tree_removal import MARKER
from ozx.flow.sinks import fast_unpacking, verification

pytestmark = needs_fork


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Two hierarchies, so that the old file and the new one can be told apart, and their archives."""
    folder = tmp_path_factory.mktemp("sources")
    for name, seed in (("old", 1), ("new", 2)):
        content = random.Random(seed)
        chunks = {f"0/c/{n // 100}/{n % 100}": content.randbytes(2_000) for n in range(1_500)}
        chunks["0/c/large"] = content.randbytes(12 << 20)
        ozx.pack(make_image(folder / name, chunks), folder / f"{name}.ozx", sync=False)
    return folder


@pytest.mark.ci
@pytest.mark.parametrize("old", [True, False])
def test_pack_killed_at_random_moments(tmp_path, sources, old):
    out = tmp_path / "a.ozx"
    new, before = (sources / "new.ozx").read_bytes(), (sources / "old.ozx").read_bytes() if old else None

    def work():
        ozx.pack(sources / "new", out, force=True)

    def start_anew(_):
        out.unlink(missing_ok=True)
        if before is not None:
            shutil.copyfile(sources / "old.ozx", out)

    check_endings(work, out, start_anew, (before, new), usual=shortest_duration(work), seed=3, times=KILLS)


@pytest.mark.ci
@pytest.mark.parametrize("old", [True, False])
def test_unpack_killed_at_random_moments(tmp_path, sources, monkeypatch, old):
    monkeypatch.setattr(fast_unpacking, "ENOUGH_FOR_TWO", 1_000)
    out = tmp_path / "a.ome.zarr"
    new, before = tree(sources / "new"), tree(sources / "old") if old else None

    def work():
        ozx.unpack(sources / "new.ozx", out, force=True)

    def start_anew(_):
        shutil.rmtree(out, ignore_errors=True)
        if old:
            ozx.unpack(sources / "old.ozx", out, sync=False)

    for _ in random_endings(work, shortest_duration(work), start_anew, seed=4):
        assert state(out) in (before, new)
        kept = [name for name in os.listdir(tmp_path) if ".old" in name]
        assert_no_more_than(tmp_path, "a.ome.zarr", *kept)
    time.sleep(0.5)  # for the second process of the last one killed, which is killed by the system a moment later
    work()
    # Killed before the old directory was compared with its record: it stays, under a name that everybody sees.
    kept = set(os.listdir(tmp_path)) - {"a.ome.zarr"}
    assert all(re.fullmatch(r"a\.ome\.zarr\.old(-\d+)?", name) for name in kept)
    assert all(tree(tmp_path / name) in (before, new) for name in kept)


#: What changes the disk, or proves that it may be changed.
STEPS = [(os, name) for name in ("fsync", "link", "unlink", "rename", "replace", "rmdir")]
STEPS += [(verification, "check_archive")]


@pytest.mark.parametrize("checksum", [None, pytest.param("sha256", marks=pytest.mark.ci)])
def test_a_source_never_goes_without_its_verified_copy(tmp_path, checksum):
    # Every file that is removed is a step: few of them, in several folders, are all kinds of steps.
    image = make_image(tmp_path / "image", {f"{n % 2}/c/{n}": bytes(range(n)) * 9 for n in range(1, 5)})
    values = tree(image)
    ozx.pack(image, tmp_path / "expected.ozx")
    expected = (tmp_path / "expected.ozx").read_bytes()
    for deadly in range(1000):
        folder = tmp_path / str(deadly)
        root, out = shutil.copytree(image, folder / "h.ome.zarr"), folder / "h.ozx"

        def work(root=root, deadly=deadly):
            die_at_step(deadly, STEPS)
            ozx.pack(root, verify=True, remove_source=True, checksum=checksum)

        code = wait(in_child(work))
        copied = out.exists() and out.read_bytes() == expected
        assert copied or (root.exists() and tree(root) == values)
        # What is half removed is not taken for a whole hierarchy.
        left = tree(root) if root.exists() else {}
        assert left == values or MARKER in left or left == {}
        assert left.keys() <= {"zarr.json", MARKER} or "zarr.json" not in left or values.items() <= left.items()
        assert_no_more_than(folder, "h.ome.zarr", "h.ozx", "h.ozx.sha256")
        if code == 0:
            break
        assert code == -signal.SIGKILL
        forget_swept_folders()
        if root.exists():  # the next run goes on where this one was killed
            ozx.pack(root, remove_source=True, resume=True, force=True, checksum=checksum)
        assert out.read_bytes() == expected
        assert not root.exists()
    assert deadly >= 6


@pytest.mark.ci
@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_leaves_the_old_file(tmp_path, sources, old):
    out = tmp_path / "a.ozx"
    if old:
        shutil.copyfile(sources / "old.ozx", out)
    whole = (sources / "new.ozx").stat().st_size
    check_full_disks(lambda: ozx.pack(sources / "new", out, force=True), out, rooms_below(whole))


@pytest.mark.ci
@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_leaves_the_old_directory(tmp_path, sources, old):
    out = tmp_path / "a"
    if old:
        ozx.unpack(sources / "old.ozx", out, sync=False)
    check_full_disks(lambda: ozx.unpack(sources / "new.ozx", out, force=True), out, (0, 1_000, 1 << 20))

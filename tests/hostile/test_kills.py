"""SIGKILL and Ctrl-C at any moment, and a full disk: the old or the new file, whole, and no source without a copy."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
import zarr
from children import in_child, shortest_duration, wait
from ending import (
    KILLS,
    assert_no_more_than,
    check_full_disks,
    die_at_step,
    needs_fork,
    random_endings,
    rooms_below,
)
from hierarchies import make_image, state, tree
from sweeping import forget_swept_folders
from tiffs import pixels, write

import ozx
from ozx.atomic.tree_removal import MARKER
from ozx.flow.sinks import fast_unpacking, verification

pytestmark = needs_fork


def packing(folder):
    for name, seed in (("old", 1), ("new", 2)):
        content = random.Random(seed)
        chunks = {f"0/c/{n // 100}/{n % 100}": content.randbytes(2_000) for n in range(1_500)}
        chunks["0/c/large"] = content.randbytes(12 << 20)
        yield partial(ozx.pack, make_image(folder / name, chunks), force=True)


def noise(root, sides):
    """Return an image with random arrays of chunks of 32 × 32 pixels; `sides` are their lengths by name."""
    make_image(root, {})
    for name, side in sides.items():
        shutil.rmtree(root / name, ignore_errors=True)
        options = {"shape": (side, side), "chunks": (32, 32), "dtype": "uint8", "compressors": None}
        array = np.random.default_rng(0).integers(0, 256, (side, side), dtype="uint8")
        zarr.create_array(root, name=name, **options)[:] = array
    return root


def repacking(folder):
    yield partial(ozx.repack, make_image(folder / "old"), force=True)
    yield partial(ozx.repack, noise(folder / "new", {"0": 2048, "1": 1024}), force=True, shards="y=512,x=512")


def importing(folder):
    for name, side in (("old", 100), ("new", 3000)):
        write(folder / f"{name}.tif", pixels((side, side)), tile=(256, 256), compression="zlib")
        yield partial(ozx.import_image, folder / f"{name}.tif", force=True, name=name)


def exporting(folder):
    yield lambda out: out.write_bytes(b"old")
    yield partial(ozx.export, noise(folder / "new", {"0": 2048}), force=True, sync=False, jobs=2)


def writing(folder):
    image = np.random.default_rng(0).integers(0, 60_000, (3, 1500, 1700)).astype("uint16")
    yield lambda out: ozx.write_image(out, image[0, :9, :9], force=True)
    yield lambda out: ozx.write_image(out, image, axes="cyx", codec="zstd:1", force=True)


def recovering(folder):
    content, path = random.Random(1), folder / "broken.ozx"
    chunks = {f"0/c/{n // 2}/{n % 2}": content.randbytes(3 << 20) for n in range(4)}
    ozx.pack(make_image(folder / "image", chunks), path, sync=False)
    os.truncate(path, 10 << 20)
    yield lambda out: out.write_bytes(b"old")
    yield partial(ozx.recover, path, force=True)


def unpacking(folder):
    for name, pack in zip(("old", "new"), packing(folder), strict=True):
        pack(folder / f"{name}.ozx")
        yield partial(ozx.unpack, folder / f"{name}.ozx", force=True)


@pytest.fixture(scope="module")
def works(request, tmp_path_factory):
    """Return two functions, which write an old and a new output."""
    return tuple(request.param(tmp_path_factory.mktemp("sources")))


def put(out, content):
    """Let a file or folder have this state."""
    shutil.rmtree(out, ignore_errors=True) if out.is_dir() else out.unlink(missing_ok=True)
    if isinstance(content, bytes):
        out.write_bytes(content)
    for key, data in content.items() if isinstance(content, dict) else ():
        (out / key).parent.mkdir(parents=True, exist_ok=True)
        (out / key).write_bytes(data)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("works", "name", "kind", "times"),
    [
        (packing, "a.ozx", signal.SIGKILL, 2 * KILLS),
        (repacking, "a.ozx", signal.SIGKILL, KILLS // 2),
        (repacking, "a.ome.zarr", signal.SIGKILL, KILLS // 2),
        (importing, "a.ozx", signal.SIGKILL, KILLS // 2),
        (exporting, "a.ome.tif", signal.SIGKILL, KILLS // 2),
        (recovering, "a.ozx", signal.SIGKILL, 2 * KILLS),
        (writing, "a.ozx", signal.SIGKILL, KILLS // 2),
        (writing, "a.ozx", signal.SIGINT, KILLS // 2),
    ],
    indirect=["works"],
)
def test_ended_at_random_moments(tmp_path, works, name, kind, times):
    out, (make_old, make_new) = tmp_path / name, works
    make_old(out)
    old, usual = state(out), shortest_duration(lambda: make_new(out))
    new = state(out)

    def work():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        make_new(out)

    def start_anew(number):
        put(out, old if number % 2 else None)

    for number in random_endings(work, usual, start_anew, seed=8, times=times, kind=kind):
        assert state(out) in (old if number % 2 else None, new)
        assert_no_more_than(tmp_path, name)
        assert kind == signal.SIGKILL or set(os.listdir(tmp_path)) <= {name}
    make_new(out)
    assert os.listdir(tmp_path) == [name]
    assert state(out) == new


@pytest.mark.ci
@pytest.mark.parametrize(
    ("works", "name"),
    [
        *((each, "a.ozx") for each in (packing, repacking, importing, writing, recovering)),
        *((exporting, "a.ome.tif"), (unpacking, "a.ome.zarr")),
    ],
    indirect=["works"],
)
@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_leaves_the_old_output(tmp_path, works, name, old):
    out, (make_old, make_new) = tmp_path / name, works
    make_new(out)
    whole = max(path.stat().st_size for path in (out, *out.rglob("*")))
    put(out, None)
    if old:
        make_old(out)
    names = out if name == "a.ome.tif" else None  # in the error
    check_full_disks(lambda: make_new(out), out, rooms_below(whole), names=names)


@pytest.mark.ci
@pytest.mark.parametrize("works", [unpacking], indirect=True)
@pytest.mark.parametrize("old", [True, False])
def test_unpack_killed_at_random_moments(tmp_path, works, monkeypatch, old):
    monkeypatch.setattr(fast_unpacking, "ENOUGH_FOR_TWO", 1_000)
    out, (make_old, make_new) = tmp_path / "a.ome.zarr", works
    if old:
        make_old(out)
    before = state(out)

    def work():
        make_new(out)

    usual = shortest_duration(work)
    new = state(out)
    for _ in random_endings(work, usual, lambda _: put(out, before), seed=4):
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
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_import_leaves_nothing(tmp_path, number):
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

"""SIGKILL at any moment of a repack, and a full disk: the old or the new file, whole."""

import os
import shutil

import numpy as np
import pytest
import zarr
from children import shortest_duration
from ending import assert_no_more_than, full_disks, needs_fork, random_endings, rooms_below
from hierarchies import make_image, tree

from ozx.operations.repack import repack

pytestmark = needs_fork

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


@pytest.mark.ci
@pytest.mark.parametrize("form", ["file", "directory"])
def test_killed_at_random_moments(tmp_path, sources, form):
    out = tmp_path / ("a.ozx" if form == "file" else "a.ome.zarr")

    def state():
        if out.is_dir():
            return tree(out)
        return out.read_bytes() if out.exists() else None

    def start_anew(_):
        shutil.rmtree(out, ignore_errors=True) if out.is_dir() else out.unlink(missing_ok=True)
        repack(sources / "old", out, sync=False)

    def work():
        repack(sources / "new", out, force=True, **LAYOUT)

    start_anew(0)
    before, usual = state(), shortest_duration(work)
    after = state()
    for _ in random_endings(work, usual, start_anew, seed=8):
        assert state() in (before, after)
        assert_no_more_than(tmp_path, out.name)
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
    for _ in full_disks(lambda: repack(sources / "new", out, force=True, **LAYOUT), rooms_below(whole)):
        assert (out.read_bytes() if out.exists() else None) == before
        assert len(os.listdir(tmp_path)) == old

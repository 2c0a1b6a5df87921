"""SIGKILL at any moment of a repack, and a full disk: the old or the new file, whole."""

import shutil

import numpy as np
import pytest
import zarr
from children import shortest_duration
from ending import check_endings, check_full_disks, needs_fork, rooms_below
from hierarchies import make_image, state

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

    def start_anew(_):
        shutil.rmtree(out, ignore_errors=True) if out.is_dir() else out.unlink(missing_ok=True)
        repack(sources / "old", out, sync=False)

    def work():
        repack(sources / "new", out, force=True, **LAYOUT)

    start_anew(0)
    before, usual = state(out), shortest_duration(work)
    check_endings(work, out, start_anew, (before, state(out)), usual=usual, seed=8)


@pytest.mark.ci
@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_leaves_the_old_file(tmp_path, sources, old):
    out = tmp_path / "a.ozx"
    if old:
        shutil.copyfile(sources / "old.ozx", out)
    whole = (sources / "new.ozx").stat().st_size
    check_full_disks(lambda: repack(sources / "new", out, force=True, **LAYOUT), out, rooms_below(whole))

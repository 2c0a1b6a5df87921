"""SIGKILL at any moment of an export, and a full disk: the old or the new file, whole."""

import os

import numpy as np
import pytest
import zarr
from children import shortest_duration
from ending import assert_no_more_than, check_full_disks, needs_fork, random_endings, rooms_below
from hierarchies import make_image

import ozx

pytestmark = needs_fork


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
    for _ in random_endings(work, usual, lambda _: out.write_bytes(b"old"), seed=8):
        assert out.read_bytes() in (b"old", whole)
        assert_no_more_than(tmp_path, out.name)
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
    check_full_disks(lambda: ozx.export(source, out, force=True), out, rooms_below(whole), names=out)

"""Which file a store means, and what stays as it was when that file is written anew."""

import os
import stat

import pytest
from hierarchies import FIXTURES
from zarr.core.buffer import cpu

import ozx
from ozx import OzxStore, UsageError


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "image.ozx"
    ozx.pack(FIXTURES / "image.ome.zarr", path, sync=False)
    return path


def add_a_file(path):
    with OzxStore(path, mode="a", sync=False) as store:
        store.set_sync("notes.txt", cpu.Buffer.from_bytes(b"seen"))


def test_the_name_a_store_has_opens_it_again(image):
    store = OzxStore(image)
    assert OzxStore(str(store)).get_sync("zarr.json") == store.get_sync("zarr.json")


def test_a_store_is_a_file_and_no_node(image):
    with pytest.raises(UsageError, match="whole file"):
        OzxStore(f"ozx://{image}/labels/cells")


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="there are no such permissions here")
def test_a_private_file_stays_private(image):
    image.chmod(0o640)
    add_a_file(image)
    assert stat.S_IMODE(image.stat().st_mode) == 0o640


def test_a_link_stays_a_link(image, tmp_path):
    link = tmp_path / "link.ozx"
    link.symlink_to(image)
    add_a_file(link)
    assert link.is_symlink()
    assert OzxStore(image).get_sync("notes.txt").to_bytes() == b"seen"

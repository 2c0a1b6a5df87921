"""recover, killed at any moment or on a full disk: the old file or the new one, and the damaged one untouched."""

import random

import pytest
from children import shortest_duration
from ending import KILLS, check_endings, check_full_disks, needs_fork, rooms_below
from hierarchies import make_image

import ozx

pytestmark = needs_fork


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    folder, content = tmp_path_factory.mktemp("broken"), random.Random(1)
    chunks = {f"0/c/{n // 2}/{n % 2}": content.randbytes(3 << 20) for n in range(4)}
    ozx.pack(make_image(folder / "image", chunks), folder / "whole.ozx", sync=False)
    path = folder / "broken.ozx"
    path.write_bytes((folder / "whole.ozx").read_bytes()[: 10 << 20])
    ozx.recover(path, folder / "expected.ozx", sync=False)
    return path


def recovered(broken):
    return broken.with_name("expected.ozx").read_bytes()


@pytest.mark.ci
@pytest.mark.parametrize("old", [b"the old file", None])
def test_killed_at_random_moments(tmp_path, broken, old):
    out, before, new = tmp_path / "a.ozx", broken.read_bytes(), recovered(broken)

    def work():
        ozx.recover(broken, out, force=True)

    def start_anew(_):
        out.unlink(missing_ok=True)
        if old is not None:
            out.write_bytes(old)

    check_endings(work, out, start_anew, (old, new), usual=shortest_duration(work), seed=3, times=KILLS)
    assert broken.read_bytes() == before


@pytest.mark.ci
@pytest.mark.parametrize("old", [b"the old file", None])
def test_a_full_disk_leaves_the_old_file(tmp_path, broken, old):
    out, whole = tmp_path / "a.ozx", len(recovered(broken))
    if old is not None:
        out.write_bytes(old)
    check_full_disks(lambda: ozx.recover(broken, out, force=True), out, rooms_below(whole))

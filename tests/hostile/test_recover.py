"""recover, killed at any moment or on a full disk: the old file or the new one, and the damaged one untouched."""

import os
import random
import resource
import signal
import time

import pytest
from children import in_child, shortest_duration, wait
from hierarchies import make_image
from sweeping import forget_swept_folders

import ozx

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")

KILLS = int(os.environ.get("OZX_KILLS", "60"))


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A file that is cut off, and what is recovered of it."""
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

    usual = shortest_duration(work)
    moments, killed = random.Random(3), 0
    for _ in range(KILLS):
        out.unlink(missing_ok=True)
        if old is not None:
            out.write_bytes(old)
        forget_swept_folders()
        child = in_child(work)
        time.sleep(moments.uniform(0, usual * 1.1))
        os.kill(child, signal.SIGKILL)
        killed += wait(child) == -signal.SIGKILL
        assert (out.read_bytes() if out.exists() else None) in (old, new)
        left = [name for name in os.listdir(tmp_path) if name != "a.ozx"]
        assert all(name.endswith(".ozx-tmp") for name in left)
    assert killed > KILLS // 6
    assert broken.read_bytes() == before
    forget_swept_folders()
    work()
    assert os.listdir(tmp_path) == ["a.ozx"]


@pytest.mark.parametrize("old", [b"the old file", None])
def test_a_full_disk_leaves_the_old_file(tmp_path, broken, old):
    out, whole = tmp_path / "a.ozx", len(recovered(broken))
    if old is not None:
        out.write_bytes(old)
    for limit in [0, 1, 1000, 1 << 20, whole // 2, whole - 1]:

        def work(limit=limit):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                ozx.recover(broken, out, force=True)
            except OSError:
                os._exit(4)

        assert wait(in_child(work)) == 4
        assert (out.read_bytes() if out.exists() else None) == old
        assert len(os.listdir(tmp_path)) == (old is not None)

"""SIGKILL at any moment of an upload: the old object or the new one."""

import random

import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from children import shortest_duration
from ending import KILLS, needs_fork, random_endings
from hierarchies import make_image

import ozx
from ozx.cloud import upload as upload_module

pytestmark = [needs_fork, pytest.mark.ci]

# Two tests: 20 kills in all by default, 200 with OZX_KILLS=600.
TIMES = KILLS // 6


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Two images of three parts of an upload each."""
    folder = tmp_path_factory.mktemp("images")
    made = []
    for name, seed in (("old", 1), ("new", 2)):
        content = random.Random(seed)
        chunks = {f"0/c/{n // 20}/{n % 20}": content.randbytes(4_000) for n in range(400)}
        chunks["0/c/20/0"] = content.randbytes(11 << 20)
        made.append(make_image(folder / name, chunks))
        ozx.pack(made[-1], folder / f"{name}.ozx", sync=False)
    return folder


@pytest.mark.parametrize("has_old", [True, False])
def test_killed_at_random_moments(bucket, images, monkeypatch, has_old):  # noqa: F811
    monkeypatch.setattr(upload_module, "_USUAL_PART", 5 << 20)
    old, new = ((images / f"{name}.ozx").read_bytes() for name in ("old", "new"))
    url = f"{bucket.url}/a.ozx"

    def work():
        ozx.pack(images / "new", url, force=True)

    def start_anew(_):
        bucket.client.delete_object(Bucket=bucket.name, Key="a.ozx")
        if has_old:
            bucket.client.put_object(Bucket=bucket.name, Key="a.ozx", Body=old)

    for _ in random_endings(work, shortest_duration(work), start_anew, times=TIMES, seed=7):
        found = bucket.get("a.ozx") if bucket.keys() else None
        assert found in (new, old if has_old else None)
    work()
    assert bucket.get("a.ozx") == new

"""SIGKILL at any moment of an upload: the old object or the new one, and every rest is found and ended."""

import random

import pytest
from buckets import bucket, s3_endpoint, true_times  # noqa: F401 (fixtures)
from children import shortest_duration
from ending import KILLS, needs_fork, random_endings
from hierarchies import make_image

import ozx
from ozx.archive.remote import upload as upload_module
from ozx.operations.uploads import uploads

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


@pytest.mark.usefixtures("true_times")
@pytest.mark.parametrize("has_old", [True, False])
def test_killed_at_random_moments(bucket, images, monkeypatch, has_old):  # noqa: F811
    monkeypatch.setattr(upload_module, "_USUAL_PART", 5 << 20)
    old, new = ((images / f"{name}.ozx").read_bytes() for name in ("old", "new"))
    url = f"{bucket.url}/a.ozx"
    states: dict[str, set[str]] = {}

    def work():
        ozx.pack(images / "new", url, force=True)

    def start_anew(_):
        bucket.client.delete_object(Bucket=bucket.name, Key="a.ozx")
        if has_old:
            bucket.client.put_object(Bucket=bucket.name, Key="a.ozx", Body=old)

    for number in random_endings(work, shortest_duration(work), start_anew, times=TIMES, seed=7):
        found = bucket.get("a.ozx") if bucket.keys() else None
        assert found in (new, old if has_old else None)
        left = uploads(bucket.url).uploads
        assert {each.upload_id for each in left} == set(bucket.uploads())
        for each in left:
            states.setdefault(each.state, set()).add(each.upload_id)
        if number % 3 == 0:  # else the next run has more to end
            uploads(bucket.url, older_than=0)
            assert {each.state for each in uploads(bucket.url).uploads} <= {"unsure"}
    print(f"{TIMES} kills, uploads left:", {state: len(names) for state, names in states.items()})
    work()
    # A kill between the server's answer and its record leaves an upload that only the user can end.
    for each in uploads(bucket.url).uploads:
        assert each.state == "unsure"
        uploads(bucket.url, abort=each.upload_id)
    assert bucket.uploads() == []
    assert bucket.get("a.ozx") == new

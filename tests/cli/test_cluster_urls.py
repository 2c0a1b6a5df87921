"""`--dask` with URLs as sources and outputs: the workers get the options, and no log shows them."""

import json
import os
from pathlib import Path

import pytest
from buckets import Bucket, s3_endpoint  # noqa: F401 (fixtures)
from clusters import local_cluster
from commands import command
from hierarchies import FIXTURES, make_image, tree
from packed import pack_tree
from tiffs import pixels, write

import ozx as library
from ozx.flow.sinks.output import present_outputs
from ozx.places.remote.access import carrying_options, storage_options

pytestmark = pytest.mark.ci
ozx = command()

SECRET = "something-SECRET"
NAMES = ("a", "b c")


@pytest.fixture(scope="module")
def cluster():
    """A cluster without credentials in its environment."""
    with local_cluster() as (_, client):
        client.run(_set, {"NO_PROXY": "127.0.0.1", "OZX_CACHE": ""})
        yield client


@pytest.fixture
def options(s3_endpoint, monkeypatch, here):  # noqa: F811
    """Options for a store that the environment does not name, with a bucket."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    found = {"endpoint": s3_endpoint, "region": "us-east-1", "access_key_id": "someone", "secret_access_key": SECRET}
    return [word for name, value in found.items() for word in ("--storage-option", f"{name}={value}")]


@pytest.fixture
def bucket(s3_endpoint, options):  # noqa: F811
    bucket = Bucket(s3_endpoint)
    yield bucket
    bucket.client.close()


def _set(values):
    """Change the environment of a worker."""
    for name, value in values.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def in_order(answer):
    return sorted(answer, key=lambda each: each.get("source", each.get("path")))


def check_local(verb, out, here):
    """Compare what was packed or unpacked with the originals."""
    for name in NAMES:
        if verb == "pack":
            assert Path(out, f"{name}.ozx").read_bytes() == (here / f"{name}.ozx").read_bytes()
        else:
            assert tree(Path(out, f"{name}.ome.zarr")) == tree(here / f"{name}.ome.zarr")


def test_every_verb(capsys, here, cluster, options, bucket):
    address = cluster.scheduler.address
    for name in NAMES:
        image = make_image(here / f"{name}.ome.zarr")
        for key, data in tree(image).items():
            bucket.put(f"raw/{name}.ome.zarr/{key}", data)
        pack_tree(image, here / f"{name}.ozx")
        bucket.put(f"packed/{name}.ozx", (here / f"{name}.ozx").read_bytes())
        write(here / f"{name}.tif", pixels((30, 40)))
    quoted = [name.replace(" ", "%20") for name in NAMES]
    folders = [f"{bucket.url}/raw/{name}.ome.zarr" for name in quoted]
    files = [f"{bucket.url}/packed/{name}.ozx" for name in quoted]
    images = [str(here / f"{name}.tif") for name in NAMES]
    cases = [
        ("pack", folders, ".ozx"),
        ("repack", files, ".ozx"),
        ("repack", folders, ".ozx"),
        ("export", files, ".ome.tif"),
        ("import", images, ".ozx"),
        ("recover", files, ".ozx"),
        ("unpack", files, ".ome.zarr"),
    ]
    told = []
    for number, (verb, sources, ending) in enumerate(cases):
        for place in ("local", "remote"):
            out = f"{bucket.url}/{number}" if place == "remote" else str(here / f"out-{number}")
            words = [*sources, "--out-dir", out, "--log", f"{place}-{number}.jsonl", "--json", *options]
            code, text, err = ozx(capsys, verb, *words, "--dask", address)
            told += [text, err, Path(f"{place}-{number}.jsonl").read_text() if code == 0 else ""]
            if place == "remote" and verb in ("unpack", "recover"):
                assert code == 2
                assert ("a run that fails would then remove objects" if verb == "unpack" else "URL") in err
                continue
            assert code == 0, (verb, place, text, err)
            results = json.loads(text)["results"]
            assert [each["error"] for each in results] == [None, None]
            without = ozx(capsys, verb, *sources, "--out-dir", f"{out}-alone", "--json", *options)
            alone = json.loads(without[1].replace(f"{out}-alone", out))["results"]
            assert in_order(results) == in_order(alone) or verb == "export"
            if place == "local" and verb in ("pack", "unpack"):
                check_local(verb, out, here)
            if place == "remote":
                sizes = {os.path.getsize(here / f"out-{number}" / f"{name}{ending}") for name in NAMES}
                keys = [key for key in bucket.keys() if key.startswith(f"{number}/")]  # noqa: SIM118 (no dict)
                assert {len(bucket.get(key)) for key in keys} == sizes
    for how in (["--dask", address], ["--jobs", "2"]):
        code, text, err = ozx(capsys, "validate", *files, *folders, "--level", "data", *options, *how)
        assert (code, text.count("valid")) == (0, 4), err
    told += [text, err, str(cluster.get_worker_logs()), str(cluster.get_scheduler_logs())]
    assert not any(SECRET in each for each in told)
    assert bucket.uploads() == []


def test_outputs_that_are_there(capsys, here, cluster, options, bucket):
    """An object that was there before is refused, as without a cluster; the others are written."""
    address = cluster.scheduler.address
    sources = [str(make_image(here / f"{name}.ome.zarr")) for name in "ab"]
    bucket.put("b.ozx", b"old")
    words = ["pack", *sources, "--out-dir", bucket.url, *options, "--json"]
    code, text, _ = ozx(capsys, *words, "--dask", address)
    found = json.loads(text)["results"]
    assert (code, [each["status"] for each in found]) == (3, ["packed", "failed"])
    assert "the object exists already" in found[1]["error"]["message"]
    assert bucket.get("b.ozx") == b"old"
    code, text, _ = ozx(capsys, *words, "--force", "--dask", address)
    assert (code, [each["status"] for each in json.loads(text)["results"]]) == (0, ["packed", "packed"])
    assert bucket.get("a.ozx") == pack_tree(here / "a.ome.zarr", here / "a.ozx").read_bytes()


def test_one_file_by_blocks(capsys, here, cluster, options, bucket):
    """`repack` of one file from a URL to a URL: the workers read its blocks with the options."""
    local = pack_tree(FIXTURES / "image.ome.zarr", here / "a.ozx")
    bucket.put("a.ozx", local.read_bytes())
    for key, data in tree(FIXTURES / "image.ome.zarr").items():
        bucket.put(f"a.ome.zarr/{key}", data)
    library.repack(local, here / "expected.ozx", codec="zstd:3")
    for source in ("a.ozx", "a.ome.zarr"):
        words = ["repack", f"{bucket.url}/{source}", f"{bucket.url}/b.ozx", "--codec", "zstd:3", "--force", *options]
        code, _, err = ozx(capsys, *words, "--dask", cluster.scheduler.address)
        assert (code, source, err) == (0, source, err)
        assert bucket.get("b.ozx") == (here / "expected.ozx").read_bytes()


def test_the_workers_own_environment(capsys, here, cluster, options, bucket, s3_endpoint, monkeypatch):  # noqa: F811
    own = {"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
    for name, value in {**own, "AWS_ENDPOINT_URL": s3_endpoint}.items():
        monkeypatch.setenv(name, value)
    source = str(make_image(here / "a.ome.zarr"))
    words = ["pack", source, "--out-dir", bucket.url, "--storage-option", f"endpoint={s3_endpoint}"]
    try:
        cluster.run(_set, own)
        code, _, err = ozx(capsys, *words, "--dask", cluster.scheduler.address)
    finally:
        cluster.run(_set, dict.fromkeys(own))
    assert (code, err) == (0, err)
    assert bucket.keys() == ["a.ozx"]


def test_no_repr_shows_the_options():
    with storage_options(secret_access_key=SECRET):
        task = carrying_options(present_outputs)
    assert SECRET not in f"{task!r} {task.args!r} {task.args[0]}"

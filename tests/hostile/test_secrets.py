"""Failing commands print, log and pickle no part of a signature, key or token."""

import logging
import os
import pickle
import subprocess
import sys
import traceback

import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from fault_proxy import Fault, proxying
from hierarchies import FIXTURES
from servers import serving

import ozx
from ozx.cli.app import run

pytest.importorskip("obstore", reason="the extra remote is not installed")

# In two parts: tracebacks quote the lines of this file.
SECRET = "SEC" + "RET"
QUERY = f"?X-Amz-Signature={SECRET}&sig={SECRET}#{SECRET}"
OPTIONS = [
    "--storage-option",
    "access_key_id=someone",
    "--storage-option",
    f"session_token={SECRET}",
    "--storage-option",
    f"secret_access_key={SECRET}",
]

FAULTS = {
    "403": Fault("status", 403),
    "404": Fault("status", 404),
    "503": Fault("status", 503, retry_after="3600"),
    "truncated": Fault("truncate", after=100),
    "dropped": Fault("drop"),
    "changed": Fault.change(ETag='"other"'),
    "silent": Fault("stall", seconds=1),
    "none": None,
}

CONSTANT = sorted(set(FAULTS) - {"changed"})


def lines_with_secret(text):
    return [line for line in text.splitlines() if SECRET in line]


def verbs(url, folder):
    return [
        ["info", url, "--json"],
        ["ls", url],
        ["cat", url, "zarr.json"],
        ["validate", url, "--level", "data", "--json"],
        ["extract", url, f"{folder}/a.ozx"],
        ["unpack", url, f"{folder}/b"],
        ["unpack", url, "--out-dir", f"{folder}/many", "--log", f"{folder}/log.jsonl"],
        ["repack", url, "--out-dir", f"{folder}/many", "--json"],
        ["repack", url, url, "--out-dir", f"{folder}/many"],
        ["repack", url, f"{folder}/c.ozx", "--json"],
        ["thumbnail", url, f"{folder}/d.png"],
        ["export", url, f"{folder}/e.ome.tif"],
        ["recover", url, f"{folder}/f.ozx"],
        ["verify", url],
        ["edit", url, "--name", "x"],
        ["serve", url],
        ["pack", url.replace(".ozx", ".zarr"), f"{folder}/g.ozx"],
    ]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("packed") / "cells.ozx"
    ozx.pack(FIXTURES / "image.ome.zarr", path)
    return path.read_bytes()


@pytest.mark.parametrize("fault", ["changed", *(pytest.param(each, marks=pytest.mark.ci) for each in CONSTANT)])
def test_web_servers(archive, tmp_path, capfd, caplog, fault):
    caplog.set_level(logging.DEBUG)
    with serving(archive) as server, proxying(server.url) as proxy:
        proxy.choose = lambda method, path, number: FAULTS[fault] if fault != "changed" or number % 2 == 0 else None
        url = f"{proxy.url.replace('//', f'//user:{SECRET}@')}/cells.ozx{QUERY}"
        with ozx.storage_options(retry_config={"max_retries": 1}, timeout=0.5 if fault == "silent" else 60):
            codes = [run(arguments) for arguments in verbs(url, tmp_path)]
    assert set(codes) <= {0, 1, 2, 3, 4}
    assert (0 in codes) == (fault in ("changed", "none"))  # some verbs need one request
    printed = capfd.readouterr()
    written = [(tmp_path / "log.jsonl").read_text()]
    for text in (printed.out, printed.err, caplog.text, *written):
        assert lines_with_secret(text) == []


@pytest.mark.parametrize("fault", ["403", "503"])
def test_raised_errors(archive, tmp_path, fault):
    with serving(archive) as server, proxying(server.url) as proxy:
        proxy.choose = lambda method, path, number: FAULTS[fault]
        url = f"{proxy.url}/cells.ozx{QUERY}"
        with ozx.storage_options(retry_config={"max_retries": 0}):
            for call in (ozx.inspect, ozx.open, ozx.validate, lambda url: ozx.extract(url, tmp_path / "a.ozx")):
                try:
                    call(url)
                except ozx.OzxError as error:
                    assert error.__cause__ is not error  # noqa: PT017
                    for seen in (error, error.__context__, error.__cause__):
                        text = "".join(traceback.format_exception(seen))
                        assert lines_with_secret(text) == []
                        assert SECRET.encode() not in pickle.dumps(seen)


@pytest.mark.ci
def test_buckets(bucket, tmp_path):  # noqa: F811
    """The credentials of the environment and of options; a process of its own, so that obstore's own words are seen."""
    names = {"AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": SECRET, "RUST_LOG": "debug"}
    commands = [
        ["info", f"{bucket.url}/none.ozx"],
        ["info", f"{bucket.url}-x/none.ozx", *OPTIONS],
        ["pack", f"{bucket.url}/none.zarr", str(tmp_path / "a.ozx"), *OPTIONS],
        ["pack", str(FIXTURES / "image.ome.zarr"), f"{bucket.url}-x/a.ozx", *OPTIONS],
        ["info", f"{bucket.url}/none.ozx", "--storage-option", f"{SECRET}"],
        ["info", f"{bucket.url}/none.ozx", "--storage-option", f"bogus={SECRET}"],
        [
            "info",
            f"{bucket.url}/none.ozx",
            "--storage-option",
            f"endpoint=http://user:{SECRET}@127.0.0.1:1",
            "--timeout",
            "1",
        ],
        ["uploads", f"{bucket.url}-x", *OPTIONS],
    ]
    program = f"import sys; from ozx.cli.app import run; sys.exit(max(map(run, {commands!r})))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | names,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 4
    assert done.stderr.count("error: ") >= len(commands)
    assert lines_with_secret(done.stdout + done.stderr) == []

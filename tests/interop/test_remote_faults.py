"""Faults between ozx and a server: the right result or a clear error, and never a wrong or half file.

Each fault meets each verb, at the first, the second or a later request, once or for ever.
"""

import os

import numpy as np
import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from fault_proxy import Fault, proxying
from hierarchies import FIXTURES, make_image, tree
from servers import serving, serving_folder

import ozx
from ozx.cli.app import run
from ozx.cloud import upload as upload_module
from ozx.errors import FormatError, ResourceError, UsageError

pytest.importorskip("obstore", reason="the extra remote is not installed")

#: What passes when a request is repeated, and what does not.
FAULTS = {
    "dropped": Fault("drop"),
    "reset": Fault("reset"),
    "cut": Fault("truncate", after=500),
    "503": Fault("status", 503),
    "503, wait": Fault("status", 503, retry_after="0"),
    "429": Fault("status", 429),
    "500": Fault("status", 500),
    "slow": Fault("slow", seconds=0.06),
    "silent": Fault("stall", seconds=1.2),
    "silent within the body": Fault("stall", seconds=1.2, after=300),
    "403": Fault("status", 403),
    "404": Fault("status", 404),
    "another ETag": Fault.change(ETag='"other"'),
    "another length": Fault.change(ETag='"other"', Content_Range="bytes 0-99/12345678"),
    "another date": Fault.change(ETag="", Last_Modified="Tue, 14 Nov 2023 22:13:20 GMT"),
}
# Answered by an error even once: they are no failures of the way.
LASTING = ("403", "404", "another ETag", "another length", "another date")
QUICK = ("403",)
EVERY = [name if name in QUICK else pytest.param(name, marks=pytest.mark.ci) for name in sorted(FAULTS)]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """An archive that takes several requests."""
    path = tmp_path_factory.mktemp("packed") / "cells.ozx"
    pixels = np.random.default_rng(2).integers(0, 65536, (2, 768, 768), "uint16")
    ozx.write_image(path, pixels, axes="cyx", chunks="c=1,y=128,x=128", shards="none", codec="none")
    return path


VERBS = {
    "pack": lambda url, out: ozx.pack(url, out).entries,
    "info": lambda url, out: ozx.inspect(url).to_dict() | {"path": ""},
    "extract": lambda url, out: ozx.extract(url, out, levels="0:1").entries,
    "validate": lambda url, out: ozx.validate(url, level="data").valid,
    "unpack": lambda url, out: ozx.unpack(url, out).entries,
}


def attempts(call, url, proxy, fault, folder, *runs):
    """Let a fault meet a verb from some request on, so many times; yield for each of these runs the result and files.

    The result is None after an error of the right kind.
    """
    for first, times in runs:
        proxy.requests.clear()
        proxy.choose = lambda m, p, n, first=first, times=times: fault if first <= n < first + times else None
        out = folder / f"{first}-{times}"
        out.mkdir()
        with ozx.storage_options(client_options={"read_timeout": "500ms"}, retry_config={"max_retries": 2}):
            try:
                found = call(url, out / "a")
            except (ResourceError, FormatError) as error:
                found = None if error.path else pytest.fail(f"no path in {error!r}")
        yield times, found, outcome(out)


def expected_of(call, url, folder):
    """Return the result without a fault, and what is written."""
    folder.mkdir()
    return call(url, folder / "a"), outcome(folder)


@pytest.mark.parametrize("fault", EVERY)
@pytest.mark.parametrize("verb", ["extract", "info", "unpack", "validate"])
def test_an_archive(archive, tmp_path, verb, fault):
    expected, right = expected_of(VERBS[verb], str(archive), tmp_path / "right")
    with serving(archive.read_bytes()) as server, proxying(server.url) as proxy:
        url, runs = f"{proxy.url}/cells.ozx", ((1, 1), (2, 1), (3, 2), (2, 1000))
        for times, found, written in attempts(VERBS[verb], url, proxy, FAULTS[fault], tmp_path, *runs):
            is_right = found == expected or (verb == "info" and found is not None)
            assert written == (right if is_right else {})
            # A finding is no error: `validate` says that the file changed.
            assert is_right or fault in LASTING or times > 1 or verb == "validate"
            assert is_right or found is None or (verb == "validate" and fault in LASTING)


def outcome(folder):
    return tree(folder) if os.listdir(folder) else {}


@pytest.mark.ci
@pytest.mark.parametrize("fault", EVERY)
@pytest.mark.parametrize("verb", ["pack", "unpack", "validate"])
def test_a_directory(tmp_path, verb, fault):
    with serving_folder(FIXTURES) as server, proxying(server.url) as proxy:
        url = f"{proxy.url}/image.ome.zarr"
        expected, right = expected_of(VERBS[verb], url, tmp_path / "right")
        runs = ((1, 1), (9, 1), (60, 2), (100, 10_000))
        for times, found, written in attempts(VERBS[verb], url, proxy, FAULTS[fault], tmp_path, *runs):
            if found is None or verb == "validate":
                assert written == {}
            elif fault != "404":  # which says that there is no such chunk
                assert (found, written) == (expected, right)
            if times == 1 and fault not in LASTING:
                assert found == expected


UPLOAD_FAULTS = {name: FAULTS[name] for name in ("dropped", "reset", "503, wait", "429", "403")}
UPLOAD_FAULTS |= {"lost reply": Fault("lose"), "slow": Fault("slow", seconds=0.5)}


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """An image of three parts of an upload."""
    content = np.random.default_rng(3).integers(0, 256, 11 << 20, "uint8").tobytes()
    return make_image(tmp_path_factory.mktemp("large") / "large.ome.zarr", {"0/c/0/0": content, "0/c/0/1": b"x"})


@pytest.mark.ci
@pytest.mark.parametrize("fault", sorted(UPLOAD_FAULTS))
@pytest.mark.parametrize("step", ["begin", "part", "completion", "look"])
def test_uploads(bucket, large, tmp_path, monkeypatch, fault, step):  # noqa: F811
    monkeypatch.setattr(upload_module, "_USUAL_PART", 5 << 20)
    ozx.pack(large, tmp_path / "local.ozx")
    counts = {}

    def choose(method, path, number):
        kind = {
            ("POST", True, False): "begin",
            ("PUT", False, True): "part",
            ("POST", False, True): "completion",
            ("HEAD", False, False): "look",
        }.get((method, "uploads" in path, "uploadId" in path))
        counts[kind] = counts.get(kind, 0) + 1
        return UPLOAD_FAULTS[fault] if kind == step and counts[kind] == 1 else None

    with proxying(bucket.endpoint) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        proxy.choose = choose
        try:
            ozx.pack(large, f"{bucket.url}/a.ozx")
            is_done = True
        except (ResourceError, UsageError):
            is_done = False
        monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.endpoint)
    assert counts.get(step)
    assert is_done == (fault != "403")
    assert bucket.keys() == (["a.ozx"] if is_done else [])
    if is_done:
        assert bucket.get("a.ozx") == (tmp_path / "local.ozx").read_bytes()
    # The reply to the beginning was lost: that upload has a name that only the server knows.
    left = 1 if (fault, step) == ("lost reply", "begin") else 0
    assert len(bucket.uploads()) == left


def test_codes(archive, tmp_path, capsys):
    with serving(archive.read_bytes()) as server, proxying(server.url) as proxy:
        url = f"{proxy.url}/cells.ozx"
        proxy.choose = lambda method, path, number: Fault("status", 403)
        assert run(["extract", url, str(tmp_path / "a.ozx")]) == 4
        proxy.choose = lambda method, path, number: Fault.change(ETag=f'"{number}"')
        assert run(["extract", url, str(tmp_path / "a.ozx"), "--levels", "0:1"]) == 1
        assert "changed while it was read" in capsys.readouterr().err
        proxy.choose = lambda method, path, number: Fault("stall", seconds=3)
        assert run(["info", url, "--timeout", "0.3"]) == 4
        assert "the time limit of 0.3 s has passed" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []

"""The finished file of a stream is sent to an object store, and stays."""

import json

import numpy as np
import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from click.testing import CliRunner

import ozx
from ozx.cli.stream import command
from ozx.cloud.s3 import S3Object
from ozx.errors import ResourceError, UsageError

PIXELS = np.random.default_rng(4).integers(0, 4000, (3, 64, 64)).astype("uint16")


def write(path, url, **words):
    frames = ozx.stream(path, axes="tyx", shape=(None, 64, 64), dtype="uint16", upload_to=url, **words)
    with frames:
        for frame in PIXELS:
            frames.append(frame)
    return frames


@pytest.mark.ci
def test_the_object_is_the_file(bucket, tmp_path):  # noqa: F811
    url = f"{bucket.url}/a/b%20c.ozx"
    frames = write(tmp_path / "a.ozx", url)
    assert frames.result.uploaded == frames.close().uploaded == url
    assert bucket.keys() == ["a/b c.ozx"]
    assert bucket.get("a/b c.ozx") == (tmp_path / "a.ozx").read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        write(tmp_path / "b.ozx", url)
    assert not list(tmp_path.glob("b.*"))
    write(tmp_path / "a.ozx", url, force=True)
    assert bucket.get("a/b c.ozx") == (tmp_path / "a.ozx").read_bytes()


def test_nothing_is_sent_after_an_exception(bucket, tmp_path):  # noqa: F811
    frames = ozx.stream(tmp_path / "a.ozx", axes="yx", shape=(64, 64), dtype="uint16", upload_to=f"{bucket.url}/a.ozx")
    with pytest.raises(ZeroDivisionError), frames:
        frames.append(PIXELS[0])
        1 / 0  # noqa: B018
    assert bucket.keys() == []


def test_a_failed_upload_leaves_the_file(bucket, tmp_path, monkeypatch):  # noqa: F811
    path, url = tmp_path / "a.ozx", f"{bucket.url}/a.ozx"

    def fail(*_, **__):
        raise ResourceError("cannot write: the server answered 503", hint="Try again later.")

    with pytest.raises(ResourceError, match="503") as caught, monkeypatch.context() as failing:
        failing.setattr(S3Object, "put", fail)
        write(path, url)
    assert caught.value.hint == f"Try again later. {path} is complete; to upload it: ozx repack {path} {url}"
    np.testing.assert_array_equal(ozx.open(path)["0"][...], PIXELS)
    assert bucket.keys() == bucket.uploads() == []
    ozx.repack(path, url)
    np.testing.assert_array_equal(ozx.open(url)["0"][...], PIXELS)


def test_the_command(bucket, tmp_path):  # noqa: F811
    arguments = ["--stdin", "--axes", "tyx", "--shape", "n,64,64", "--dtype", "uint16"]
    url = f"{bucket.url}/a.ozx"
    answer = CliRunner().invoke(
        command, [str(tmp_path / "a.ozx"), *arguments, "--upload-to", url], PIXELS.tobytes(), standalone_mode=False
    )
    assert f"sent to {url}" in answer.output
    again = [str(tmp_path / "b.ozx"), *arguments, "--upload-to", f"{bucket.url}/b.ozx", "--json"]
    answer = CliRunner().invoke(command, again, PIXELS.tobytes(), standalone_mode=False)
    assert json.loads(answer.stdout)["uploaded"] == f"{bucket.url}/b.ozx"
    assert bucket.keys() == ["a.ozx", "b.ozx"]

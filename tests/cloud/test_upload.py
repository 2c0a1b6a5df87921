"""One object in parts: whole or not at all, no other replaced, nothing left on the server."""

import os
import random
import socket
import subprocess
import sys

import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from hierarchies import FIXTURES

import ozx
from ozx.cloud import upload as upload_module
from ozx.cloud.upload import Upload, part_size_for
from ozx.errors import FormatError, ResourceError, UsageError

MIB = 1 << 20
PART = 5 * MIB  # the least that servers take
NOISE = random.Random(1).randbytes(12 * MIB)


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch):
    monkeypatch.setattr(upload_module, "_USUAL_PART", PART)


def test_parts_fit_into_their_number():
    for size in (0, 10**9, 10**11, 10**12, 5 * 10**12):
        part = part_size_for(size)
        assert 5 * MIB <= part <= 5 * 1024 * MIB
        assert size / part <= 9_000


def test_a_held_part_waits_and_the_others_do_not(bucket):  # noqa: F811
    upload = Upload(f"{bucket.url}/a.ozx")
    upload.hold(PART - 10, 30)  # on both sides of a boundary
    upload.write_at(0, NOISE)
    upload._wait(0)
    assert sorted(upload._buffers) == [0, 1, 2]
    upload.release()
    upload._wait(0)
    assert sorted(upload._buffers) == [2]
    with pytest.raises(ValueError, match="part 0 was sent already"):
        upload.write_at(0, b"late")
    upload.abort()
    upload = Upload(f"{bucket.url}/a.ozx")
    upload.hold(10, 4)
    upload.write_at(0, NOISE)
    upload._wait(0)
    assert sorted(upload._buffers) == [0, 2]
    upload.write_at(10, b"head")
    upload.release()
    upload.finish()
    assert bucket.get("a.ozx") == NOISE[:10] + b"head" + NOISE[14:]


class TestAtomic:
    def test_an_existing_object_stays(self, bucket):  # noqa: F811
        bucket.put("a.ozx", b"old")
        with pytest.raises(UsageError, match="the object exists already"):
            Upload(f"{bucket.url}/a.ozx")
        upload = Upload(f"{bucket.url}/a.ozx", force=True)
        upload.write_at(0, b"new")
        upload.finish()
        assert bucket.get("a.ozx") == b"new"

    @pytest.mark.parametrize("size", [10, 12 * MIB])
    def test_an_object_that_another_program_makes_meanwhile_stays(self, bucket, size):  # noqa: F811
        upload = Upload(f"{bucket.url}/a.ozx")
        upload.write_at(0, NOISE[:size])
        bucket.put("a.ozx", b"theirs")
        with pytest.raises((UsageError, ResourceError), match=r"exists already|wrote the same object"):
            upload.finish()
        upload.abort()
        assert bucket.get("a.ozx") == b"theirs"

    @pytest.mark.parametrize("size", [10, 12 * MIB])
    def test_another_program_replaces_the_object_at_the_same_time(self, bucket, size):  # noqa: F811
        upload = Upload(f"{bucket.url}/a.ozx", force=True)
        upload.write_at(0, NOISE[:size])
        client, theirs = upload._client, NOISE[:size][::-1]
        find = client.find

        def replaced():
            bucket.put("a.ozx", theirs)
            return find()

        client.find = replaced
        with pytest.raises(FormatError, match="another program wrote this object at the same time") as caught:
            upload.finish()
        assert caught.value.rule == "zip/changed"
        upload.abort()
        assert bucket.get("a.ozx") == theirs

    @pytest.mark.parametrize("size", [10, 12 * MIB])
    def test_a_lost_reply_is_no_failure(self, bucket, size):  # noqa: F811
        upload = Upload(f"{bucket.url}/a.ozx")
        upload.write_at(0, NOISE[:size])
        client = upload._client

        def losing(call):
            def lose(*arguments, **options):
                call(*arguments, **options)
                raise ResourceError("cannot reach the server")

            return lose

        client.put, client.complete = losing(client.put), losing(client.complete)
        assert upload.finish() == size
        assert bucket.get("a.ozx") == NOISE[:size]

    def test_an_abort_leaves_nothing(self, bucket):  # noqa: F811
        upload = Upload(f"{bucket.url}/a.ozx")
        upload.write_at(0, NOISE)
        upload._wait(0)
        assert len(bucket.uploads()) == 1
        upload.abort()
        assert bucket.keys() == []
        assert bucket.uploads() == []
        upload = Upload(f"{bucket.url}/a.ozx")
        upload.write_at(0, NOISE)
        upload.finish()
        assert bucket.get("a.ozx") == NOISE
        assert bucket.uploads() == []

    def test_an_upload_that_the_server_has_ended_is_aborted(self, bucket):  # noqa: F811
        upload = Upload(f"{bucket.url}/a.ozx")
        upload.write_at(0, NOISE)
        upload._wait(0)
        bucket.client.abort_multipart_upload(Bucket=bucket.name, Key="a.ozx", UploadId=bucket.uploads()[0])
        upload.abort()
        assert bucket.keys() == bucket.uploads() == []

    def test_too_many_parts(self, bucket, monkeypatch):  # noqa: F811
        monkeypatch.setattr(upload_module, "_MOST_PARTS", 2)
        upload = Upload(f"{bucket.url}/a.ozx")
        with pytest.raises(ResourceError, match=r"expected at most 10,485,760 bytes"):
            upload.write_at(0, NOISE)
            upload.write_at(len(NOISE), NOISE)
        upload.abort()
        assert bucket.uploads() == []


class TestRefusals:
    def test_no_such_bucket(self, bucket):  # noqa: F811
        with pytest.raises(ResourceError, match="the bucket does not exist"):
            Upload("s3://none-of-these/a.ozx")
        upload = Upload("s3://none-of-these/a.ozx", force=True)
        upload.write_at(0, b"x")
        with pytest.raises(ResourceError, match="the bucket does not exist"):
            upload.finish()

    @pytest.mark.parametrize("key", ["", "folder/"])
    def test_no_name(self, bucket, key):  # noqa: F811
        with pytest.raises(UsageError, match="expected the URL of an object"):
            Upload(f"{bucket.url}/{key}")

    def test_a_query(self, bucket):  # noqa: F811
        with pytest.raises(UsageError, match=r"without \? and #") as caught:
            Upload(f"{bucket.url}/a.ozx?SECRET")
        assert "SECRET" not in str(caught.value)

    def test_no_server(self, bucket, monkeypatch):  # noqa: F811
        """The error names the refused connection, not the time limit, which leaves no time for another attempt."""
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9/x")
        with ozx.storage_options(timeout=5), pytest.raises(ResourceError, match="cannot reach the server") as caught:
            Upload(f"{bucket.url}/a.ozx")
        assert caught.value.path == f"{bucket.url}/a.ozx"

    def test_a_silent_server(self, bucket):  # noqa: F811
        """The limit ends a process, too, in which a thread still waits."""
        pack = f"ozx.pack({os.fspath(FIXTURES / 'image.ome.zarr')!r}, {bucket.url + '/a.ozx'!r})"
        command = [sys.executable, "-c", f"import ozx\nwith ozx.storage_options(timeout=1):\n    {pack}"]
        with socket.create_server(("127.0.0.1", 0)) as server:  # accepts connections and never answers
            endpoint = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.getsockname()[1]}/x"}
            ended = subprocess.run(command, env=os.environ | endpoint, stderr=subprocess.PIPE, timeout=60, check=False)
        assert f"{bucket.url}/a.ozx: the time limit of 1 s has passed" in ended.stderr.decode()

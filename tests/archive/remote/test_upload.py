"""One object in parts: whole or not at all, no other replaced, nothing left on the server."""

import os
import random
import socket
import subprocess
import sys

import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from hierarchies import FIXTURES
from object_stores import azure_endpoint, container, gcs_bucket, gcs_endpoint  # noqa: F401 (fixtures)

import ozx
from ozx.archive.remote import upload_writer
from ozx.archive.remote.outputs.opening import open_object
from ozx.archive.remote.outputs.s3 import S3Object
from ozx.archive.remote.upload import Upload, part_size_for
from ozx.archive.remote.upload_writer import UploadWriter
from ozx.archive.writer import ArchiveWriter
from ozx.errors import FormatError, ResourceError, UsageError

MIB = 1 << 20
PART = 5 * MIB  # the least that servers take
NOISE = random.Random(1).randbytes(12 * MIB)
ENDPOINTS = ("AWS_ENDPOINT_URL", "AZURE_STORAGE_ENDPOINT", "GOOGLE_BASE_URL")


@pytest.fixture(params=["bucket", "container", "gcs_bucket"])
def store(request):
    """A bucket or container of each kind of store."""
    return request.getfixturevalue(request.param)


def test_parts_fit_into_their_number():
    for size in (0, 10**9, 10**11, 10**12, 5 * 10**12):
        part = part_size_for(size)
        assert 5 * MIB <= part <= 5 * 1024 * MIB
        assert size / part <= 9_000
    assert part_size_for(100 * 10**12, 50_000) >> 20 == 2385
    assert part_size_for(10**12, None) >> 20 == 16


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 12 * MIB])
def test_bytes_arrive_in_order(store, size):
    upload = Upload(f"{store.url}/a/b%20c.ozx", part_size=PART)
    for start in range(0, size, 700_001):
        upload.write_at(start, NOISE[start : min(size, start + 700_001)])
    assert store.keys() == []
    assert upload.finish() == size
    assert store.get("a/b c.ozx") == NOISE[:size]
    assert store.keys() == ["a/b c.ozx"]
    assert len(store.metadata("a/b c.ozx")["ozxupload"]) == 32
    assert store.uploads() == []


def test_a_held_part_waits_and_the_others_do_not(store):
    upload = Upload(f"{store.url}/a.ozx", part_size=PART)
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
    upload = Upload(f"{store.url}/a.ozx", part_size=PART)
    upload.hold(10, 4)
    upload.write_at(0, NOISE)
    upload._wait(0)
    assert sorted(upload._buffers) == ([0, 1, 2] if upload.is_in_order else [0, 2])
    upload.write_at(10, b"head")
    upload.release()
    upload.finish()
    assert store.get("a.ozx") == NOISE[:10] + b"head" + NOISE[14:]


@pytest.mark.parametrize("most_held", [64 * MIB, MIB])
def test_the_archive_is_the_same_as_a_local_one(store, tmp_path, monkeypatch, most_held):
    monkeypatch.setattr(upload_writer, "_MOST_HELD", most_held)

    def write(writer):
        writer.add("zarr.json", b"{}")
        writer.add_blocks("c/0", 12 * MIB, (NOISE[start : start + MIB] for start in range(0, 12 * MIB, MIB)))
        writer.add_blocks("c/1", 3, iter([b"abc"]))
        return writer.finish(b"comment")

    with open(tmp_path / "local.zip", "wb") as file:
        write(ArchiveWriter(file.fileno()))
    upload = Upload(f"{store.url}/a.ozx", part_size=PART)
    size = write(UploadWriter(upload))
    assert upload.finish() == size
    assert store.get("a.ozx") == (tmp_path / "local.zip").read_bytes()


def test_a_large_value_of_another_length_is_refused(gcs_bucket, monkeypatch):  # noqa: F811
    monkeypatch.setattr(upload_writer, "_MOST_HELD", 10)
    upload = Upload(f"{gcs_bucket.url}/a.ozx")
    with pytest.raises(FormatError, match="expected 20 bytes, got 3"):
        UploadWriter(upload).add_blocks("c/0", 20, iter([b"abc"]))
    upload.abort()
    assert gcs_bucket.keys() == []


class TestAtomic:
    def test_an_existing_object_stays(self, store):
        store.put("a.ozx", b"old")
        with pytest.raises(UsageError, match="the object exists already"):
            Upload(f"{store.url}/a.ozx")
        upload = Upload(f"{store.url}/a.ozx", force=True)
        upload.write_at(0, b"new")
        upload.finish()
        assert store.get("a.ozx") == b"new"

    @pytest.mark.parametrize("size", [10, 12 * MIB])
    def test_an_object_that_another_program_makes_meanwhile_stays(self, store, size):
        if size > MIB and store.url.startswith("gs:"):
            return  # fake-gcs-server ignores the condition of resumable uploads: outputs/test_gcs.py has it
        upload = Upload(f"{store.url}/a.ozx", part_size=PART)
        upload.write_at(0, NOISE[:size])
        store.put("a.ozx", b"theirs")
        with pytest.raises((UsageError, ResourceError), match=r"exists already|wrote the same object"):
            upload.finish()
        upload.abort()
        assert store.get("a.ozx") == b"theirs"

    @pytest.mark.parametrize("size", [10, 12 * MIB])
    def test_another_program_replaces_the_object_at_the_same_time(self, store, size):
        upload = Upload(f"{store.url}/a.ozx", part_size=PART, force=True)
        upload.write_at(0, NOISE[:size])
        client, theirs = upload._client, NOISE[:size][::-1]
        find = client.find

        def replaced():
            store.put("a.ozx", theirs)
            return find()

        client.find = replaced
        with pytest.raises(FormatError, match="another program wrote this object at the same time") as caught:
            upload.finish()
        assert caught.value.rule == "zip/changed"
        upload.abort()
        assert store.get("a.ozx") == theirs

    @pytest.mark.parametrize("size", [10, 12 * MIB])
    def test_a_lost_reply_is_no_failure(self, store, size):
        upload = Upload(f"{store.url}/a.ozx", part_size=PART)
        upload.write_at(0, NOISE[:size])
        client = upload._client

        def losing(call):
            def lose(*arguments, **options):
                call(*arguments, **options)
                raise ResourceError("cannot reach the server")

            return lose

        client.put, client.complete = losing(client.put), losing(client.complete)
        assert upload.finish() == size
        assert store.get("a.ozx") == NOISE[:size]

    def test_an_abort_leaves_nothing(self, store):
        upload = Upload(f"{store.url}/a.ozx", part_size=PART)
        upload.write_at(0, NOISE)
        upload._wait(0)
        if store.url.startswith("s3:"):
            assert len(store.uploads()) == 1
        upload.abort()
        assert store.keys() == []
        # Azure discards blocks a week later.
        assert store.uploads() == (["a.ozx"] if store.url.startswith("az:") else [])
        upload = Upload(f"{store.url}/a.ozx", part_size=PART)
        upload.write_at(0, NOISE)
        upload.finish()
        assert store.get("a.ozx") == NOISE
        assert store.uploads() == []

    def test_too_many_parts(self, bucket, monkeypatch):  # noqa: F811
        monkeypatch.setattr(S3Object, "most_parts", 2)
        upload = Upload(f"{bucket.url}/a.ozx", part_size=PART)
        with pytest.raises(ResourceError, match=r"expected at most 10,485,760 bytes"):
            upload.write_at(0, NOISE)
            upload.write_at(len(NOISE), NOISE)
        upload.abort()
        assert bucket.uploads() == []


class TestRefusals:
    def test_no_such_bucket(self, store):
        scheme = store.url.partition("://")[0]
        with pytest.raises(ResourceError, match=r"the (bucket|container) does not exist"):
            Upload(f"{scheme}://none-of-these/a.ozx")
        upload = Upload(f"{scheme}://none-of-these/a.ozx", force=True)
        upload.write_at(0, b"x")
        with pytest.raises(ResourceError, match=r"the (bucket|container) does not exist"):
            upload.finish()

    @pytest.mark.parametrize("key", ["", "folder/"])
    def test_no_name(self, store, key):
        with pytest.raises(UsageError, match="expected the URL of an object"):
            Upload(f"{store.url}/{key}")

    def test_a_query(self, store):
        with pytest.raises(UsageError, match=r"without \? and #") as caught:
            Upload(f"{store.url}/a.ozx?SECRET")
        assert "SECRET" not in str(caught.value)

    def test_no_server(self, store, monkeypatch):
        """The error names the refused connection, not the time limit, which leaves no time for another attempt."""
        for name in ENDPOINTS:
            monkeypatch.setenv(name, "http://127.0.0.1:9/x")
        with ozx.storage_options(timeout=5), pytest.raises(ResourceError, match="cannot reach the server") as caught:
            Upload(f"{store.url}/a.ozx")
        assert caught.value.path == f"{store.url}/a.ozx"

    def test_a_silent_server(self, store):
        """The limit ends a process, too, in which a thread of the store's own package still waits."""
        pack = f"ozx.pack({os.fspath(FIXTURES / 'image.ome.zarr')!r}, {store.url + '/a.ozx'!r})"
        command = [sys.executable, "-c", f"import ozx\nwith ozx.storage_options(timeout=1):\n    {pack}"]
        with socket.create_server(("127.0.0.1", 0)) as server:  # accepts connections and never answers
            endpoints = dict.fromkeys(ENDPOINTS, f"http://127.0.0.1:{server.getsockname()[1]}/x")
            ended = subprocess.run(command, env=os.environ | endpoints, stderr=subprocess.PIPE, timeout=60, check=False)
        assert f"{store.url}/a.ozx: the time limit of 1 s has passed" in ended.stderr.decode()

    def test_a_wrong_key(self, container, monkeypatch):  # noqa: F811
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "SECRETSECRET")
        with pytest.raises(ResourceError, match="does not allow ozx to write") as caught:
            Upload(f"{container.url}/a.ozx")
        assert "SECRET" not in f"{caught.value!r} {caught.value.__context__!r}"


@pytest.mark.parametrize("size", [9, len(NOISE)])
def test_an_upload_within_its_time(store, size):
    with ozx.storage_options(timeout=60, cache=False):
        upload = Upload(f"{store.url}/a.ozx", part_size=PART)
        upload.write_at(0, NOISE[:size])
        upload.finish()
    assert store.get("a.ozx") == NOISE[:size]


def test_an_object_is_removed(store):
    store.put("a b", b"x")
    for _ in range(2):
        open_object(f"{store.url}/a%20b").remove()
    assert store.keys() == []

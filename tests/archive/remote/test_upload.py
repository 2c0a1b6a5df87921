"""One object in parts: whole or not at all, no other replaced, nothing left on the server."""

import os
import random

import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)

from ozx.archive.remote import upload as module
from ozx.archive.remote.upload import Upload, part_size_for
from ozx.archive.remote.upload_records import recorded_uploads, records_folder
from ozx.archive.remote.upload_writer import UploadWriter
from ozx.archive.writer import ArchiveWriter
from ozx.errors import ResourceError, UsageError

MIB = 1 << 20
PART = 5 * MIB  # the least that servers take
NOISE = random.Random(1).randbytes(12 * MIB)


def test_parts_fit_into_their_number():
    for size in (0, 10**9, 10**11, 10**12, 5 * 10**12):
        part = part_size_for(size)
        assert 5 * MIB <= part <= 5 * 1024 * MIB
        assert size / part <= 9_000


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 12 * MIB])
def test_bytes_arrive_in_order(bucket, size):  # noqa: F811
    upload = Upload(f"{bucket.url}/a/b c.ozx".replace(" ", "%20"), part_size=PART)
    for start in range(0, size, 700_001):
        upload.write_at(start, NOISE[start : min(size, start + 700_001)])
    assert bucket.keys() == []
    assert upload.finish() == size
    assert bucket.get("a/b c.ozx") == NOISE[:size]
    assert bucket.uploads() == list(recorded_uploads()) == []


def test_a_held_part_waits_and_the_others_do_not(bucket):  # noqa: F811
    upload = Upload(f"{bucket.url}/a.ozx", part_size=PART)
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
    upload = Upload(f"{bucket.url}/a.ozx", part_size=PART)
    upload.hold(10, 4)
    upload.write_at(0, NOISE)
    upload.write_at(10, b"head")
    upload.release()
    upload.finish()
    assert bucket.get("a.ozx") == NOISE[:10] + b"head" + NOISE[14:]


def test_the_archive_is_the_same_as_a_local_one(bucket, tmp_path):  # noqa: F811
    def write(writer):
        writer.add("zarr.json", b"{}")
        writer.add_blocks("c/0", 12 * MIB, (NOISE[start : start + MIB] for start in range(0, 12 * MIB, MIB)))
        writer.add_blocks("c/1", 3, iter([b"abc"]))
        return writer.finish(b"comment")

    with open(tmp_path / "local.zip", "wb") as file:
        write(ArchiveWriter(file.fileno()))
    upload = Upload(f"{bucket.url}/a.ozx", part_size=PART)
    size = write(UploadWriter(upload))
    assert upload.finish() == size
    assert bucket.get("a.ozx") == (tmp_path / "local.zip").read_bytes()


class TestAtomic:
    def test_an_existing_object_stays(self, bucket):  # noqa: F811
        bucket.client.put_object(Bucket=bucket.name, Key="a.ozx", Body=b"old")
        with pytest.raises(UsageError, match="the object exists already"):
            Upload(f"{bucket.url}/a.ozx")
        upload = Upload(f"{bucket.url}/a.ozx", force=True)
        upload.write_at(0, b"new")
        upload.finish()
        assert bucket.get("a.ozx") == b"new"

    def test_an_object_that_another_program_makes_meanwhile_stays(self, bucket):  # noqa: F811
        upload = Upload(f"{bucket.url}/a.ozx", part_size=PART)
        upload.write_at(0, b"ours")
        bucket.client.put_object(Bucket=bucket.name, Key="a.ozx", Body=b"theirs")
        with pytest.raises(UsageError, match="the object exists already"):
            upload.finish()
        upload.abort()
        assert bucket.get("a.ozx") == b"theirs"

    @pytest.mark.parametrize("size", [10, 12 * MIB])
    def test_a_lost_reply_is_no_failure(self, bucket, size):  # noqa: F811
        from botocore.exceptions import EndpointConnectionError  # noqa: PLC0415 - may be absent

        upload = Upload(f"{bucket.url}/a.ozx", part_size=PART)
        upload.write_at(0, NOISE[:size])
        call = upload._call

        def lose(method, **arguments):
            answer = call(method, **arguments)
            if method in ("put_object", "complete_multipart_upload"):
                raise EndpointConnectionError(endpoint_url="http://somewhere")
            return answer

        upload._call = lose
        assert upload.finish() == size
        assert bucket.get("a.ozx") == NOISE[:size]
        assert list(recorded_uploads()) == []

    def test_an_abort_leaves_nothing(self, bucket):  # noqa: F811
        upload = Upload(f"{bucket.url}/a.ozx", part_size=PART)
        upload.write_at(0, NOISE)
        upload._wait(0)
        assert len(bucket.uploads()) == 1
        assert [found.is_live for found in recorded_uploads()] in ([True], [False])  # of this very process
        assert oct(os.stat(records_folder()).st_mode & 0o777) == "0o700"
        upload.abort()
        assert bucket.keys() == bucket.uploads() == list(recorded_uploads()) == []

    def test_too_many_parts(self, bucket, monkeypatch):  # noqa: F811
        monkeypatch.setattr(module, "_MOST_PARTS", 2)
        upload = Upload(f"{bucket.url}/a.ozx", part_size=PART)
        with pytest.raises(ResourceError, match=r"expected at most 10,485,760 bytes"):
            upload.write_at(0, NOISE)
            upload.write_at(len(NOISE), NOISE)
        upload.abort()
        assert bucket.uploads() == []


class TestRefusals:
    def test_no_such_bucket(self, bucket):  # noqa: F811
        with pytest.raises(ResourceError, match="the bucket does not exist"):
            Upload("s3://none-of-these/a.ozx")

    @pytest.mark.parametrize("key", ["", "folder/"])
    def test_no_name(self, bucket, key):  # noqa: F811
        with pytest.raises(UsageError, match="expected the URL of an object"):
            Upload(f"{bucket.url}/{key}")

    def test_no_server(self, bucket, monkeypatch):  # noqa: F811
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        with pytest.raises(ResourceError, match="cannot reach the server"):
            Upload(f"{bucket.url}/a.ozx")

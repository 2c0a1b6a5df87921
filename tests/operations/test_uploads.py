"""Outputs in a bucket: the same bytes as on the disk, whole or absent, and nothing left by failures and kills."""

import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import tifffile
from buckets import bucket, leftover, s3_endpoint, true_times  # noqa: F401 (fixtures)
from hierarchies import FIXTURES, make_image
from object_stores import azure_endpoint, container, gcs_bucket, gcs_endpoint  # noqa: F401 (fixtures)

import ozx
from ozx.archive.remote import upload as upload_module
from ozx.archive.remote.outputs.s3 import S3Object
from ozx.archive.remote.upload_records import UploadRecord, recorded_uploads
from ozx.cli.app import run
from ozx.errors import FormatError, ResourceError, UsageError
from ozx.operations import uploads as uploads_module
from ozx.operations.uploads import uploads

IMAGE = FIXTURES / "image.ome.zarr"
PART = 5 << 20


@pytest.fixture
def large(tmp_path):
    """An image of three parts of an upload."""
    chunk = np.random.default_rng(3).integers(0, 256, 8 << 20, "uint8").tobytes()
    return make_image(tmp_path / "large.ome.zarr", {"0/c/0/0": chunk, "0/c/0/1": chunk[: 5 << 20], "0/c/1/0": b"x"})


@pytest.fixture(params=["bucket", "container", "gcs_bucket"])
def store(request):
    """A bucket or container of each kind of store."""
    return request.getfixturevalue(request.param)


class TestOutputs:
    def test_pack(self, store):
        ozx.pack(IMAGE, "local.ozx")
        result = ozx.pack(IMAGE, f"{store.url}/a.ozx", verify=True, checksum="sha256", manifest=True)
        with open("local.ozx", "rb") as file:
            assert store.get("a.ozx") == file.read()
        assert result.verified
        assert store.keys() == ["a.ozx", "a.ozx.manifest.json", "a.ozx.sha256"]
        assert store.get("a.ozx.sha256").decode() == f"{result.sha256}  a.ozx\n"
        assert len(json.loads(store.get("a.ozx.manifest.json"))["values"]) == 71
        with pytest.raises(UsageError, match="exists already"):
            ozx.pack(IMAGE, f"{store.url}/a.ozx")
        assert ozx.pack(IMAGE, f"{store.url}/a.ozx", resume=True, checksum="sha256").status == "skipped"
        with pytest.raises(UsageError, match="not removed after an upload"):
            ozx.pack(IMAGE, f"{store.url}/b.ozx", remove_source=True)

    def test_several_parts(self, store, large, monkeypatch):
        monkeypatch.setattr(upload_module, "_USUAL_PART", PART)
        ozx.pack(large, "local.ozx")
        ozx.pack(large, f"{store.url}/a.ozx", verify=True)
        with open("local.ozx", "rb") as file:
            assert store.get("a.ozx") == file.read()

    def test_repack_and_extract(self, bucket):  # noqa: F811
        ozx.pack(FIXTURES / "plate.ome.zarr", f"{bucket.url}/plate.ozx")
        ozx.repack(f"{bucket.url}/plate.ozx", f"{bucket.url}/sharded.ozx", shards="auto", verify=True)
        ozx.extract(f"{bucket.url}/plate.ozx", f"{bucket.url}/well.ozx", node="B/2")
        for name in ("sharded", "well"):
            assert ozx.validate(f"{bucket.url}/{name}.ozx", level="data").valid

    def test_new_images(self, bucket, tmp_path, monkeypatch):  # noqa: F811
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        pixels = np.arange(4096, dtype="uint16").reshape(64, 64)
        ozx.write_image(f"{bucket.url}/made.ozx", pixels)
        assert (ozx.open(f"{bucket.url}/made.ozx")["0"][:] == pixels).all()
        ozx.export(f"{bucket.url}/made.ozx", "made.ome.tif")
        ozx.import_tiff("made.ome.tif", f"{bucket.url}/imported.ozx", thumbnail=True)
        assert (ozx.open(f"{bucket.url}/imported.ozx")["0"][:] == pixels).all()
        assert ozx.validate(f"{bucket.url}/imported.ozx").valid
        assert not [name for name in os.listdir(tmp_path) if name.startswith("ozx-upload")]

    def test_a_batch(self, bucket, capsys):  # noqa: F811
        sources = [str(FIXTURES / f"{name}.ome.zarr") for name in ("image", "plate")]
        assert run(["pack", *sources, "missing.ome.zarr", "--out-dir", f"{bucket.url}/packed", "--jobs", "2"]) == 3
        assert bucket.keys() == ["packed/image.ozx", "packed/plate.ozx"]
        assert "2 packed" in capsys.readouterr().err

    @pytest.mark.ci
    def test_a_thumbnail_and_a_tiff(self, store, capsys):
        for ending, verb in (("png", ozx.thumbnail), ("ome.tif", ozx.export)):
            verb(IMAGE, f"local.{ending}")
            verb(IMAGE, f"{store.url}/a/b.{ending}")
            with open(f"local.{ending}", "rb") as file:
                local = file.read()
            assert store.get(f"a/b.{ending}") == local or ending == "ome.tif"
            assert len(store.get(f"a/b.{ending}")) == len(local)
            with pytest.raises(UsageError, match="exists already"):
                verb(IMAGE, f"{store.url}/a/b.{ending}")
            verb(IMAGE, f"{store.url}/a/b.{ending}", force=True)
        with tifffile.TiffFile(io.BytesIO(store.get("a/b.ome.tif"))) as tiff:
            assert tiff.is_ome
        assert not [name for name in os.listdir() if not name.startswith("local")]
        assert run(["thumbnail", str(IMAGE), str(FIXTURES / "plate.ome.zarr"), "--out-dir", f"{store.url}/a b"]) == 0
        assert store.keys() == ["a b/image.png", "a b/plate.png", "a/b.ome.tif", "a/b.png"]
        assert run(["recover", "a.ozx", "--out-dir", store.url]) == 2
        assert "found a URL" in capsys.readouterr().err

    @pytest.mark.parametrize("url", ["https://example.org/a.ozx", "hdfs://host/a.ozx"])
    def test_other_servers(self, url):
        with pytest.raises(UsageError, match="gs:// or az:// URL; found a URL that ozx only reads"):
            ozx.pack(IMAGE, url)

    def test_a_folder_for_an_object(self, bucket):  # noqa: F811
        with pytest.raises(UsageError):
            ozx.repack(IMAGE, f"{bucket.url}/a.ome.zarr")


def test_a_damaged_source_leaves_nothing(bucket, large, monkeypatch):  # noqa: F811
    monkeypatch.setattr(upload_module, "_USUAL_PART", PART)
    ozx.pack(large, "local.ozx")
    with open("local.ozx", "r+b") as file:
        file.seek(12 << 20)
        file.write(b"damage")
    with pytest.raises(FormatError):
        ozx.repack("local.ozx", f"{bucket.url}/a.ozx")
    assert bucket.keys() == bucket.uploads() == []


class TestUnfinished:
    """Uploads that the server discards itself."""

    def test_azure_lists_them(self, container, capsys):  # noqa: F811
        container.put("empty", b"")
        container.client.get_blob_client("a/b.ozx").stage_block("0000", b"x")
        (found,) = uploads(container.url).uploads
        assert (found.url, found.upload_id, found.state) == (f"{container.url}/a/b.ozx", "", "other")
        assert run(["uploads", f"{container.url}/a", "--older-than", "0m"]) == 0
        told = capsys.readouterr()
        assert "1 unfinished uploads\n" in told.out
        assert "Azure discards unfinished uploads a week after" in told.err
        assert run(["uploads", f"{container.url}/none", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["uploads"] == []

    def test_google_lists_none(self, capsys):
        assert run(["uploads", "gs://bucket"]) == 0
        assert "and discards them after a week" in capsys.readouterr().err
        with pytest.raises(UsageError, match="ozx cannot abort uploads to other stores"):
            uploads("gs://bucket", abort="x")


@pytest.mark.posix("Windows has no locks that show whether a run lives")
class TestLeftovers:
    @pytest.mark.parametrize("by", ["name", "age"])
    def test_another_run_continues_it_meanwhile(self, bucket, leftover, monkeypatch, by):  # noqa: F811
        claims = []

        def read_then_claimed():
            for found in list(recorded_uploads()):
                claims.append(UploadRecord.claim(found))
                yield found

        monkeypatch.setattr(uploads_module, "recorded_uploads", read_then_claimed)
        if by == "name":
            with pytest.raises(UsageError, match="found an upload whose state is live"):
                uploads(bucket.url, abort=leftover)
        else:
            (found,) = uploads(bucket.url, older_than=0).uploads
            assert (found.state, found.ended) == ("live", False)
        assert bucket.uploads() == [leftover]
        assert [found.is_live for found in recorded_uploads()] == [True]
        claims[0].close()

    def test_a_refusal_keeps_the_record(self, bucket, leftover, monkeypatch):  # noqa: F811
        def refuse(self, upload_id):
            raise ResourceError("the server does not allow ozx to write")

        with monkeypatch.context() as patched:
            patched.setattr(S3Object, "end", refuse)
            with pytest.raises(ResourceError, match="not allow"):
                uploads(bucket.url, abort=leftover)
        assert [(found.upload_id, found.is_live) for found in recorded_uploads()] == [(leftover, False)]
        assert uploads(bucket.url, abort=leftover).uploads[0].ended
        assert bucket.uploads() == list(recorded_uploads()) == []


PROGRAM = """
import sys, time
import ozx
from ozx.archive.remote import upload

upload._USUAL_PART = 5 << 20
send = upload.Upload._send_part

def slowly(self, number, buffer, size):
    send(self, number, buffer, size)
    sys.stdout.write("sent\\n")
    sys.stdout.flush()
    time.sleep(float(sys.argv[3]) if number else 0)

upload.Upload._send_part = slowly
from ozx.cli.app import run
sys.exit(run(["pack", sys.argv[1], sys.argv[2]]))
"""


@pytest.mark.ci
@pytest.mark.posix("signals of POSIX systems")
class TestKills:
    def start(self, large, url, seconds=60):
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(large), url, str(seconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert program.stdout.readline() == "sent\n"
        return program

    def test_the_next_run_ends_the_upload_of_a_killed_one(self, bucket, large):  # noqa: F811
        url = f"{bucket.url}/a.ozx"
        program = self.start(large, url)
        assert [upload.state for upload in uploads(bucket.url).uploads] == ["live"]
        with pytest.raises(UsageError, match="whose state is live"):
            uploads(bucket.url, abort=bucket.uploads()[0])
        program.kill()
        program.communicate()
        assert bucket.keys() == []
        assert [upload.state for upload in uploads(bucket.url).uploads] == ["dead"]
        ozx.pack(large, url)
        assert bucket.uploads() == []
        assert bucket.keys() == ["a.ozx"]

    def test_the_command_ends_it(self, bucket, large, capsys):  # noqa: F811
        program = self.start(large, f"{bucket.url}/a.ozx")
        program.kill()
        program.communicate()
        other = bucket.client.create_multipart_upload(Bucket=bucket.name, Key="of-another")["UploadId"]
        assert run(["uploads", bucket.url, "--older-than", "1d"]) == 0
        assert "2 unfinished uploads\n" in capsys.readouterr().out
        assert run(["uploads", bucket.url, "--older-than", "0m", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)["uploads"]
        assert {(each["state"], each["ended"]) for each in answer} == {("dead", True), ("other", False)}
        assert bucket.uploads() == [other]
        assert run(["uploads", bucket.url, "--abort", other]) == 2
        assert bucket.uploads() == [other]

    def test_an_interrupt_ends_its_own(self, bucket, large):  # noqa: F811
        program = self.start(large, f"{bucket.url}/a.ozx", seconds=1)
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=30)
        assert program.returncode == 130
        assert "interrupted" in err
        assert bucket.keys() == bucket.uploads() == []


KILLED_WHILE_IT_BEGINS = """
import os, signal, sys
from ozx.archive.remote import upload, upload_records

upload._USUAL_PART = 5 << 20
upload_records.UploadRecord.begin = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from ozx.cli.app import run
sys.exit(run(["pack", sys.argv[1], sys.argv[2]]))
"""


@pytest.mark.posix("signals of POSIX systems")
@pytest.mark.usefixtures("true_times")
def test_an_upload_without_a_name_on_record(bucket, large, capsys, monkeypatch):  # noqa: F811
    """A kill between the server's answer and its record: probably ours, and ended only when the user says so."""
    url = f"{bucket.url}/day%201/a.ozx"
    program = subprocess.run([sys.executable, "-c", KILLED_WHILE_IT_BEGINS, str(large), url], check=False)
    assert program.returncode == -signal.SIGKILL
    other = bucket.client.create_multipart_upload(Bucket=bucket.name, Key="of-another")["UploadId"]
    assert run(["uploads", bucket.url, "--older-than", "0m"]) == 0
    assert "old, probably of a killed run (-c " in capsys.readouterr().out
    ozx.pack(large, url)  # neither ends it nor is disturbed
    found = {upload.state: upload for upload in uploads(bucket.url).uploads}
    assert sorted(found) == ["other", "unsure"]
    assert [record.upload_id for record in recorded_uploads()] == [""]
    (ended,) = uploads(f"{bucket.url}/day 1", abort=found["unsure"].upload_id).uploads
    assert ended.ended
    assert bucket.uploads() == [other]
    monkeypatch.setattr(uploads_module, "_CLOCKS", 0)
    assert [upload.state for upload in uploads(bucket.url).uploads] == ["other"]
    assert list(recorded_uploads()) == []

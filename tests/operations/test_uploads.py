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
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from hierarchies import FIXTURES, make_image

import ozx
from ozx.cli.app import run
from ozx.errors import UsageError

IMAGE = FIXTURES / "image.ome.zarr"


@pytest.fixture
def large(tmp_path):
    """An image of three parts of an upload."""
    chunk = np.random.default_rng(3).integers(0, 256, 8 << 20, "uint8").tobytes()
    return make_image(tmp_path / "large.ome.zarr", {"0/c/0/0": chunk, "0/c/0/1": chunk[: 5 << 20], "0/c/1/0": b"x"})


class TestOutputs:
    def test_pack(self, bucket):  # noqa: F811
        ozx.pack(IMAGE, "local.ozx")
        result = ozx.pack(IMAGE, f"{bucket.url}/a.ozx", verify=True, checksum="sha256", manifest=True)
        with open("local.ozx", "rb") as file:
            assert bucket.get("a.ozx") == file.read()
        assert result.verified
        assert bucket.keys() == ["a.ozx", "a.ozx.manifest.json", "a.ozx.sha256"]
        assert bucket.get("a.ozx.sha256").decode() == f"{result.sha256}  a.ozx\n"
        assert len(json.loads(bucket.get("a.ozx.manifest.json"))["values"]) == 71
        with pytest.raises(UsageError, match="exists already"):
            ozx.pack(IMAGE, f"{bucket.url}/a.ozx")
        assert ozx.pack(IMAGE, f"{bucket.url}/a.ozx", resume=True, checksum="sha256").status == "skipped"
        with pytest.raises(UsageError, match="not removed after an upload"):
            ozx.pack(IMAGE, f"{bucket.url}/b.ozx", remove_source=True)

    def test_new_images(self, bucket, tmp_path, monkeypatch):  # noqa: F811
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        pixels = np.arange(4096, dtype="uint16").reshape(64, 64)
        ozx.write_image(f"{bucket.url}/made.ozx", pixels)
        assert (ozx.open(f"{bucket.url}/made.ozx")["0"][:] == pixels).all()
        ozx.export(f"{bucket.url}/made.ozx", "made.ome.tif")
        ozx.import_image("made.ome.tif", f"{bucket.url}/imported.ozx", thumbnail=True)
        assert (ozx.open(f"{bucket.url}/imported.ozx")["0"][:] == pixels).all()
        assert ozx.validate(f"{bucket.url}/imported.ozx").valid
        assert not [name for name in os.listdir(tmp_path) if name.startswith("ozx-upload")]

    def test_resuming_an_import_looks_at_the_object(self, bucket):  # noqa: F811
        for name, width in (("a", 64), ("b", 65)):
            tifffile.imwrite(f"{name}.tif", np.zeros((64, width), "uint16"))
        url = f"{bucket.url}/a.ozx"
        assert ozx.import_image("a.tif", url, resume=True).status == "imported"
        again = ozx.import_image("a.tif", url, resume=True, name="other")
        assert again.status == "skipped"
        assert f"ozx edit {url}" in again.notes[-1]
        with pytest.raises(UsageError, match="does not have the images"):
            ozx.import_image("b.tif", url, resume=True)

    @pytest.mark.ci
    def test_a_thumbnail_and_a_tiff(self, bucket, capsys):  # noqa: F811
        for ending, verb in (("png", ozx.thumbnail), ("ome.tif", ozx.export)):
            verb(IMAGE, f"local.{ending}")
            verb(IMAGE, f"{bucket.url}/a/b.{ending}")
            with open(f"local.{ending}", "rb") as file:
                local = file.read()
            assert bucket.get(f"a/b.{ending}") == local or ending == "ome.tif"
            assert len(bucket.get(f"a/b.{ending}")) == len(local)
            with pytest.raises(UsageError, match="exists already"):
                verb(IMAGE, f"{bucket.url}/a/b.{ending}")
            verb(IMAGE, f"{bucket.url}/a/b.{ending}", force=True)
        with tifffile.TiffFile(io.BytesIO(bucket.get("a/b.ome.tif"))) as tiff:
            assert tiff.is_ome
        assert not [name for name in os.listdir() if not name.startswith("local")]
        assert run(["thumbnail", str(IMAGE), str(FIXTURES / "plate.ome.zarr"), "--out-dir", f"{bucket.url}/a b"]) == 0
        assert bucket.keys() == ["a b/image.png", "a b/plate.png", "a/b.ome.tif", "a/b.png"]
        assert run(["recover", "a.ozx", "--out-dir", bucket.url]) == 2
        assert "found a URL" in capsys.readouterr().err


PROGRAM = """
import sys, time
import ozx
from ozx.cloud import upload

upload._USUAL_PART = 5 << 20
send = upload.Upload._send_part

def slowly(self, number, buffer):
    send(self, number, buffer)
    sys.stdout.write("sent\\n")
    sys.stdout.flush()
    time.sleep(1 if number else 0)

upload.Upload._send_part = slowly
from ozx.cli.app import run
sys.exit(run(["pack", sys.argv[1], sys.argv[2]]))
"""


@pytest.mark.ci
@pytest.mark.posix("signals of POSIX systems")
def test_an_interrupt_aborts_the_upload(bucket, large):  # noqa: F811
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(large), f"{bucket.url}/a.ozx"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout.readline() == "sent\n"
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=30)
    assert program.returncode == 130
    assert "interrupted" in err
    assert bucket.keys() == bucket.uploads() == []

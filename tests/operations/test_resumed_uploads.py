"""`pack --resume` continues the upload of a killed run: the same object, fewer parts sent, and nothing mixed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from fault_proxy import Fault, proxying
from hierarchies import make_image

import ozx
from ozx.archive.remote import upload as upload_module
from ozx.archive.remote.upload_records import recorded_uploads, records_folder
from ozx.cli.app import run
from ozx.errors import UsageError
from ozx.operations.uploads import uploads

pytestmark = [
    pytest.mark.posix("Windows has no locks that show whether a run lives"),
    pytest.mark.ci,
]

PART = 5 << 20
# Kills itself when so many parts are on the server; with "early", before the last of them is on record.
PROGRAM = """
import os, signal, sys, threading
from ozx.archive.remote import upload, upload_records

upload._USUAL_PART = 5 << 20
upload._THREADS = 1
count, is_early = int(sys.argv[3]), sys.argv[4] == "early"
add, sent = upload_records.UploadRecord.add_part, []

def add_part(self, number, part):
    sent.append(number)
    if is_early and len(sent) == count:
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, number, part)
    if len(sent) == count:
        os.kill(os.getpid(), signal.SIGKILL)

upload_records.UploadRecord.add_part = add_part
from ozx.cli.app import run
sys.exit(run(["pack", sys.argv[1], sys.argv[2]]))
"""


def kill_after(count, source, url, when="late"):
    """Run `pack` until so many parts are sent."""
    words = [sys.executable, "-c", PROGRAM, source, url, str(count), when]
    done = subprocess.run(words, check=False, capture_output=True)
    assert done.returncode == -9, done.stderr.decode()


@pytest.fixture
def image(bucket, monkeypatch):  # noqa: F811
    """An image of eight parts of an upload, and its archive `local.ozx`."""
    monkeypatch.setattr(upload_module, "_USUAL_PART", PART)
    content = np.random.default_rng(4).integers(0, 256, 37 << 20, "uint8").tobytes()
    chunks = {f"0/c/0/{number}": content[number * (9 << 20) : (number + 1) * (9 << 20)] for number in range(5)}
    image = make_image("image.ome.zarr", chunks)
    ozx.pack(image, "local.ozx")
    return Path(image)


@pytest.fixture
def packing(bucket, image, monkeypatch):  # noqa: F811
    """Pack again to `a.ozx`; return the result, and how many parts were sent."""

    def pack(**options):
        with proxying(bucket.endpoint) as proxy, monkeypatch.context() as patched:
            patched.setenv("AWS_ENDPOINT_URL", proxy.url)
            result = ozx.pack(image, f"{bucket.url}/a.ozx", **{"resume": True, **options})
            sent = [path for method, path, _ in proxy.requests if method == "PUT" and "partNumber" in path]
        assert bucket.get("a.ozx") == Path("local.ozx").read_bytes()
        assert bucket.uploads() == list(recorded_uploads()) == os.listdir(records_folder()) == []
        return result, len(sent)

    return pack


@pytest.mark.parametrize(("count", "when", "taken"), [(1, "early", 0), (1, "late", 1), (5, "late", 5), (7, "early", 6)])
def test_only_the_rest_is_sent(bucket, image, packing, count, when, taken):  # noqa: F811
    kill_after(count, image, f"{bucket.url}/a.ozx", when)
    (found,) = uploads(bucket.url).uploads
    assert found.state == "dead"
    result, sent = packing()
    assert sent == 8 - taken
    told = f"continued an upload to {bucket.url}/a.ozx: {taken} of 8 parts ({taken * PART:,} bytes) were already on"
    assert any(note.startswith(told) for note in result.notes) == (taken > 0)
    assert ozx.pack(image, f"{bucket.url}/a.ozx", resume=True).status == "skipped"


def test_the_command(bucket, image, capsys):  # noqa: F811
    kill_after(5, image, f"{bucket.url}/a.ozx")
    assert run(["pack", str(image), f"{bucket.url}/a.ozx", "--resume"]) == 0
    assert "5 of 8 parts (26,214,400 bytes) were already on the server" in capsys.readouterr().err
    assert bucket.get("a.ozx") == Path("local.ozx").read_bytes()


def test_killed_again_and_again(bucket, image, packing):  # noqa: F811
    program = PROGRAM.replace("sys.argv[2]])", 'sys.argv[2], "--resume"])')
    for _ in range(3):
        words = [sys.executable, "-c", program, image, f"{bucket.url}/a.ozx", "2", "late"]
        assert subprocess.run(words, check=False, capture_output=True).returncode == -9
    assert len(bucket.uploads()) == 1
    assert packing()[1] == 2


def test_without_the_option_it_begins_again(bucket, image, packing):  # noqa: F811
    kill_after(5, image, f"{bucket.url}/a.ozx")
    result, sent = packing(resume=False)
    assert sent == 8
    assert any("ended the unfinished upload" in note for note in result.notes)


def test_a_cut_or_damaged_record(bucket, image, packing):  # noqa: F811
    kill_after(5, image, f"{bucket.url}/a.ozx")
    (path,) = Path(records_folder()).glob("*.parts")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]) + lines[-2].replace(b" 5", b" 6") + lines[-1][:-1])
    assert packing()[1] == 8 - 3


def test_a_part_that_the_server_lost(bucket, image, packing):  # noqa: F811
    from moto.s3.models import s3_backends  # noqa: PLC0415 - may be absent

    kill_after(5, image, f"{bucket.url}/a.ozx")
    (upload,) = s3_backends["123456789012"]["aws"].buckets[bucket.name].multiparts.values()
    del upload.parts[2]
    upload.partlist.remove(2)
    assert packing()[1] == 4


def test_a_part_that_another_program_replaced(bucket, image, packing):  # noqa: F811
    kill_after(5, image, f"{bucket.url}/a.ozx")
    (name,) = bucket.uploads()
    other = {"Bucket": bucket.name, "Key": "a.ozx", "UploadId": name, "PartNumber": 3}
    bucket.client.upload_part(**other, Body=bytes(PART))
    assert packing()[1] == 4


def test_an_upload_that_the_server_ended(bucket, image, packing):  # noqa: F811
    kill_after(5, image, f"{bucket.url}/a.ozx")
    bucket.client.abort_multipart_upload(Bucket=bucket.name, Key="a.ozx", UploadId=bucket.uploads()[0])
    assert packing()[1] == 8


@pytest.mark.parametrize("change", ["bytes", "length"])
def test_a_changed_source_is_not_mixed(bucket, image, packing, change):  # noqa: F811
    kill_after(5, image, f"{bucket.url}/a.ozx")
    chunk = image / "0" / "c" / "0" / "1"  # from 9 to 18 MiB
    data = chunk.read_bytes()
    chunk.write_bytes(data[:-1] + b"?" if change == "bytes" else data[1:])
    ozx.pack(image, "local.ozx", force=True)
    # Another CRC-32 in the header, in the second part, and the last byte, in the fourth; or all from the second on.
    assert packing()[1] == (5 if change == "bytes" else 7)


def test_a_source_of_another_size_begins_again(bucket, image, packing, monkeypatch):  # noqa: F811
    kill_after(5, image, f"{bucket.url}/a.ozx")
    monkeypatch.setattr(upload_module, "_USUAL_PART", 2 * PART)
    assert packing()[1] == 4


def test_a_server_that_lists_no_parts(bucket, image, monkeypatch):  # noqa: F811
    kill_after(5, image, f"{bucket.url}/a.ozx")
    with proxying(bucket.endpoint) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        proxy.choose = lambda method, path, _: Fault.status(403) if method == "GET" and "uploadId" in path else None
        ozx.pack(image, f"{bucket.url}/a.ozx", resume=True)
    assert bucket.get("a.ozx") == Path("local.ozx").read_bytes()
    assert bucket.uploads() == list(recorded_uploads()) == []


def test_an_object_that_appeared_meanwhile_stays(bucket, image):  # noqa: F811
    kill_after(5, image, f"{bucket.url}/a.ozx")
    bucket.put("a.ozx", b"theirs")
    with pytest.raises(UsageError, match="not the complete copy"):
        ozx.pack(image, f"{bucket.url}/a.ozx", resume=True)
    assert bucket.get("a.ozx") == b"theirs"
    ozx.pack(image, f"{bucket.url}/a.ozx", resume=True, force=True)
    assert bucket.get("a.ozx") == Path("local.ozx").read_bytes()


def test_a_live_upload_is_left_alone(bucket, image):  # noqa: F811
    upload = upload_module.Upload(f"{bucket.url}/a.ozx", part_size=PART, resume=False)
    upload.write_at(0, Path("local.ozx").read_bytes()[: 2 * PART])
    upload._wait(0)
    other = upload_module.Upload(f"{bucket.url}/a.ozx", part_size=PART, resume=True)
    assert (other._has_begun, other.notes) == (False, [])
    other.abort()
    assert len(bucket.uploads()) == 1
    upload.abort()

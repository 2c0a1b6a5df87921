"""The memory of an upload does not depend on the length of its parts, which for 5 TB is about 600 MiB."""

import json
import os
import subprocess
import sys

import pytest
import reference_s3
from buckets import use_endpoint
from hierarchies import make_image

from ozx.cloud.upload import part_size_for

pytestmark = [pytest.mark.ci, pytest.mark.posix("reads /proc/self/status", on="linux")]

MIB = 1 << 20
MOST = 320  # MiB that a run may add: seven parts of 32 MiB in memory, and a half more
# Packs with parts of so many bytes, and prints the memory before and the most since, in MiB.
PROGRAM = """
import json, re, sys
import ozx, boto3, numpy
from ozx.cloud import s3
from ozx.cloud import upload

upload._USUAL_PART = int(sys.argv[3])

def memory():
    with open("/proc/self/status") as file:
        text = file.read()
    return [int(re.search(name + r":\\s+(\\d+)", text)[1]) >> 10 for name in ("VmRSS", "VmHWM")]

before = memory()[0]
size = ozx.pack(sys.argv[1], sys.argv[2]).bytes
print(json.dumps([size, before, memory()[1]]))
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """Two values of several hundred MiB, which take no room on the disk, and two thousand small ones."""
    small = {f"0/c/1/{number}": b"x" * 4_000 for number in range(2_000)}
    image = make_image(tmp_path_factory.mktemp("large") / "large.ome.zarr", {"0/c/0/0": b"", "0/c/2/0": b"", **small})
    for key in ("0/c/0/0", "0/c/2/0"):
        os.truncate(os.path.join(image, *key.split("/")), 700 * MIB)
    return image


@pytest.mark.parametrize("part", [16 * MIB, 32 * MIB, part_size_for(5 * 10**12)], ids=lambda part: f"{part >> 20}")
def test_pack(image, tmp_path, monkeypatch, part):
    with reference_s3.serving() as server:
        server.keeps_parts = False
        use_endpoint(server.url, monkeypatch)
        words = [sys.executable, "-c", PROGRAM, str(image), "s3://bucket/large.ozx", str(part)]
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        size, before, most = json.loads(done.stdout)
        assert server.objects["large.ozx"].size == size > 1400 * MIB
        assert server.calls.count("PutPart") == -(-size // part)
    print(f"parts of {part >> 20} MiB: {before} MiB before, at most {most}")
    assert most - before <= MOST

"""Remote reading from servers this project did not write: nginx, and an S3 server (moto's) over HTTP.

Both are started here on loopback and stopped by their process id or handle. Their own logs count the requests.
"""

import asyncio
import os
import random
import re
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from urllib.parse import quote

import pytest
from buckets import Bucket, s3_endpoint  # noqa: F401 (fixture)
from cases.archive_builder import ArchiveBuilder, array, group
from judges import absent_packages, skip_for

from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError, ResourceError
from ozx.places.remote.source import RemoteSource

MIB = 1 << 20
CHUNK = random.Random(5).randbytes(400_000)
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SECONDS = 30
FILE = "day one.ozx"


def archive() -> bytes:
    """Return an archive of 2.8 MB: metadata first, two chunks, more than the tail holds."""
    builder = ArchiveBuilder().add("zarr.json", group()).add("0/zarr.json", array([3], [1]))
    return builder.add("0/c/0", CHUNK).add("0/c/1", CHUNK[::-1]).add("0/c/2", bytes(2 * MIB)).build()


def read_all(reader: ArchiveReader, take_requests) -> None:
    """Read everything, and compare what the server wrote down with the budget."""
    reader.check()
    reader.prefetch_head()
    assert reader.read(reader.find("zarr.json")) == group()
    assert reader.read(reader.find("0/zarr.json")) == array([3], [1])
    assert take_requests(2) == ["GET 206"] * 2
    assert reader.read(reader.find("0/c/0")) == CHUNK
    assert take_requests(1) == ["GET 206"]
    assert reader.read(reader.find("0/c/1"), 100_000, 10) == CHUNK[::-1][100_000:100_010]
    assert take_requests(1) == ["GET 206"]

    async def read_parts():
        index = reader.find("0/c/1")
        return await asyncio.gather(*(reader.read_async(index, start, 50) for start in range(0, 2_000, 100)))

    assert asyncio.run(read_parts()) == [CHUNK[::-1][start : start + 50] for start in range(0, 2_000, 100)]
    assert take_requests(20) == ["GET 206"] * 20
    assert reader.source.requests == 24


def wait_until(ready, what: str):
    end = time.monotonic() + SECONDS
    while not (result := ready()):
        assert time.monotonic() < end, what
        time.sleep(0.02)
    return result


# --- nginx ----------------------------------------------------------------------------------------

CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ }}
http {{
  log_format budget '$request_method $status $http_range';
  access_log {folder}/access.log budget;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{
    listen 127.0.0.1:{port};
    root {folder}/files;
    location /whole/ {{ max_ranges 0; }}
    location /secret/ {{ deny all; }}
  }}
}}
"""


class Nginx:
    def __init__(self, folder, port: int) -> None:
        self.files = folder / "files"
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "access.log"
        self._taken = 0

    def put(self, name: str, data: bytes) -> None:
        """Give a file another content, and an older time."""
        new = self.files / "new"
        new.write_bytes(data)
        os.utime(new, (1_000_000_000, 1_000_000_000))
        new.replace(self.files / name)

    def source(self, name: str) -> RemoteSource:
        return RemoteSource(f"{self.url}/{quote(name)}")

    def take_requests(self, count: int) -> list[str]:
        def lines():
            found = self.log.read_text().splitlines()[self._taken :] if self.log.exists() else []
            return found if len(found) >= count else None

        found = wait_until(lines, "nginx did not write down the requests") if count else lines() or []
        self._taken += len(found)
        return [" ".join(line.split()[:2]) for line in found]


@pytest.fixture
def nginx(tmp_path):
    skip_for(absent_packages("obstore") if NGINX else "nginx is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for name in ("files", "files/whole", "files/secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE).write_bytes(archive())
    (tmp_path / "nginx.conf").write_text(CONFIGURATION.format(folder=tmp_path, port=port))
    command = [NGINX, "-p", str(tmp_path), "-e", str(tmp_path / "error.log"), "-c", str(tmp_path / "nginx.conf")]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def listens():
        assert process.poll() is None, (tmp_path / "error.log").read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    try:
        wait_until(listens, "nginx does not listen")
        yield Nginx(tmp_path, port)
    finally:
        process.terminate()
        process.wait(SECONDS)


# --- an S3 server ---------------------------------------------------------------------------------


class LoggedBucket(Bucket):
    """A bucket called `cells`, with the requests that the server writes down, and obstore's options for reading it."""

    def __init__(self, endpoint: str, log) -> None:
        super().__init__(endpoint, "cells")
        self._log = log
        self.options = {
            "endpoint": endpoint,
            "region": "us-east-1",
            "access_key_id": "someone",
            "secret_access_key": "something",
            "client_options": {"allow_http": True},
        }

    def source(self, key: str, **options) -> RemoteSource:
        return RemoteSource(f"s3://cells/{quote(key)}", {**self.options, **options})

    def take_requests(self, _count: int = 0) -> list[str]:
        lines = [re.sub(r"\x1b\[\d+m", "", record.getMessage()) for record in self._log.records]
        self._log.clear()
        return [f"{found[1]} {found[2]}" for line in lines if (found := re.search(r'"([A-Z]+) .*" (\d{3})', line))]


@pytest.fixture
def bucket(request, caplog, monkeypatch):
    skip_for(absent_packages("obstore", "moto", "boto3", "flask"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    caplog.set_level("INFO", "werkzeug")
    bucket = LoggedBucket(request.getfixturevalue("s3_endpoint"), caplog)
    bucket.put(FILE, archive())
    bucket.take_requests()
    yield bucket
    bucket.client.close()


# --- both -----------------------------------------------------------------------------------------


@pytest.fixture(params=["nginx", pytest.param("bucket", marks=pytest.mark.ci)])
def server(request):
    return request.getfixturevalue(request.param)


def test_budget(server):
    read_all(ArchiveReader(server.source(FILE)), server.take_requests)


def test_an_empty_file(server):
    server.put("empty.ozx", b"")
    with pytest.raises(FormatError) as caught:
        ArchiveReader(server.source("empty.ozx")).check()
    assert caught.value.rule in ("zip/not-a-zip", "zip/truncated")


def test_a_file_that_is_replaced(server):
    reader = ArchiveReader(server.source(FILE))
    reader.check()
    server.put(FILE, archive()[:-1] + b"]")
    with pytest.raises(FormatError) as caught:
        reader.read(reader.find("0/c/0"))
    assert caught.value.rule == "zip/changed"


def test_a_file_that_is_not_there(server):
    with pytest.raises(ResourceError, match=r"no such file; .* 404"):
        server.source("nowhere.ozx").size()


def test_ranges_of_nginx(nginx):
    nginx.put("small one.ozx", ArchiveBuilder.valid().build())
    reader = ArchiveReader(nginx.source("small one.ozx"))
    assert reader.read(reader.find("0/c/0")) == b"abcd"
    assert nginx.take_requests(1) == ["GET 206"]
    assert nginx.log.read_text().split()[-1] == f"bytes=-{MIB}"
    with pytest.raises(ResourceError, match="HTTP range requests"):
        nginx.source(f"whole/{FILE}").size()
    with pytest.raises(ResourceError, match="403"):
        nginx.source(f"secret/{FILE}").size()


@pytest.mark.ci  # the server of moto
def test_signatures_of_s3(bucket):
    signed = bucket.client.generate_presigned_url("get_object", {"Bucket": "cells", "Key": FILE})
    assert "?" not in RemoteSource(signed).name
    read_all(ArchiveReader(RemoteSource(signed)), bucket.take_requests)
    with pytest.raises(ResourceError, match="403") as caught:
        bucket.source(FILE, skip_signature=True).size()
    assert "anonymous=True" in caught.value.hint

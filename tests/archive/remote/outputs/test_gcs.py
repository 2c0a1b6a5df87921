"""Resumable uploads to Google Cloud Storage, against a server that refuses to complete them."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from ozx.archive.remote.upload import Upload
from ozx.errors import ResourceError, UsageError

PART = 1 << 20


class Refusing(BaseHTTPRequestHandler):
    """A server where another program makes the object while it is uploaded."""

    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"{}", **headers):
        self.server.requests.append((self.command, self.path, self.headers.get("Content-Range")))
        self.send_response(status)
        for name, value in {**headers, "Content-Type": "application/json", "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(404 if "/o/" in self.path else 200)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer(200, Location=f"http://127.0.0.1:{self.server.server_port}/session?upload_id=SECRET")

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        span = self.headers["Content-Range"].split()[1]
        if span.endswith("/*"):
            self.answer(308, Range=f"bytes=0-{span.split('-')[1].removesuffix('/*')}")
        else:
            self.answer(self.server.status)

    def do_DELETE(self):
        self.answer(499)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    for package in ("obstore", "google.cloud.storage"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    server.requests, server.status = [], 412
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("GOOGLE_BASE_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def upload(*, force=False):
    upload = Upload("gs://bucket/a.ozx", part_size=PART, force=force)
    upload.write_at(0, bytes(2 * PART + 5))
    return upload


def test_the_condition_holds_for_the_whole_upload(server):
    new = upload()
    with pytest.raises(UsageError, match="the object exists already") as caught:
        new.finish()
    assert "SECRET" not in f"{caught.value!r} {caught.value.__context__!r}"
    new.abort()
    (begin,) = (parse_qs(urlsplit(path).query) for method, path, _ in server.requests if method == "POST")
    assert begin["ifGenerationMatch"] == ["0"]
    spans = [span for method, _, span in server.requests if method == "PUT"]
    assert spans == ["bytes 0-1048575/*", "bytes 1048576-2097151/*", "bytes 2097152-2097156/2097157"]
    assert server.requests[-1][0] == "DELETE"


def test_a_replacement_has_no_condition(server):
    server.status = 403
    new = upload(force=True)
    with pytest.raises(ResourceError, match="does not allow ozx to write") as caught:
        new.finish()
    assert "SECRET" not in f"{caught.value!r} {caught.value.__context__!r}"
    new.abort()
    (begin,) = (parse_qs(urlsplit(path).query) for method, path, _ in server.requests if method == "POST")
    assert "ifGenerationMatch" not in begin


def test_the_client_requests_nothing_of_its_own(server):
    """Metadata of the bucket need a permission that an upload does not, and a thread would repeat the request."""
    new = upload()
    new._wait(0)
    new.abort()
    assert any(method == "GET" for method, _, _ in server.requests), "no request looked for the object"
    metadata = [path for method, path, _ in server.requests if path.startswith("/storage/v1/b/bucket?")]
    assert all("fields=name" in path for path in metadata), metadata  # only: is there such a bucket?


def test_an_upload_that_is_dropped_is_not_completed(server):
    new = upload()
    new._wait(0)
    writer = new._client._writer
    writer.__del__()
    assert [span for method, _, span in server.requests if method == "PUT"][-1].endswith("/*")
    new.abort()

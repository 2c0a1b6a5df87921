"""An S3 server, with a bucket for each test: that of moto (extra `ci`) if it is installed, otherwise our own."""

import importlib.util
import uuid

import pytest
import reference_s3


class Bucket:
    """A new bucket; environment variables are enough to open it."""

    def __init__(self, endpoint: str, name: str | None = None) -> None:
        import boto3  # noqa: PLC0415 - may be absent
        from botocore.config import Config  # noqa: PLC0415

        self.endpoint = endpoint
        self.name = name or f"b-{uuid.uuid4().hex[:12]}"
        self.url = f"s3://{self.name}"
        self.client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="someone",
            aws_secret_access_key="something",
            config=Config(proxies={}),
        )
        self.client.create_bucket(Bucket=self.name)

    def get(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.name, Key=key)["Body"].read()

    def put(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=data)

    def metadata(self, key: str) -> dict[str, str]:
        return self.client.head_object(Bucket=self.name, Key=key)["Metadata"]

    def keys(self) -> list[str]:
        return sorted(each["Key"] for each in self.client.list_objects_v2(Bucket=self.name).get("Contents", ()))

    def uploads(self) -> list[str]:
        return [each["UploadId"] for each in self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", ())]


@pytest.fixture(scope="session")
def s3_endpoint():
    """One server for all tests, because stopping a server takes half a second."""
    for package in ("obstore", "boto3"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    if importlib.util.find_spec("moto") is None:
        with reference_s3.serving(has_buckets=True) as server:
            yield server.url
        return
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - may be absent

    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def use_endpoint(endpoint, monkeypatch):
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "something",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.fixture
def bucket(s3_endpoint, monkeypatch, tmp_path):
    use_endpoint(s3_endpoint, monkeypatch)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    bucket = Bucket(s3_endpoint)
    yield bucket
    bucket.client.close()

"""What obstore's errors become: plain words, a way out, and no secrets."""

import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)

from ozx.errors import FormatError, ResourceError
from ozx.flow.sources.remote_objects import find_objects
from ozx.places.remote.errors import explain
from ozx.places.remote.source import RemoteSource

SECRET = "https://example.org/?sig=SECRET"


class GenericError(Exception):
    """Named as obstore's."""


CASES = [
    ("redirect without LOCATION, this normally", "in another region", "AWS_REGION"),
    (
        "status code: 403 Forbidden: <Code>RequestTimeTooSkewed</Code>",
        "clock of this computer is wrong",
        "Set the clock",
    ),
    (
        "status code: 403 Forbidden: <Code>AccessDenied</Code><Message>Request has expired</Message>",
        "expired",
        "new URL",
    ),
    ("status code: 403 Forbidden: <Code>AccessDenied</Code>", "not allowed: the server answered 403", "anonymous=True"),
    ("status code: 404 Not Found: <Code>NoSuchBucket</Code>", "the bucket does not exist", "endpoint"),
    ("status code: 404 Not Found: <Code>ContainerNotFound</Code>", "the container does not exist", "account"),
    ("status code: 403 Forbidden: <Code>AuthenticationFailed</Code>", "the key or signature is wrong", "credentials"),
    ("status code: 503 Service Unavailable: <Code>SlowDown</Code>", "too many requests", "later"),
    (
        '"dns error", error: "failed to lookup address information: Name or service not known"',
        "name is not known",
        "address",
    ),
    ("InvalidCertificate(\n   Expired,\n)", r"certificate is not accepted \(Expired\)", "address"),
    ("InvalidCertificate(Other(OtherError(CaUsedAsEndEntity)))", r"not accepted \(CaUsedAsEndEntity\)", "address"),
    ("InvalidMessage(InvalidContentType)", "does not use TLS", "address"),
    ("kind: Timeout", "no answer in time", "connection"),
    (
        'ParseContentRange {\n value: "bytes 10-109/*",\n}',
        "the server did not say in the header Content-Range",
        "Download the file",
    ),
    ("source: NoContentRange", "the server did not say in the header Content-Range", "Download the file"),
    ("source: UnexpectedRange {\n expected: 10..110", "^[^ ]* the server sent another part", "Download the file"),
    ("kind: Redirect,\n source: TooManyRedirects", "^[^ ]* the server redirects the request in a", "Download the file"),
]


@pytest.mark.parametrize(("text", "message", "hint"), CASES)
def test_explanations(text, message, hint):
    failure = explain(GenericError(f"Error performing GET {SECRET} - {text}"), "https://example.org/x")
    with pytest.raises(ResourceError, match=message):
        raise failure
    assert hint in failure.hint
    assert "SECRET" not in f"{failure} {failure.hint}"


class TestBuckets:
    def test_a_folder_where_a_file_is_expected(self, bucket):  # noqa: F811
        bucket.client.put_object(Bucket=bucket.name, Key="cells.ozx/zarr.json", Body=b"{}")
        with pytest.raises(ResourceError, match="expected a file; found a folder") as caught:
            RemoteSource(f"{bucket.url}/cells.ozx").size()
        assert "slash" in caught.value.hint
        with pytest.raises(ResourceError, match="no such file"):
            RemoteSource(f"{bucket.url}/other.ozx").size()

    def test_a_file_where_a_folder_is_expected(self, bucket):  # noqa: F811
        bucket.client.put_object(Bucket=bucket.name, Key="cells.zarr", Body=b"PK")
        with pytest.raises(FormatError, match="found one object"):
            find_objects(f"{bucket.url}/cells.zarr")
        with pytest.raises(FormatError, match="nothing below this URL"):
            find_objects(f"{bucket.url}/other.zarr")

    def test_no_such_bucket(self, bucket):  # noqa: F811
        for use in (
            lambda: RemoteSource(f"{bucket.url}-x/a.ozx").size(),
            lambda: find_objects(f"{bucket.url}-x/a.zarr"),
        ):
            with pytest.raises(ResourceError, match="the bucket does not exist"):
                use()

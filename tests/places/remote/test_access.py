"""Options for URLs: those given, those of the environment, and none of them in a message."""

import pytest

from ozx.errors import UsageError
from ozx.places.remote.access import allows_http, current_options, parse_storage_options, storage_options


def test_blocks_add_up_and_end():
    with storage_options(region="a", endpoint="https://one"):
        with storage_options(anonymous=True, region="b"):
            assert current_options() == {"region": "b", "endpoint": "https://one", "skip_signature": True}
        assert current_options() == {"region": "a", "endpoint": "https://one"}
    assert current_options() == {}


@pytest.mark.parametrize(
    ("variables", "options", "expected"),
    [
        ({}, {}, False),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}, {}, True),
        ({"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9000"}, {}, True),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}, {"endpoint": "https://example.org"}, False),
        ({"AWS_ALLOW_HTTP": "true"}, {}, True),
        ({"AWS_ALLOW_HTTP": "false"}, {}, False),
        ({"GOOGLE_ALLOW_HTTP": "1"}, {}, False),
        ({}, {"aws_endpoint": "HTTP://localhost"}, True),
    ],
)
def test_plain_http_to_an_object_store(monkeypatch, variables, options, expected):
    for name in ("ENDPOINT_URL_S3", "ENDPOINT_URL", "ENDPOINT", "ALLOW_HTTP"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert allows_http("s3", options) is expected
    assert not allows_http("https", options)


@pytest.mark.parametrize("text", ["SECRET", "=SECRET", " =SECRET"])
def test_an_option_without_key_or_value(text):
    with pytest.raises(UsageError) as caught:
        parse_storage_options([text])
    assert "SECRET" not in str(caught.value)


def test_a_value_may_hold_anything():
    assert parse_storage_options(["a=b=c", "d="]) == {"a": "b=c", "d": ""}

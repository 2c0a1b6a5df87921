"""The client of boto3, as far as no server is needed."""

from types import SimpleNamespace

import pytest

from ozx.cloud.s3 import open_client

hooks = pytest.importorskip("botocore.hooks")


@pytest.fixture
def pause(monkeypatch):
    """Return a function that gives the pause before the repetition of a request, or None for no repetition."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "something")
    client = open_client({"region": "us-east-1"})

    def ask(status, attempts=1, **headers):
        answer = None if status is None else (SimpleNamespace(status_code=status, headers=headers), {})
        answers = client.meta.events.emit(
            "needs-retry.s3.PutObject",
            response=answer,
            endpoint=None,
            operation=client.meta.service_model.operation_model("PutObject"),
            attempts=attempts,
            caught_exception=None,
            request_dict={"context": {}},
        )
        return hooks.first_non_none_response(answers)

    return ask


def test_a_throttled_request_is_repeated_whatever_its_code(pause):
    assert 0 <= pause(429) <= 1
    assert 0 <= pause(429, attempts=3) <= 4
    assert pause(429, **{"Retry-After": "3"}) == 3
    assert pause(429, **{"Retry-After": "100000"}) == 20
    assert not pause(429, attempts=9)

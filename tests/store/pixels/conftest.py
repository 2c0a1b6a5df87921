"""What tests of pixels share."""

import pytest

from ozx.codecs.bounded_arrays import BoundedPipeline


async def refuse(*_: object, **__: object) -> None:
    raise AssertionError("the request fell back")


@pytest.fixture
def read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests fail that would be read in zarr-python's way."""
    monkeypatch.setattr(BoundedPipeline, "read", refuse)


@pytest.fixture
def written_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests fail that would be written in zarr-python's way."""
    monkeypatch.setattr(BoundedPipeline, "write", refuse)

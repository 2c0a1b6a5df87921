"""Fixtures of extension handlers: an installed package with two handlers, and a temporary `register`."""

import sys
from pathlib import Path

import pytest

from ozx import extensions

_PACKAGE = Path(__file__).parent / "extension_package"


def _forget():
    extensions._entry_points.cache_clear()
    extensions._load.cache_clear()


@pytest.fixture
def example_package(monkeypatch):
    """Let importlib.metadata find ``ozx_example_extensions`` as an installed package."""
    monkeypatch.syspath_prepend(str(_PACKAGE))
    _forget()
    yield
    _forget()
    sys.modules.pop("ozx_example_extensions", None)


@pytest.fixture
def handlers():
    """Yield `ozx.extensions.register`; after the test, the registered handlers are removed."""
    before = dict(extensions._registered)
    yield extensions.register
    extensions._registered.clear()
    extensions._registered.update(before)

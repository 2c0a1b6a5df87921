"""A package that teaches ozx two extensions, installed for a test and gone after it."""

from __future__ import annotations

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
    """Have ``ozx_example_extensions`` installed, as far as importlib.metadata can tell."""
    monkeypatch.syspath_prepend(str(_PACKAGE))
    _forget()
    yield
    _forget()
    sys.modules.pop("ozx_example_extensions", None)


@pytest.fixture
def handlers():
    """Give `ozx.extensions.register`; what it registers is forgotten after the test."""
    before = dict(extensions._registered)
    yield extensions.register
    extensions._registered.clear()
    extensions._registered.update(before)

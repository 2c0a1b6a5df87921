"""What tests of commands begin with: a folder to be in, a packed image; home and programs that the desktop changes."""

import pytest
from desktops import home, program, programs, registry
from hierarchies import FIXTURES
from packed import pack_tree

__all__ = ["home", "program", "programs", "registry"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cells(tmp_path):
    """The small image, packed."""
    return pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "cells.ozx")

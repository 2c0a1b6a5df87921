"""Fixtures of the command tests: a packed image, and a home and programs that commands may change."""

import pytest
from desktops import home, program, programs, registry
from hierarchies import FIXTURES
from packed import pack_tree

__all__ = ["home", "program", "programs", "registry"]


@pytest.fixture
def cells(tmp_path):
    return pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "cells.ozx")

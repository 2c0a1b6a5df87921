"""Fixtures of the tests of hostile archives."""

import pytest


@pytest.fixture
def plant(tmp_path):
    def write(archive: bytes):
        path = tmp_path / "in" / "cells.ozx"
        path.parent.mkdir()
        path.write_bytes(archive)
        return path

    return write

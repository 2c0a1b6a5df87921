"""Fixtures of the tests of hostile archives."""

import pytest


@pytest.fixture
def plant(tmp_path):
    """Return a function that writes an archive into a new folder, so that tests notice files outside of this folder."""

    def write(archive: bytes):
        path = tmp_path / "in" / "cells.ozx"
        path.parent.mkdir()
        path.write_bytes(archive)
        return path

    return write

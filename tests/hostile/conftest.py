"""What tests of hostile archives begin with."""

import pytest


@pytest.fixture
def plant(tmp_path):
    """Write an archive into a folder of its own, so that whatever leaves it is seen."""

    def write(archive: bytes):
        path = tmp_path / "in" / "cells.ozx"
        path.parent.mkdir()
        path.write_bytes(archive)
        return path

    return write

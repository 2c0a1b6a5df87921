"""Examples in docstrings run as tests, in a folder that holds ``cells.ome.zarr`` and ``cells.ozx``."""

import shutil
from pathlib import Path

import pytest
from _pytest.doctest import DoctestItem

import ozx

IMAGE = Path(__file__).parent / "fixtures" / "image.ome.zarr"


@pytest.fixture(autouse=True)
def _cells(request: pytest.FixtureRequest) -> None:
    if not isinstance(request.node, DoctestItem) or "cells." not in request.node.dtest.docstring:
        return
    folder = request.getfixturevalue("tmp_path")
    request.getfixturevalue("monkeypatch").chdir(folder)
    shutil.copytree(IMAGE, folder / "cells.ome.zarr")
    ozx.pack(IMAGE, folder / "cells.ozx", sync=False)

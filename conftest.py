"""Run docstring examples as tests, each in an empty folder, with ``cells.*`` if the example names it."""

import shutil
from pathlib import Path

import pytest
from _pytest.doctest import DoctestItem

import ozx

IMAGE = Path(__file__).parent / "fixtures" / "image.ome.zarr"


@pytest.fixture(autouse=True)
def _folder_of_an_example(request: pytest.FixtureRequest) -> None:
    if not isinstance(request.node, DoctestItem):
        return
    folder = request.getfixturevalue("tmp_path")
    request.getfixturevalue("monkeypatch").chdir(folder)
    if "cells." not in request.node.dtest.docstring:
        return
    shutil.copytree(IMAGE, folder / "cells.ome.zarr")
    ozx.pack(IMAGE, folder / "cells.ozx", sync=False)

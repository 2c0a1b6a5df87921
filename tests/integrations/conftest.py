"""Fixtures of the integration tests."""

import sys
import types

import pytest


@pytest.fixture
def napari_stand_in(monkeypatch):
    """Replace napari, which the development environment lacks, by the only class that reading needs."""

    class DirectLabelColormap:
        def __init__(self, color_dict):
            self.color_dict = color_dict

    utils = types.ModuleType("napari.utils")
    utils.DirectLabelColormap = DirectLabelColormap
    monkeypatch.setitem(sys.modules, "napari", types.ModuleType("napari"))
    monkeypatch.setitem(sys.modules, "napari.utils", utils)

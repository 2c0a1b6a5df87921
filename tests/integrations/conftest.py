"""What tests of the integrations share."""

import sys
import types

import pytest


@pytest.fixture
def napari_stand_in(monkeypatch):
    """In place of napari, which the development environment has not, the one class that reading takes from it."""

    class DirectLabelColormap:
        def __init__(self, color_dict):
            self.color_dict = color_dict

    utils = types.ModuleType("napari.utils")
    utils.DirectLabelColormap = DirectLabelColormap
    monkeypatch.setitem(sys.modules, "napari", types.ModuleType("napari"))
    monkeypatch.setitem(sys.modules, "napari.utils", utils)

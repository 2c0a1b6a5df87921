"""Plugin of napari that opens .ozx files and saves layers as .ozx, declared in ``napari.yaml``.

Layer data consists of plain tuples, so neither reading nor saving needs napari.
``reading``
    Files into layer data.
``saving``
    Layer data into a file; the metadata of a layer in OME-Zarr's terms.
"""

from __future__ import annotations

from ozx.integrations.napari.reading import LayerData as LayerData
from ozx.integrations.napari.reading import get_reader as get_reader
from ozx.integrations.napari.reading import read_layers as read_layers
from ozx.integrations.napari.saving import write_layers as write_layers

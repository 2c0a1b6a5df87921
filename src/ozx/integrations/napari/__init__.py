"""napari opens .ozx files and saves layers as .ozx; ``napari.yaml`` beside this file names these functions.

Both ways need no napari: layer data is plain.

``reading``
    Files into layer data.
``saving``
    Layer data into a file.
``layers``
    What a layer says, in the words of OME-Zarr.
``combined_arrays``
    Layers whose pixels come from several arrays.
"""

from __future__ import annotations

from ozx.integrations.napari.reading import LayerData, get_reader, read_layers
from ozx.integrations.napari.saving import write_layers

__all__ = ["LayerData", "get_reader", "read_layers", "write_layers"]

"""napari opens .ozx files and saves layers as .ozx; ``napari.yaml`` beside this file names these functions.

`reading` turns files into layer data, `saving` layer data into files. Both need no napari: layer data is plain.
"""

from __future__ import annotations

from ozx.doors.napari.reading import LayerData, get_reader, read_layers
from ozx.doors.napari.saving import write_layers

__all__ = ["LayerData", "get_reader", "read_layers", "write_layers"]

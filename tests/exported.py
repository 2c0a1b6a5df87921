"""Images without a hierarchy for OME-TIFF export, and validation of OME-XML by its schema."""

from functools import cache
from pathlib import Path

import numpy as np
import ome_types
import pytest
import zarr

from ozx.exporting.exported_image import ExportedImage
from ozx.images.description import ImageDescription
from ozx.store.level import Level


def image(path="", description=None, shape=(2, 3, 2, 20, 30), dtype="uint16"):
    """Return an image of zeros."""
    array = zarr.create_array({}, shape=shape, dtype=dtype, chunks=shape)
    level = Level(array, "0")
    return ExportedImage(path, (level,), (0, 1, 2, 3, 4), np.dtype(dtype), description or ImageDescription())


def validate(text):
    """Validate a document with ome-types, which knows most rules, and by the schema if xmlschema is installed."""
    ome_types.from_xml(text)
    pytest.importorskip("xmlschema")
    _schema().validate(text.partition("?>")[2])


@cache
def _schema():
    import xmlschema  # noqa: PLC0415

    return xmlschema.XMLSchema(Path(ome_types.__file__).with_name("ome-2016-06.xsd"))

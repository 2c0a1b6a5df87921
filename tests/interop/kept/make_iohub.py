"""Make the kept file of iohub again; versions of iohub that write ``.ozx`` files need Python >= 3.12.

``python make_iohub.py PIXELS.npy FOLDER`` writes ``FOLDER/iohub-VERSION.ozx`` with the pixels of ``writers.pixels()``.
"""

import importlib.metadata
import sys
import warnings
from pathlib import Path

import numpy as np
from iohub import open_ome_zarr

warnings.filterwarnings("ignore", "Duplicate name")
pixels = np.load(sys.argv[1])
path = Path(sys.argv[2]) / f"iohub-{importlib.metadata.version('iohub')}.ozx"
path.unlink(missing_ok=True)
with open_ome_zarr(path, layout="fov", mode="w-", channel_names=["a", "b"], version="0.5") as position:
    position.create_image("0", pixels[np.newaxis, :, np.newaxis], chunks=(1, 1, 1, 48, 64))

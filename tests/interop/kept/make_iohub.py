"""Make the kept file of iohub anew, with Python >= 3.12, which the versions of iohub need that write ``.ozx`` files.

``python make_iohub.py PIXELS.npy FOLDER``, where the pixels are those of ``writers.pixels()``; it writes
``FOLDER/iohub-VERSION.ozx``.
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

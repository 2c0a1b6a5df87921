"""Read .ozx files in napari without a window, for ``image_readers.py``: one line of JSON answers each line of input.

``versions`` returns the versions of napari and Python. ``OUT.npy<tab>FILE`` opens the file as napari does, saves the
full resolution of its image layers, one after the other, and returns their names, or {"error": …}.
"""

import json
import platform
import sys

import napari
import npe2
import numpy as np
from napari.components import ViewerModel
from napari.layers import Image


def read(out: str, path: str) -> list[str]:
    layers = [layer for layer in ViewerModel().open(path, plugin="ozx-toolkit") if isinstance(layer, Image)]
    np.save(out, np.stack([np.asarray(layer.data[0] if layer.multiscale else layer.data) for layer in layers]))
    return [layer.name for layer in layers]


def answer(question: str) -> object:
    if question == "versions":
        return [["napari", napari.__version__], ["Python of napari", platform.python_version()]]
    try:
        return read(*question.split("\t"))
    except Exception as error:  # noqa: BLE001 - whatever it is, it goes to the one who asked
        return {"error": f"{type(error).__name__}: {error}"}


npe2.PluginManager.instance().discover()
answers = sys.stdout
sys.stdout = sys.stderr  # only answers go to the output
for line in sys.stdin:
    print(json.dumps(answer(line.rstrip("\n"))), file=answers, flush=True)

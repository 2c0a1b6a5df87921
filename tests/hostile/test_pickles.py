"""Chunks that are programs: the codec `pickle` of numcodecs, which Zarr v2 can name, is refused by every command."""

import json
import os
import pickle

import pytest
from cases.archive_builder import write_tree
from hierarchies import multiscales
from numcodecs import Pickle
from numcodecs.errors import UnsafeDecodeError
from packed import zip_values

from ozx.cli.app import run

IMAGE = {"multiscales": multiscales("yx", "0", version="0.4")}
# What zarr-python lets through to the codec: texts as objects, of which `pickle` is one more filter.
WAYS = {
    "a filter": {"filters": [{"id": "vlen-utf8"}, {"id": "pickle"}], "compressor": None},
    "the compressor": {"filters": [{"id": "vlen-utf8"}], "compressor": {"id": "pickle"}},
}


class Payload:
    def __init__(self, target):
        self.target = str(target)

    def __reduce__(self):
        return os.mkdir, (self.target,)


def make(root, way, target):
    array = {"zarr_format": 2, "shape": [8, 8], "chunks": [8, 8], "dtype": "|O", "fill_value": 0, "order": "C"}
    documents = {".zgroup": {"zarr_format": 2}, ".zattrs": IMAGE}
    documents["0/.zarray"] = {**array, "dimension_separator": "/", **WAYS[way]}
    values = {key: json.dumps(document).encode() for key, document in documents.items()}
    values["0/0/0"] = pickle.dumps(Payload(target))
    zip_values(write_tree(root, values).with_name("image.zip"), values)


COMMANDS = [
    ("thumbnail", "image.ome.zarr", "out.png"),
    ("validate", "image.ome.zarr", "--level", "data"),
    ("validate", "image.zip", "--level", "data"),
    ("pack", "image.ome.zarr", "out.ozx"),
    ("pack", "image.ome.zarr", "out.ozx", "--chunks", "y=4,x=4"),
    ("repack", "image.zip", "out.ozx"),
    ("export", "image.ome.zarr", "out.ome.tif"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_runs_what_is_in_a_chunk(tmp_path, monkeypatch, command, way):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "image.ome.zarr", way, tmp_path / "ran")
    assert run(list(command)) == 1
    assert not (tmp_path / "ran").exists()
    assert not [name for name in os.listdir(tmp_path) if name.startswith("out")]


def test_the_codec_itself_refuses(tmp_path):
    """The lowest version of numcodecs is what it has to be; newer versions of zarr-python refuse before it."""
    with pytest.raises(UnsafeDecodeError):
        Pickle().decode(pickle.dumps(Payload(tmp_path / "ran")))
    assert not (tmp_path / "ran").exists()

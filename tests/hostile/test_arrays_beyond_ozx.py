"""Arrays that ozx cannot decode, in every command: a refusal names what is unknown, and copies stay exact."""

import json
import shutil

import numpy as np
import pytest
import zarr
from cases.archive_builder import sharding
from commands import command
from hierarchies import make_image, tree
from zarr.core.metadata import v3

import ozx
from ozx.errors import UnsupportedError

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
RECTILINEAR = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[[10, 6]], [20, 30]]}}
SHARDED = sharding([10, 10], [LITTLE])
KINDS = {
    "rectilinear": {"chunk_grid": RECTILINEAR},
    "rectilinear with shards": {"chunk_grid": RECTILINEAR, "codecs": [SHARDED]},
    "rectilinear with the shape of a regular grid": {
        "chunk_grid": {**RECTILINEAR, "configuration": {**RECTILINEAR["configuration"], "chunk_shape": [10, 20]}}
    },
    "rectilinear without lengths": {"chunk_grid": {"name": "rectilinear"}},
    "rectilinear with endless lengths": {
        "chunk_grid": {
            "name": "rectilinear",
            "configuration": {"kind": "inline", "chunk_shapes": [[[1, 10**15]], [20, 30]]},
        }
    },
    "example.grid": {"chunk_grid": {"name": "example.grid", "configuration": {"chunk_shape": [10, 20]}}},
    "example.keys": {"chunk_key_encoding": {"name": "example.keys"}},
    "example.type": {"data_type": {"name": "example.type", "configuration": {"bits": 4}}},
    "example.codec": {"codecs": [LITTLE, {"name": "example.codec"}]},
    "example.move": {"storage_transformers": [{"name": "example.move"}]},
}
# --chunks and --codec decode these arrays.
BECOMES_REGULAR = ("rectilinear", "rectilinear with the shape of a regular grid")
COPIES = [
    ("pack",),
    ("repack",),
    ("repack", "--verify"),
    ("repack", "--ome-version", "0.6"),
    ("repack", "--thumbnail"),
    ("extract",),
    ("extract", "--levels", "0:1"),
]
DECODING = [
    ("pack", "--shards", "auto"),
    ("pack", "--chunks", "y=30,x=25"),
    ("repack", "--shards", "auto"),
    ("repack", "--shards", "none"),
    ("repack", "--chunks", "y=30,x=25"),
    ("repack", "--codec", "zstd"),
    ("repack", "--chunk-checksums", "add"),
    ("extract", "--region", "y=0:20"),
    ("export",),
    ("thumbnail",),
]
ANSWERS = [("info",), ("ls", "--nodes"), ("validate", "--level", "hierarchy"), ("validate", "--level", "data")]
HAS_RECTILINEAR = hasattr(v3, "RectilinearChunkGridMetadata")


def image(folder, changes):
    """Make an image of 60 × 50 pixels whose only array has these fields."""
    rows = np.arange(3000, dtype="<u2").reshape(60, 50)
    chunks = {
        f"0/c/{row}/{column}": np.ascontiguousarray(rows[row * 10 :, start:stop][:10]).tobytes()
        for row in range(6)
        for column, (start, stop) in enumerate([(0, 20), (20, 50)])
    }
    root = make_image(folder, chunks)
    path = root / "0" / "zarr.json"
    document = {**json.loads(path.read_bytes()), "shape": [60, 50], "data_type": "uint16", "codecs": [LITTLE]}
    path.write_text(json.dumps(document | changes))
    return root


@pytest.mark.parametrize("kind", KINDS)
def test_every_command_copies_the_array_or_names_what_it_does_not_know(kind, tmp_path, capsys):
    check_commands(kind, tmp_path, capsys)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("rect")])
def test_every_command_does_so_where_zarr_may_read_rectilinear_grids(kind, tmp_path, capsys):
    with zarr.config.set({"array.rectilinear_chunks": True}):
        check_commands(kind, tmp_path, capsys)


def check_commands(kind, tmp_path, capsys):
    source, name = image(tmp_path / "cells.ome.zarr", KINDS[kind]), kind.partition(" ")[0]
    for number, (verb, *options) in enumerate(COPIES):
        out = tmp_path / f"copy-{number}.ozx"
        code, _, err = command(verb)(capsys, source, out, "--no-sync", *options)
        assert (code, "error" in err) == (0, False), (verb, options, err)
        assert command("unpack")(capsys, out, tmp_path / "back", "--no-sync")[0] == 0
        assert tree(tmp_path / "back" / "0") == tree(source / "0")
        shutil.rmtree(tmp_path / "back")
    for given in (source, tmp_path / "copy-0.ozx"):
        for verb, *options in DECODING:
            if verb == "pack" and given != source:
                continue
            out = tmp_path / ("out.png" if verb == "thumbnail" else "out.ome.tif" if verb == "export" else "out.ozx")
            code, _, err = command(verb)(capsys, given, out, *options)
            if kind in BECOMES_REGULAR and {"--chunks", "--codec"} & {*options}:
                assert (code, "error" in err) == (0, False), (verb, options, err)
                out.unlink()
                continue
            assert code == 1, (verb, options, err)
            assert name in err.lower(), (verb, options, err)
            assert "hint: " in err
            assert not out.exists()
        for verb, *options in ANSWERS:
            code, said, err = command(verb)(capsys, given, *options)
            assert code in (0, 1), (verb, options, err)
            assert said


@pytest.mark.parametrize("kind", ["rectilinear", "rectilinear with endless lengths"])
def test_a_rectilinear_grid_that_zarr_does_not_read_is_refused_with_the_way_out(kind, tmp_path):
    path = ozx.pack(image(tmp_path / "cells.ome.zarr", KINDS[kind]), sync=False).path
    with pytest.raises(
        UnsupportedError, match=r"0: this reader does not support the .*chunk grid 'rectilinear'"
    ) as caught:
        ozx.open_array(path, "0")
    assert "array.rectilinear_chunks" in caught.value.hint


def test_a_rectilinear_grid_that_zarr_reads_is_read_and_decoded_into_new_images(tmp_path):
    path = ozx.pack(image(tmp_path / "cells.ome.zarr", KINDS["rectilinear"]), sync=False).path
    pixels = np.arange(3000, dtype="u2").reshape(60, 50)
    with zarr.config.set({"array.rectilinear_chunks": True}):
        if not HAS_RECTILINEAR:
            with pytest.raises(UnsupportedError, match="chunk grid 'rectilinear'"):
                ozx.open_array(path, "0")
            return
        array = ozx.open_array(path, "0")
        assert np.array_equal(array[...], pixels)
        assert np.array_equal(array[3:41, 7:33], pixels[3:41, 7:33])
        ozx.write_image(tmp_path / "regular.ozx", array, axes="yx", sync=False)
        message = "0: ozx does not support the chunk grid 'rectilinear'"
        assert [message in finding.message for finding in ozx.validate(path, level="data").findings].count(True) == 1
    assert np.array_equal(ozx.open_array(tmp_path / "regular.ozx", "0")[...], pixels)


class _Rectilinear:
    """An array like zarr's with a rectilinear grid, which has no one shape of chunks."""

    def __init__(self, pixels):
        self._pixels, self.shape, self.dtype, self.ndim = pixels, pixels.shape, pixels.dtype, pixels.ndim

    @property
    def chunks(self):
        raise NotImplementedError("only defined for arrays using regular chunk grids")

    shards = chunks

    def __getitem__(self, index):
        return self._pixels[index]


def test_pixels_of_an_array_without_one_shape_of_chunks_are_written(tmp_path):
    pixels = np.arange(3000, dtype="u2").reshape(60, 50)
    ozx.write_image(tmp_path / "cells.ozx", _Rectilinear(pixels), axes="yx", sync=False)
    assert np.array_equal(ozx.open_array(tmp_path / "cells.ozx", "0")[...], pixels)

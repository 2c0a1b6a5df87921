"""Checksums behind the chunks: added, kept and dropped by each verb that lays chunks out."""

import shutil

import numpy as np
import pytest
import zarr
from resharding import directory_source, stored_chunks
from zarr.codecs import Crc32cCodec, ZstdCodec

import ozx
from ozx.errors import FormatError, UsageError
from ozx.flow.chunks.inner_chunks import InnerChunks
from ozx.flow.entry import read_part


def chunks_of(source, path="0"):
    """Return the bytes of every encoded chunk by its number, whatever it is laid out in."""
    _, layout, stored = stored_chunks(source, path)
    chunks = InnerChunks(stored, layout)
    numbers = chunks.blocks((1,) * len(layout.grid))
    found = chunks.find(numbers, is_joined=False)
    return {
        int(numbers[position]): read_part(part) for position, part in zip(found.positions, found.parts, strict=True)
    }


def make_array(root, **options):
    """Have zarr-python write an image of one level with these codecs, and return its pixels."""
    group = zarr.create_group(root, zarr_format=3)
    datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]
    axes = [{"name": name, "type": "space"} for name in "yx"]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
    data = np.random.default_rng(5).integers(1, 60_000, (20, 21), "<u2")
    options = {"chunks": (4, 7), "fill_value": 0, "compressors": None} | options
    array = group.create_array("0", shape=data.shape, dtype=data.dtype, dimension_names=["y", "x"], **options)
    array[...] = data
    return data


def flip(path, chunk):
    for file in path.rglob("*"):
        if file.is_file() and chunk in (data := file.read_bytes()):
            at = data.index(chunk)
            file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            return
    raise AssertionError


@pytest.mark.parametrize("shards", ["keep", "none"])
def test_a_checksum_that_does_not_fit_is_not_dropped(tmp_path, shards):
    make_array(tmp_path / "a.ome.zarr", shards=(20, 21), compressors=[ZstdCodec(), Crc32cCodec()])
    flip(tmp_path / "a.ome.zarr", chunks_of(directory_source(tmp_path / "a.ome.zarr"))[5])
    with pytest.raises(FormatError, match=r"0: expected chunk \(1, 2\) to end in its CRC-32C") as failed:
        ozx.repack(tmp_path / "a.ome.zarr", tmp_path / "b.ozx", shards=shards, chunk_checksums="drop")
    assert failed.value.rule == "zarr/chunk-data"
    assert not (tmp_path / "b.ozx").exists()
    # What is only moved is not looked at: it arrives as it was, and so does the evidence.
    ozx.repack(tmp_path / "a.ome.zarr", tmp_path / "b.ozx", shards="none")
    assert {finding.id for finding in ozx.validate(tmp_path / "b.ozx", level="data").findings} >= {"zarr/chunk-data"}


@pytest.mark.parametrize("asked", [None, "add", "keep", "drop"])
@pytest.mark.parametrize("there", [None, "add", "keep"])
def test_resume_takes_files_that_differ_in_this_alone(tmp_path, image, there, asked):
    copy = shutil.copytree(image, tmp_path / "a.ome.zarr")
    ozx.pack(copy, tmp_path / "a.ozx", shards="y=128,x=128", chunk_checksums=there)
    before = (tmp_path / "a.ozx").read_bytes()
    options = {"shards": "y=128,x=128", "chunk_checksums": asked, "resume": True}
    assert ozx.pack(copy, tmp_path / "a.ozx", **options, verify=True).status == "skipped"
    assert (tmp_path / "a.ozx").read_bytes() == before
    with pytest.raises(UsageError, match="not the complete copy"):
        ozx.pack(copy, tmp_path / "a.ozx", **options | {"shards": "y=64,x=64"})

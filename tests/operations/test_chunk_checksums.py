"""Checksums behind the chunks: added, kept and dropped by each verb that lays chunks out."""

import shutil

import numpy as np
import pytest
import zarr
from hierarchies import multiscales
from zarr.codecs import Crc32cCodec, ZstdCodec

import ozx
from ozx.errors import FormatError, UsageError


def make_array(root, **options):
    """Have zarr-python write an image of one level with these codecs."""
    group = zarr.create_group(root, attributes={"ome": {"version": "0.5", "multiscales": multiscales("yx", "0")}})
    data = np.random.default_rng(5).integers(1, 60_000, (20, 21), "<u2")
    group.create_array("0", data=data, chunks=(4, 7), dimension_names=["y", "x"], **options)


@pytest.mark.parametrize("shards", ["keep", "none"])
def test_a_checksum_that_does_not_fit_is_not_dropped(tmp_path, shards):
    make_array(tmp_path / "a.ome.zarr", shards=(20, 21), compressors=[ZstdCodec(), Crc32cCodec()])
    shard = tmp_path / "a.ome.zarr/0/c/0/0"
    data = bytearray(shard.read_bytes())
    data[9] ^= 1
    shard.write_bytes(data)
    with pytest.raises(FormatError, match=r"0: expected chunk \(0, 0\) to end in its CRC-32C") as failed:
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

"""Checksums behind the chunks: added, kept and dropped by each verb that lays chunks out."""

import json
import shutil
import zipfile

import google_crc32c
import numpy as np
import pytest
import tifffile
import zarr
from hierarchies import FIXTURES
from resharding import archive_source, directory_source, stored_chunks
from zarr.codecs import Crc32cCodec, ZstdCodec
from zarr.storage import ZipStore

import ozx
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.flow.chunks.inner_chunks import InnerChunks
from ozx.flow.entry import read_part

LEGACY = FIXTURES / "legacy.ome.zarr"
SHARDED = FIXTURES / "sharded.ome.zarr"


def chunks_of(source, path="0"):
    """Return the bytes of every encoded chunk by its number, whatever it is laid out in."""
    _, layout, stored = stored_chunks(source, path)
    chunks = InnerChunks(stored, layout)
    numbers = chunks.blocks((1,) * len(layout.grid))
    found = chunks.find(numbers, is_joined=False)
    return {
        int(numbers[position]): read_part(part) for position, part in zip(found.positions, found.parts, strict=True)
    }


def codecs_of(path):
    """Return the names of the codecs of each array in an archive; those inside a shard follow ``sharding_indexed``."""
    images = ozx.inspect(path).images
    return {f"{image.path}/{level.path}".strip("/"): level.codecs for image in images for level in image.levels}


def has_checksums(path):
    return {array: "crc32c" in codecs for array, codecs in codecs_of(path).items()}


def are_where_shards_are(path):
    found = codecs_of(path).values()
    return any("crc32c" in codecs for codecs in found) and all(
        ("crc32c" in codecs) == ("sharding_indexed" in codecs) for codecs in found
    )


def summed(data):
    return data + google_crc32c.value(data).to_bytes(4, "little")


def pixels(path):
    with ZipStore(path, mode="r") as store:
        return np.asarray(zarr.open_array(store, path="0", mode="r")[...])


def assert_sound(path):
    findings = ozx.validate(path, level="data").findings
    assert [finding for finding in findings if finding.severity == "error"] == []


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


# chunks that come into shards


def test_zarr_v2_that_comes_into_shards_gets_them(tmp_path):
    ozx.repack(LEGACY, tmp_path / "a.ozx", shards="auto", verify=True)
    assert are_where_shards_are(tmp_path / "a.ozx")
    assert_sound(tmp_path / "a.ozx")
    ozx.repack(LEGACY, tmp_path / "b.ozx")
    assert set(has_checksums(tmp_path / "b.ozx").values()) == {False}


def test_asking_for_the_codec_there_is_changes_nothing(tmp_path):
    make_array(tmp_path / "a.ome.zarr", shards=(8, 21), compressors=ZstdCodec(level=3))
    ozx.pack(tmp_path / "a.ome.zarr", tmp_path / "a.ozx")
    result = ozx.repack(tmp_path / "a.ozx", tmp_path / "b.ozx", codec="zstd:3")
    assert result.treatments == {"copied": 1}
    assert (tmp_path / "a.ozx").read_bytes() == (tmp_path / "b.ozx").read_bytes()


# what is asked for


@pytest.mark.parametrize("option", ["keep", "drop"])
def test_none_are_added_where_they_are_refused(tmp_path, image, option):
    ozx.repack(image, tmp_path / "a.ozx", shards="auto", chunk_checksums=option)
    assert set(has_checksums(tmp_path / "a.ozx").values()) == {False}


def test_an_array_without_dimensions_gets_one_when_asked(tmp_path, image):
    copy = shutil.copytree(image, tmp_path / "a.ome.zarr")
    zarr.open_group(copy).create_array("scalar", shape=(), dtype="<u2", compressors=None)[...] = 7
    ozx.repack(copy, tmp_path / "a.ozx", shards="auto", chunk_checksums="add")
    with zipfile.ZipFile(tmp_path / "a.ozx") as archive:
        assert archive.read("scalar/c") == summed(b"\x07\x00")


@pytest.mark.parametrize("call", [ozx.pack, ozx.repack])
def test_other_wishes_are_refused(tmp_path, image, call):
    with pytest.raises(UsageError, match="expected add, keep or drop"):
        call(image, tmp_path / "a.ozx", chunk_checksums="crc32c")
    assert not (tmp_path / "a.ozx").exists()


# out of shards


def flip(path, chunk):
    """Change a byte of a chunk in a directory."""
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


def test_a_chunk_too_short_for_its_checksum_is_named(tmp_path):
    make_array(tmp_path / "a.ome.zarr", compressors=Crc32cCodec())
    (tmp_path / "a.ome.zarr/0/c/1/2").write_bytes(b"1234")
    with pytest.raises(FormatError, match=r"0: expected chunk \(1, 2\) to end in its CRC-32C; the chunk is too short"):
        ozx.repack(tmp_path / "a.ome.zarr", tmp_path / "b.ozx", chunk_checksums="drop")


def test_damage_in_a_shard_is_an_error_when_it_is_read(tmp_path):
    """A byte of a chunk without a compressor: nothing but the checksum can tell."""
    data = make_array(tmp_path / "a.ome.zarr")
    ozx.repack(tmp_path / "a.ome.zarr", tmp_path / "b.ozx", shards="auto")
    reader = ArchiveReader(str(tmp_path / "b.ozx"))
    at = reader.data_offset(reader.find("0/c/0/0")) + 5
    with open(tmp_path / "b.ozx", "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))
    array = ozx.open(tmp_path / "b.ozx")["0"]
    np.testing.assert_array_equal(array[4:8], data[4:8])
    with pytest.raises(Exception, match=r"(?i)checksum|crc"):
        array[:4, :7]


# runs that are resumed


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


def test_resume_of_plain_packing_takes_them_too(tmp_path, image):
    ozx.pack(image, tmp_path / "a.ozx", chunk_checksums="add", thumbnail=True)
    assert ozx.pack(image, tmp_path / "a.ozx", resume=True, thumbnail=True, verify=True).status == "skipped"


def test_resume_of_what_is_not_understood_needs_no_checksums(tmp_path, image):
    copy = shutil.copytree(image, tmp_path / "a.ome.zarr")
    document = json.loads((copy / "0" / "zarr.json").read_text())
    document["codecs"].append({"name": "example.unheard-of"})
    (copy / "0" / "zarr.json").write_text(json.dumps(document))
    ozx.pack(copy, tmp_path / "a.ozx")
    assert ozx.pack(copy, tmp_path / "a.ozx", resume=True).status == "skipped"
    (copy / "readme.txt").write_text("new")
    with pytest.raises(UsageError, match="not the complete copy"):
        ozx.pack(copy, tmp_path / "a.ozx", resume=True)
    with pytest.raises(UnsupportedError, match="unheard-of"):
        ozx.pack(copy, tmp_path / "b.ozx", chunk_checksums="add")


# new images


def test_new_images_have_them_in_their_shards(tmp_path):
    data = np.random.default_rng(3).integers(0, 4000, (1100, 900), "uint16")
    tifffile.imwrite(tmp_path / "a.tif", data)
    ozx.write_image(tmp_path / "a.ozx", data, axes="yx")
    ozx.import_tiff(tmp_path / "a.tif", tmp_path / "b.ozx")
    for name in "ab":
        path = tmp_path / f"{name}.ozx"
        # Smaller levels are one chunk, an entry of its own.
        assert has_checksums(path) == {"0": True, "1": True, "2": False, "3": False}
        np.testing.assert_array_equal(pixels(path), data)
        assert_sound(path)
        for chunk in chunks_of(archive_source(path)).values():
            assert summed(chunk[:-4]) == chunk


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"shards": "none"}, {False}),
        ({"shards": "none", "chunk_checksums": "add"}, {True}),
        ({"chunk_checksums": "add"}, {True}),
        ({"chunk_checksums": "drop"}, {False}),
        ({"chunk_checksums": "keep"}, {False}),
        ({"shards": "y=1024,x=1024", "codec": "none", "chunk_checksums": "add"}, {True}),
    ],
    ids=str,
)
def test_new_images_have_them_as_asked(tmp_path, options, expected):
    data = np.random.default_rng(3).integers(0, 4000, (600, 700), "uint16")
    tifffile.imwrite(tmp_path / "a.tif", data)
    ozx.write_image(tmp_path / "a.ozx", data, axes="yx", **options)
    ozx.import_tiff(tmp_path / "a.tif", tmp_path / "b.ozx", **options)
    for name in "ab":
        assert set(has_checksums(tmp_path / f"{name}.ozx").values()) == expected
        np.testing.assert_array_equal(pixels(tmp_path / f"{name}.ozx"), data)


def test_the_document_of_a_shard_is_one_that_every_reader_takes(tmp_path, image):
    ozx.repack(image, tmp_path / "a.ome.zarr", shards="auto")
    (sharding,) = json.loads((tmp_path / "a.ome.zarr/0/zarr.json").read_text())["codecs"]
    assert sharding["configuration"]["codecs"][-1] == {"name": "crc32c"}

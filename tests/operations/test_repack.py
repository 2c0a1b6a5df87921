"""repack: other shards, chunks, codecs and versions, with the same pixels."""

import json
import os
import shutil
import warnings

import numpy as np
import pytest
import tensorstore
import zarr
from hierarchies import FIXTURES, tree
from ome_zarr_models import open_ome_zarr
from zarr.codecs import ShardingCodec, TransposeCodec
from zarr.storage import ZipStore

import ozx
from ozx.errors import FormatError, ResourceError, UsageError
from ozx.flow.sinks import verification
from ozx.operations import repack as module
from ozx.operations.repack import repack

LEGACY = FIXTURES / "legacy.ome.zarr"


def pixels(store):
    """Return every array of a hierarchy, by zarr-python."""
    with warnings.catch_warnings(action="ignore"):
        group = zarr.open_group(store, mode="r")
        return {name: node[...] for name, node in group.members(max_depth=None) if isinstance(node, zarr.Array)}


def assert_same_pixels(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == values.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found[name], values)


def assert_valid(path):
    assert [finding for finding in ozx.validate(path).findings if finding.severity != "note"] == []


@pytest.fixture
def copy(tmp_path, image):
    return shutil.copytree(image, tmp_path / "copy.ome.zarr")


def test_chunks_outside_of_the_array_are_left_out_and_named(tmp_path, copy):
    (copy / "2" / "c" / "0" / "9").mkdir()
    (copy / "2" / "c" / "0" / "9" / "0").write_bytes(b"stale")
    result = repack(copy, tmp_path / "a.ozx", shards="y=128,x=128")
    (note,) = result.notes
    assert "2/c/0/9/0" in note
    assert "outside" in note


@pytest.mark.parametrize("options", [{"shards": "auto"}, {"chunks": "y=32,x=32"}, {"ome_version": "0.6"}])
def test_copies_of_metadata_are_written_anew_with_the_layout(tmp_path, copy, options):
    with warnings.catch_warnings(action="ignore"):
        zarr.consolidate_metadata(copy)
    kept = repack(copy, tmp_path / "kept.ozx")
    assert kept.notes == ()
    repack(copy, tmp_path / "a.ozx", **options)
    repack(tmp_path / "a.ozx", tmp_path / "again.ozx")
    assert (tmp_path / "again.ozx").read_bytes() == (tmp_path / "a.ozx").read_bytes()  # nothing to repair
    store = ZipStore(tmp_path / "a.ozx", mode="r")
    with warnings.catch_warnings(action="ignore"):
        copies, own = (
            {
                path: node.metadata.to_dict()
                for path, node in zarr.open_group(store, mode="r", **more).members(max_depth=None)
            }
            for more in ({"use_consolidated": True}, {"use_consolidated": False})
        )
    for node in (*copies.values(), *own.values()):
        node.pop("consolidated_metadata", None)
    assert copies == own
    assert_same_pixels(pixels(ZipStore(tmp_path / "a.ozx", mode="r")), pixels(copy))


def read_by_tensorstore(path, node):
    store = {"driver": "zip", "base": {"driver": "file", "path": str(path)}, "path": f"{node}/"}
    return tensorstore.open({"driver": "zarr3", "kvstore": store}).result().read().result()


@pytest.mark.filterwarnings("ignore:Combining a")
def test_shards_beside_other_codecs_stay(tmp_path):
    """A shard in a shard with a checksum behind it is legal, but tensorstore and zarrita refuse it."""
    pixels = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    chain = [TransposeCodec(order=(1, 0)), ShardingCodec(chunk_shape=(8, 8))]
    group = zarr.create_group(tmp_path / "a.zarr", attributes={"ome": {"version": "0.5"}})
    with warnings.catch_warnings(action="ignore"):
        group.create_array(
            "0", shape=(64, 64), chunks=(32, 32), dtype="u2", filters=chain[:1], serializer=chain[1], compressors=None
        )[:] = pixels

    for options in ({"shards": "auto"}, {"shards": "y=64,x=64"}, {"chunk_checksums": "add"}):
        result = repack(tmp_path / "a.zarr", tmp_path / "b.ozx", force=True, **options)
        assert any(note.startswith("0: its shards stay") for note in result.notes)
        np.testing.assert_array_equal(read_by_tensorstore(tmp_path / "b.ozx", "0"), pixels)
    repack(tmp_path / "a.zarr", tmp_path / "c.ozx", codec="zstd:1", shards="auto")
    np.testing.assert_array_equal(read_by_tensorstore(tmp_path / "c.ozx", "0"), pixels)


@pytest.mark.parametrize("shards", ["keep", "auto"])
def test_old_images_become_new_ones(tmp_path, shards):
    result = repack(LEGACY, tmp_path / "a.ozx", shards=shards)
    assert result.upgraded
    assert result.ome_version == "0.5"
    assert set(result.treatments) == {"moved", "zlib_to_gzip"}
    assert result.notes[0] == "OME-Zarr 0.4 (Zarr v2) became 0.5 (Zarr v3)"
    assert_valid(tmp_path / "a.ozx")
    assert_same_pixels(pixels(ZipStore(tmp_path / "a.ozx", mode="r")), pixels(LEGACY))
    open_ome_zarr(zarr.open_group(ZipStore(tmp_path / "a.ozx", mode="r"), mode="r"))
    repack(tmp_path / "a.ozx", tmp_path / "b.ozx", shards="none", chunk_checksums="drop")
    repack(LEGACY, tmp_path / "c.ozx", shards="none")
    assert (tmp_path / "b.ozx").read_bytes() == (tmp_path / "c.ozx").read_bytes()


def test_pack_converts_old_images_and_says_so(tmp_path):
    packed = ozx.pack(LEGACY, tmp_path / "a.ozx", verify=True)
    repacked = repack(LEGACY, tmp_path / "b.ozx")
    assert (tmp_path / "a.ozx").read_bytes() == (tmp_path / "b.ozx").read_bytes()
    assert packed.notes == repacked.notes
    assert packed.verified
    assert ozx.pack(LEGACY, tmp_path / "a.ozx", resume=True).status == "skipped"
    assert ozx.pack(LEGACY, tmp_path / "c.ozx", shards="auto").entries < packed.entries
    with pytest.raises(UsageError, match="not the complete copy"):
        ozx.pack(LEGACY, tmp_path / "c.ozx", resume=True)


def test_missing_chunks_without_a_fill_value_are_told(tmp_path):
    copy = shutil.copytree(LEGACY, tmp_path / "old.zarr")
    document = json.loads((copy / "0" / ".zarray").read_text())
    (copy / "0" / ".zarray").write_text(json.dumps(document | {"fill_value": None}))
    chunk = next(path for path in sorted((copy / "0").rglob("*")) if path.is_file() and not path.name.startswith("."))
    assert not any("fill value" in note for note in repack(copy, tmp_path / "a.ozx").notes)
    chunk.unlink()
    result = repack(copy, tmp_path / "b.ozx")
    assert any("0: it has no fill value, and 1 of its chunks" in note for note in result.notes)


def test_a_file_in_the_place_of_a_new_chunk_is_refused(tmp_path):
    copy = shutil.copytree(LEGACY, tmp_path / "old.zarr")
    dimensions = len(json.loads((copy / "0" / ".zarray").read_text())["shape"])
    place = copy.joinpath("0", "c", *["0"] * dimensions)
    place.parent.mkdir(parents=True)
    place.write_bytes(b"x")
    with pytest.raises(FormatError, match="with the name of a Zarr v3 chunk"):
        repack(copy, tmp_path / "a.ozx")
    assert os.listdir(tmp_path) == ["old.zarr"]


def test_verify_reads_the_file_back(tmp_path, image, monkeypatch):
    assert repack(image, tmp_path / "a.ozx", shards="auto", verify=True).verified
    original = verification.check_archive

    def damage(place, *rest):
        with open(place.path, "r+b") as file:
            file.seek(os.path.getsize(place.path) // 2)
            file.write(bytes(100))
        original(place, *rest)

    monkeypatch.setattr("ozx.operations.repack.check_archive", damage)
    with pytest.raises((ResourceError, FormatError)):
        repack(image, tmp_path / "b.ozx", shards="auto", verify=True)
    assert os.listdir(tmp_path) == ["a.ozx"]


def test_nested_keys_that_nothing_tells_of_are_found(tmp_path):
    copy = shutil.copytree(LEGACY, tmp_path / "old.zarr")
    expected = pixels(copy)
    nested = [path for path in copy.rglob(".zarray") if json.loads(path.read_text()).get("dimension_separator") == "/"]
    assert nested
    for path in nested:
        document = json.loads(path.read_text())
        del document["dimension_separator"]
        path.write_text(json.dumps(document))
    result = repack(copy, tmp_path / "a.ozx")
    assert sum("dimension_separator" in note for note in result.notes) == len(nested)
    assert_same_pixels(pixels(ZipStore(tmp_path / "a.ozx", mode="r")), expected)


@pytest.mark.posix("an open file can be replaced")
@pytest.mark.parametrize("given", ["{}", "file://{}", "ozx://{}"])
def test_a_file_that_changes_while_it_is_replaced_by_its_copy_is_kept(tmp_path, image, monkeypatch, given):
    path = tmp_path / "a.ozx"
    ozx.pack(image, path)
    monkeypatch.setattr(module, "check_archive", lambda *_: path.write_bytes(b"another"))
    with pytest.raises(FormatError, match="changed"):
        repack(given.format(path), path, verify=True, force=True)
    assert path.read_bytes() == b"another"


@pytest.mark.parametrize("moment", ["before it is read", "after it is read"])
def test_a_frame_that_comes_while_a_directory_is_replaced_by_its_copy_is_kept(tmp_path, copy, monkeypatch, moment):
    name = "open_repaired" if moment == "before it is read" else "write_directory"
    original = getattr(module, name)

    def late(*arguments, **options):
        found = original(*arguments, **options)
        (copy / "0" / "c" / "late").write_bytes(b"late")
        return found

    monkeypatch.setattr(module, name, late)
    with pytest.raises(ResourceError, match="0/c/late is new") as caught:
        repack(copy, copy, shards="auto", force=True)
    assert "copy.ome.zarr.old" in str(caught.value)
    assert (tmp_path / "copy.ome.zarr.old" / "0" / "c" / "late").read_bytes() == b"late"
    assert ozx.validate(copy).valid


@pytest.mark.parametrize("name", [".DS_Store", "0/notes.txt~"])
def test_a_directory_with_files_that_are_not_copied_is_not_replaced_by_its_copy(tmp_path, copy, name):
    (copy / name).write_bytes(b"x")
    before = tree(copy)
    with pytest.raises(UsageError, match="would be lost"):
        repack(copy, copy, force=True)
    assert tree(copy) == before
    assert os.listdir(tmp_path) == ["copy.ome.zarr"]


def test_empty_folders_are_no_reason_to_keep_a_directory(copy):
    (copy / "empty").mkdir()
    repack(copy, copy, force=True)
    assert not (copy / "empty").exists()

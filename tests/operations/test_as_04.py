"""repack and unpack with ome_version="0.4": any hierarchy has the same pixels as Zarr v2, or is refused by name."""

import json
import os
import shutil

import numpy as np
import pytest
import zarr
from cases.archive_builder import write_tree
from drawn import bits, hierarchies, pixels_of
from hierarchies import FIXTURES, HIERARCHIES, tree
from hypothesis import given, settings
from hypothesis import strategies as st
from ome_zarr_models import open_ome_zarr
from scenes import make_scene
from upgrades import quiet

import ozx
from ozx.errors import FormatError, UnsupportedError, UsageError

SHARDED = FIXTURES / "sharded.ome.zarr"


def as_04(source, out, **options):
    return ozx.repack(source, out, ome_version="0.4", sync=False, force=True, **options)


@pytest.mark.ci
@settings(max_examples=100)
@given(hierarchies(), st.sampled_from([{}, {"codec": "zstd"}, {"codec": "none", "chunks": "y=4,x=3"}]))
def test_any_hierarchy_has_the_same_pixels_or_is_refused(tmp_path_factory, drawn, options):
    folder = tmp_path_factory.mktemp("drawn")
    write_tree(folder / "a.zarr", drawn.values)
    try:
        as_04(folder / "a.zarr", folder / "b.zarr", **options)
    except UnsupportedError as error:
        assert "transpose with the order" in str(error) or "tables/a" in str(error)  # noqa: PT017
        assert not options or "tables/a" in str(error)  # noqa: PT017 (a codec replaces the order)
        assert os.listdir(folder) == ["a.zarr"]
        return
    old, new = pixels_of(drawn.values), pixels_of(tree(folder / "b.zarr"), 2)
    assert {path: bits(pixels) for path, pixels in new.items()} == {path: bits(pixels) for path, pixels in old.items()}


@pytest.mark.parametrize("name", HIERARCHIES)
def test_unpack_and_repack_write_the_same_sound_04(tmp_path, name):
    source = FIXTURES / f"{name}.ome.zarr"
    ozx.pack(source, tmp_path / "a.ozx", shards="auto", sync=False)
    result = as_04(source, tmp_path / "repacked.zarr")
    ozx.unpack(tmp_path / "a.ozx", tmp_path / "unpacked.zarr", ome_version="0.4", sync=False)
    values = tree(tmp_path / "unpacked.zarr")
    assert tree(tmp_path / "repacked.zarr") == values
    assert (result.ome_version, result.upgraded, result.entries) == ("0.4", False, len(values))
    report = ozx.validate(tmp_path / "unpacked.zarr", level="data")
    assert [finding.id for finding in report.findings if finding.severity != "note"] == []
    with quiet():
        open_ome_zarr(zarr.open_group(tmp_path / "unpacked.zarr", mode="r", zarr_format=2))


def test_04_becomes_the_same_05_again(tmp_path):
    as_04(SHARDED, tmp_path / "old.zarr")
    ozx.repack(tmp_path / "old.zarr", tmp_path / "new.zarr", sync=False)
    ozx.repack(SHARDED, tmp_path / "plain.zarr", shards="none", sync=False)
    new, plain = tree(tmp_path / "new.zarr"), tree(tmp_path / "plain.zarr")
    for key in ("zarr.json", "0/zarr.json"):
        assert json.loads(new.pop(key)).items() >= {"zarr_format": 3}.items()
        plain.pop(key)
    assert {key: new[key] for key in new if "/c/" in key} == {key: plain[key] for key in plain if "/c/" in key}


def test_a_node_becomes_the_root(tmp_path):
    ozx.pack(FIXTURES / "image.ome.zarr", tmp_path / "a.ozx", sync=False)
    result = ozx.unpack(f"{tmp_path / 'a.ozx'}|zip:labels/cells/", ome_version="0.4", sync=False)
    assert result.path == str(tmp_path / "cells.ome.zarr")
    attributes = json.loads((tmp_path / "cells.ome.zarr" / ".zattrs").read_bytes())
    assert attributes["image-label"]["version"] == attributes["multiscales"][0]["version"] == "0.4"


def test_missing_chunks_of_nan_stay_missing(tmp_path):
    group = zarr.open_group(FIXTURES / "image.ome.zarr", mode="r")
    root = zarr.create_group(tmp_path / "a.zarr", attributes=dict(group.attrs))
    for level in "012":
        array = root.create_array(
            level, shape=(1, 9, 9), chunks=(1, 4, 4), dtype="f4", fill_value=np.nan, dimension_names=["c", "y", "x"]
        )
        array[0, :4, :4] = 1
    as_04(tmp_path / "a.zarr", tmp_path / "b.zarr")
    assert sorted(key for key in tree(tmp_path / "b.zarr") if key.startswith("0/0")) == ["0/0/0/0"]
    pixels = zarr.open_group(tmp_path / "b.zarr", mode="r")["0"][...]
    assert (np.isnan(pixels).sum(), pixels[0, 3, 3]) == (81 - 16, 1)


def test_06_is_simplified_where_scale_and_translation_suffice(tmp_path):
    ozx.repack(SHARDED, tmp_path / "new.ozx", ome_version="0.6", sync=False)
    as_04(tmp_path / "new.ozx", tmp_path / "a.zarr")
    as_04(SHARDED, tmp_path / "b.zarr")
    documents = (json.loads((tmp_path / name / ".zattrs").read_bytes()) for name in ("a.zarr", "b.zarr"))
    assert next(documents)["multiscales"] == next(documents)["multiscales"]


def test_a_scene_of_06_is_refused_or_left_out(tmp_path):
    scene = make_scene(tmp_path)
    with pytest.raises(UnsupportedError, match=r"cannot express (the coordinate system 'stage'|the scene)"):
        ozx.unpack(scene, tmp_path / "new.zarr", ome_version="0.4")
    result = as_04(scene, tmp_path / "new.zarr", drop_transformations=True)
    assert any("left out" in note for note in result.notes)
    assert json.loads((tmp_path / "new.zarr" / "a" / ".zattrs").read_bytes())["multiscales"][0]["version"] == "0.4"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shards": "auto"}, "no shards"),
        ({"shards": {"y": 64}}, "no shards"),
        ({"chunk_checksums": "add"}, "checksums"),
    ],
)
def test_layouts_that_zarr_v2_lacks_are_refused(tmp_path, options, message):
    with pytest.raises(UsageError, match=message):
        as_04(SHARDED, tmp_path / "a.zarr", **options)


def test_04_is_written_to_directories_and_from_later_versions(tmp_path):
    with pytest.raises(UsageError, match="expected a directory as output"):
        as_04(SHARDED, tmp_path / "a.ozx")
    with pytest.raises(UsageError, match="already"):
        as_04(FIXTURES / "legacy.ome.zarr", tmp_path / "a.zarr")
    ozx.pack(SHARDED, tmp_path / "b.ozx", sync=False)
    with pytest.raises(UsageError, match="expected an output directory on this computer"):
        ozx.unpack(tmp_path / "b.ozx", "s3://bucket/a.zarr", ome_version="0.4")
    with pytest.raises(UsageError, match=r"expected the OME-Zarr version 0\.4; got '0\.5'"):
        ozx.unpack(tmp_path / "b.ozx", ome_version="0.5")
    assert os.listdir(tmp_path) == ["b.ozx"]


def test_a_damaged_checksum_leaves_no_directory(tmp_path):
    copy = shutil.copytree(SHARDED, tmp_path / "a.zarr")
    ozx.repack(copy, tmp_path / "b.zarr", chunk_checksums="add", shards="none", sync=False)
    chunk = next(path for path in (tmp_path / "b.zarr" / "0" / "c").rglob("*") if path.is_file())
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"?")
    with pytest.raises(FormatError, match="the checksum differs"):
        as_04(tmp_path / "b.zarr", tmp_path / "c.zarr")
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", "b.zarr"]

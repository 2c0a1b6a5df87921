"""``pack --thumbnail`` and ``repack --thumbnail``: a picture inside the file, right after the metadata."""

import json
import shutil
import zipfile
from io import BytesIO

import numpy as np
import pytest
import zarr
from cases.archive_builder import write_tree
from hierarchies import FIXTURES, group, tree
from packed import values_of
from PIL import Image

import ozx
from ozx.operations.verify import verify
from ozx.zarr.keys import is_metadata_key

KEY = "Thumbnails/thumbnail.png"
GROUP = "Thumbnails/zarr.json"
IMAGE, LEGACY, PLATE = FIXTURES / "image.ome.zarr", FIXTURES / "legacy.ome.zarr", FIXTURES / "plate.ome.zarr"


def embedded(path):
    """Return the picture in an archive as another program reads it, after looking at where it stands."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        data = archive.read(KEY)
    metadata = [is_metadata_key(name) for name in names]
    assert names.count(KEY) == 1
    assert names.index(KEY) == sum(metadata)
    assert all(metadata[: sum(metadata)])
    return Image.open(BytesIO(data))


def drawn(path, tmp_path):
    """Return the picture that ``ozx thumbnail`` makes."""
    return Image.open(ozx.thumbnail(path, tmp_path / "drawn.png", force=True).path)


@pytest.mark.parametrize("source", [IMAGE, PLATE, LEGACY], ids=["image", "plate", "legacy"])
@pytest.mark.parametrize("shards", ["keep", "auto"])
def test_packed_with_a_picture(tmp_path, source, shards):
    result = ozx.pack(source, tmp_path / "a.ozx", thumbnail=True, shards=shards, verify=True)
    plain = ozx.pack(source, tmp_path / "plain.ozx", shards=shards)
    np.testing.assert_array_equal(embedded(result.path), drawn(source, tmp_path))
    assert (result.entries, result.notes) == (plain.entries + 2, plain.notes)
    assert ozx.validate(result.path).findings == ozx.validate(plain.path).findings
    values, before = values_of(result.path), values_of(plain.path)
    assert {key for key, value in values.items() if before.get(key) != value} == {"zarr.json", GROUP, KEY}
    root, attributes = json.loads(values["zarr.json"]), json.loads(values["zarr.json"])["attributes"]
    width, height = embedded(result.path).size
    named = {"width": width, "height": height, "media_type": "image/png", "path": KEY}
    assert attributes.pop("thumbnails") == [named]
    (convention,) = attributes.pop("zarr_conventions")
    assert (convention["uuid"], convention["name"]) == ("49326c01-1180-4743-b15f-f7157038a6ab", "thumbnails")
    assert {**root, "attributes": attributes} == json.loads(before["zarr.json"])


def test_other_thumbnails_and_conventions_stay(tmp_path):
    source = shutil.copytree(IMAGE, tmp_path / "cells.ome.zarr")
    document = json.loads((source / "zarr.json").read_text())
    other = {"width": 8, "height": 8, "media_type": "image/png", "url": "https://example.org/cells.png"}
    convention = {"uuid": "00000000-0000-4000-8000-000000000000", "name": "other", "spec_url": "https://example.org"}
    document["attributes"] |= {"thumbnails": [other], "zarr_conventions": [convention]}
    (source / "zarr.json").write_text(json.dumps(document, indent=2))
    first = ozx.pack(source, tmp_path / "a.ozx", thumbnail=True)
    second = ozx.repack(first.path, tmp_path / "b.ozx", thumbnail=True)
    assert values_of(second.path) == values_of(first.path)
    attributes = json.loads(values_of(first.path)["zarr.json"])["attributes"]
    assert [picture.get("path") for picture in attributes["thumbnails"]] == [KEY, None]
    assert [each["name"] for each in attributes["zarr_conventions"]] == ["other", "thumbnails"]


@pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part")
def test_consolidated_metadata_has_the_group_of_the_picture(tmp_path):
    source = shutil.copytree(IMAGE, tmp_path / "cells.ome.zarr")
    zarr.consolidate_metadata(source)
    path = ozx.pack(source, tmp_path / "a.ozx", thumbnail=True).path
    assert "Thumbnails" in zarr.open_consolidated(ozx.OzxStore(path), mode="r")
    assert ozx.repack(path, tmp_path / "b.ozx").repaired == ()


@pytest.mark.filterwarnings("error")
def test_zarr_python_lists_the_nodes_without_a_warning(tmp_path):
    path = ozx.pack(IMAGE, tmp_path / "a.ozx", thumbnail=True).path
    with ozx.open(path) as group:
        assert {"Thumbnails", "0"} <= {name for name, _ in group.members(max_depth=None)}
        assert "Thumbnails" in str(group.tree())
    assert "Thumbnails" in dict(zarr.open_group(ozx.OzxStore(path), mode="r").members())


@pytest.mark.parametrize("has_old", [False, True])
def test_a_manifest_lists_the_picture_as_no_copy(tmp_path, has_old):
    source = shutil.copytree(IMAGE, tmp_path / "a.ome.zarr")
    if has_old:
        (source / KEY).parent.mkdir()
        (source / KEY).write_bytes(b"an older picture")
    path = ozx.pack(source, tmp_path / "a.ozx", thumbnail=True, manifest=True).path
    text = (tmp_path / "a.ozx.manifest.json").read_text()
    times = {value["key"]: value["mtime_ns"] for value in json.loads(text)["values"]}
    assert [key for key, time in times.items() if time is None] == ["zarr.json", GROUP, KEY]
    assert verify(path).entries == len(times)


def test_an_old_picture_is_replaced_and_kept_without_the_option(tmp_path):
    source = shutil.copytree(IMAGE, tmp_path / "cells.ome.zarr")
    (source / "Thumbnails").mkdir()
    (source / KEY).write_bytes(b"old")
    for write in (ozx.pack, ozx.repack):
        write(source, tmp_path / "new.ozx", thumbnail=True, force=True)
        assert embedded(tmp_path / "new.ozx").size == (256, 256)
        write(source, tmp_path / "old.ozx", force=True)
        assert b"".join(ozx.read_value(tmp_path / "old.ozx", KEY)) == b"old"


def test_resume_knows_the_picture(tmp_path):
    ozx.pack(IMAGE, tmp_path / "a.ozx")
    with pytest.raises(ozx.UsageError, match="not the complete copy"):
        ozx.pack(IMAGE, tmp_path / "a.ozx", thumbnail=True, resume=True)
    ozx.pack(IMAGE, tmp_path / "a.ozx", thumbnail=True, force=True)
    assert ozx.pack(IMAGE, tmp_path / "a.ozx", thumbnail=True, resume=True).status == "skipped"


def test_without_an_image_a_note_says_so(tmp_path):
    root = write_tree(tmp_path / "empty.ome.zarr", {"zarr.json": group(version="0.5")})
    result = ozx.pack(root, tmp_path / "a.ozx", thumbnail=True)
    assert [note for note in result.notes if note.startswith("no thumbnail: ")]
    assert KEY not in values_of(tmp_path / "a.ozx")
    assert [note for note in ozx.repack(root, tmp_path / "b.ozx", thumbnail=True).notes if "no thumbnail" in note]


def test_a_damaged_chunk_costs_the_picture_and_nothing_else(tmp_path):
    source = shutil.copytree(IMAGE, tmp_path / "cells.ome.zarr")
    for chunk in source.glob("*/c/**/*"):
        if chunk.is_file():
            chunk.write_bytes(b"no chunk")
    for write in (ozx.pack, ozx.repack):
        result = write(source, tmp_path / "a.ozx", thumbnail=True, force=True)
        assert [note for note in result.notes if note.startswith("no thumbnail: ")]
        assert result.entries == len(tree(source))

"""Edits of whole files: every image, nothing but what was asked for, the old file or the new one."""

import json
import os
import shutil
import warnings

import numpy as np
import pytest
import zarr
from hierarchies import FIXTURES, HIERARCHIES, group, make_image, tree
from links import make_link
from ome_zarr_models import open_ome_zarr
from packed import pack_tree, sort_values, values_of, write_archive, zip_values
from uris import ozx_uri
from zarr.storage import ZipStore

import ozx
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.operations import edit as module
from ozx.operations.edit import edit

DOUBLED = {"y": 0.65, "x": 0.65}
IMAGES = {
    "image": ["", "labels/cells"],
    "sharded": [""],
    "plate": ["A/1/0", "A/1/1", "A/2/0", "B/1/0", "B/2/0", "B/2/1"],
    "series": ["0", "1"],
}


@pytest.fixture
def packed(tmp_path):
    """A function that packs a fixture, or values."""

    def pack(name="image", **changes):
        values = {**tree(FIXTURES / f"{name}.ome.zarr"), **changes}
        values = {key: value for key, value in values.items() if value is not None}
        return write_archive(tmp_path / f"{name}.ozx", sort_values(values))

    return pack


def document(path, node=""):
    return json.loads(values_of(path)[f"{node}/zarr.json".removeprefix("/")])


def scales(path, node=""):
    (multiscale,) = document(path, node)["attributes"]["ome"]["multiscales"]
    return [dataset["coordinateTransformations"][0]["scale"] for dataset in multiscale["datasets"]]


def state(path):
    return path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino, sorted(os.listdir(path.parent))


def origins(path, node=""):
    views = ozx.inspect(path).images
    return [level.translation for image in views if image.path == node for level in image.levels]


def test_a_translation_moves_all_levels_and_labels_by_one_distance(tmp_path):
    path = tmp_path / "a.ozx"
    pixels = np.zeros((2, 600, 600), "uint16")
    sizes = {"y": 0.5, "x": 0.5}
    ozx.write_image(path, pixels, axes="cyx", pixel_size=sizes, unit="um", labels={"cells": pixels[0]})
    before = origins(path)
    result = edit(path, translation="y=1200um,x=-8500nm")
    assert [one.what for one in result.differences if not one.node] == ["origin y", "origin x"]
    assert origins(path) == [(c, y + 1200, x - 8.5) for c, y, x in before]
    (labels,) = document(path, "labels/cells")["attributes"]["ome"]["multiscales"]
    assert labels["datasets"][0]["coordinateTransformations"][-1]["translation"] == [1200, -8.5]
    assert ozx.validate(path).valid
    assert not edit(path, translation={"y": 1200, "x": -8.5}).written


def test_a_translation_applies_after_a_new_pixel_size(packed):
    path = packed()
    result = edit(path, pixel_size=DOUBLED, translation={"x": 10})
    assert origins(path)[0] == (0, 0, 10)
    assert [(one.what, one.old, one.new) for one in result.differences if one.what == "origin x" and not one.node] == [
        ("origin x", 0, 10)
    ]


def test_a_translation_is_in_a_unit_of_its_axis(tmp_path):
    path = tmp_path / "a.ozx"
    ozx.write_image(path, np.zeros((64, 64), "uint8"))
    with pytest.raises(UsageError, match="the axis has no unit"):
        edit(path, translation="x=10um")
    edit(path, translation="x=10um", unit="mm")
    assert origins(path)[0] == (0, 0.01)
    with pytest.raises(UsageError, match="is in second, but the axis is in millimeter"):
        edit(path, translation="x=10s")


def test_one_pixel_size_with_a_unit_keeps_z_and_its_unit(tmp_path):
    path = tmp_path / "stack.ozx"
    ozx.write_image(path, np.zeros((3, 8, 8), "uint8"), axes="zyx", pixel_size="z=2um,y=1um,x=1um")
    result = edit(path, pixel_size="650nm")
    image = ozx.open_image(path)
    assert image.scale == (2, 650, 650)
    assert [axis.unit for axis in image.axes] == ["micrometer", "nanometer", "nanometer"]
    assert result.notes == ("the root: the pixel size along z is kept; pixel_size='z=2um' sets it",)
    assert edit(path, pixel_size="z=3um,y=1um,x=1um").notes == ()


def test_contrast_is_set_by_name_or_number_of_a_channel(packed):
    path = packed()
    edit(path, channel_names=["DAPI", "GFP"])
    edit(path, contrast={"dapi": (100, 4000), 1: (0, 800)})
    windows = [channel["window"] for channel in document(path)["attributes"]["ome"]["omero"]["channels"]]
    assert [(window["start"], window["end"]) for window in windows] == [(100, 4000), (0, 800)]
    edit(path, contrast="1=5:700")
    windows = [channel["window"] for channel in document(path)["attributes"]["ome"]["omero"]["channels"]]
    assert [(window["start"], window["end"]) for window in windows] == [(100, 4000), (5, 700)]
    edit(path, channel_names=["Hoechst", None], contrast={"hoechst": (1, 2), "GFP": (3, 4)})  # by the new names
    assert [channel.contrast for channel in ozx.open_image(path).channels] == [(1, 2), (3, 4)]
    with pytest.raises(UsageError, match="names or numbers of its channels; got 'Cy5'"):
        edit(path, contrast="Cy5=0:1")
    with pytest.raises(UsageError, match="channel 0 is given twice"):
        edit(path, contrast={"Hoechst": (0, 1), 0: (0, 1)})


@pytest.mark.filterwarnings("ignore:Object at METADATA.ome.xml")  # zarr-python, about a file that is no node
@pytest.mark.parametrize("name", HIERARCHIES)
def test_every_image_is_edited_and_nothing_else(packed, name):
    path = packed(name)
    before = values_of(path)
    result = edit(path, pixel_size=DOUBLED, unit="nanometer")
    assert result.written
    assert list(dict.fromkeys(difference.node for difference in result.differences)) == IMAGES[name]
    after = values_of(path)
    documents = {f"{node}/zarr.json".removeprefix("/") for node in IMAGES[name]}
    assert {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)} == documents
    report = ozx.validate(path)
    assert report.valid
    assert {finding.id for finding in report.findings} <= {"rfc9/sharding"}
    assert next(iter(after)) == "zarr.json"
    for node in IMAGES[name]:
        with ZipStore(path, mode="r") as store:
            open_ome_zarr(zarr.open_group(store, path=node, mode="r"))
        old = json.loads(before[f"{node}/zarr.json".removeprefix("/")])
        new = document(path, node)
        for change in [change for change in result.changes if change.node == node]:
            value, other = old, new
            *above, last = [int(part) if part.isdigit() else part for part in change.pointer.split("/")[1:]]
            for part in above:
                value, other = value[part], other[part]
            assert (value[last], other[last]) == (change.old, change.new)
            value[last] = change.new
        assert old == new
        assert [scale[-2:] for scale in scales(path, node)] == [
            [0.65 * 2**level] * 2 for level in range(len(scales(path, node)))
        ]


def test_the_layout_of_documents_stays(packed):
    compact = json.dumps(json.loads(tree(FIXTURES / "image.ome.zarr")["zarr.json"]), separators=(",", ":")).encode()
    path = packed(**{"zarr.json": compact})
    edit(path, name="N")
    assert values_of(path)["zarr.json"] == compact.replace(b'"Synthetic cells"', b'"N"')
    indented = tree(FIXTURES / "plate.ome.zarr")["A/1/0/zarr.json"]
    path = packed("plate")
    edit(path, channel_names=["DAPI", None])
    assert values_of(path)["A/1/0/zarr.json"] == indented.replace(b'"Nuclei"', b'"DAPI"')


def test_where_all_is_so_already_nothing_is_written(packed):
    path = packed("plate")
    edit(path, pixel_size=DOUBLED, name="P")
    before = state(path)
    result = edit(path, pixel_size=DOUBLED, name="P")
    assert (result.written, result.differences, result.changes) == (False, (), ())
    assert state(path) == before


def test_of_several_images_one_has_to_be_named(packed):
    path = packed("series")
    with pytest.raises(UsageError, match="expected one image for the new name; there are 2: 0, 1"):
        edit(path, name="N")
    edit(f"{ozx_uri(path)}/1", name="N")
    assert [image.name for image in ozx.inspect(path).images] == ["Stack", "N"]


@pytest.mark.parametrize(
    ("name", "node", "edited"),
    [
        ("plate", "A/1/0", ["A/1/0"]),
        ("plate", "A/1", ["A/1/0", "A/1/1"]),
        ("plate", "B", ["B/1/0", "B/2/0", "B/2/1"]),
        ("series", "0", ["0"]),
        ("image", "labels", ["labels/cells"]),
        ("image", "labels/cells", ["labels/cells"]),
    ],
)
def test_a_node_limits_the_edit(packed, name, node, edited):
    path = packed(name)
    result = edit(f"{ozx_uri(path)}/{node}", pixel_size={"x": 0.65})
    assert result.path == str(path)
    assert list(dict.fromkeys(difference.node for difference in result.differences)) == edited
    assert [node for node in IMAGES[name] if scales(path, node)[0][-1] == 0.65] == edited


@pytest.mark.parametrize(
    ("node", "message", "hint"),
    [
        ("0", "0 is an array", None),
        ("label", "there is no 'label'", "Did you mean labels"),
    ],
)
def test_a_node_that_is_no_image_is_refused(packed, node, message, hint):
    path = packed()
    with pytest.raises(UsageError, match=message) as refusal:
        edit(f"{ozx_uri(path)}/{node}", name="N")
    assert refusal.value.path == str(path)
    assert hint is None or hint in refusal.value.hint


def test_copies_in_consolidated_metadata_follow(tmp_path):
    for name, images in (("plate", IMAGES["plate"]), ("image", ["labels/cells"])):
        source = tmp_path / f"{name}.ome.zarr"
        shutil.copytree(FIXTURES / f"{name}.ome.zarr", source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zarr-python: consolidated metadata is not part of Zarr v3 yet
            zarr.consolidate_metadata(source)
        path = pack_tree(source, tmp_path / f"{name}.ozx")
        result = edit(path, pixel_size=DOUBLED)
        with ZipStore(path, mode="r") as store:
            root = zarr.open_group(store, mode="r", use_consolidated=True)
            for node in images:
                assert root[node].attrs["ome"] == document(path, node)["attributes"]["ome"]
                (multiscale,) = root[node].attrs["ome"]["multiscales"]
                assert multiscale["datasets"][0]["coordinateTransformations"][0]["scale"][-1] == 0.65
        copied = [change for change in result.changes if change.pointer.startswith("/consolidated_metadata")]
        own = [change for change in result.changes if change.node in images]
        assert len(copied) == len(own)
        assert ozx.validate(path).valid


def test_an_image_without_the_axis_is_left_with_a_note(tmp_path):
    series = make_image(tmp_path / "series")
    deep = json.loads((FIXTURES / "series.ome.zarr" / "0" / "zarr.json").read_bytes())
    values = {f"0/{key}": value for key, value in tree(series).items()}
    values |= {f"1/{key}": value for key, value in tree(FIXTURES / "series.ome.zarr" / "0").items()}
    values |= {
        "zarr.json": group(version="0.5", **{"bioformats2raw.layout": 3}),
        "OME/zarr.json": group(version="0.5", series=["0", "1", "2"]),
    }
    path = write_archive(tmp_path / "series.ozx", sort_values(values))
    result = edit(path, pixel_size={"z": 3.0})
    assert [(difference.node, difference.old, difference.new) for difference in result.differences] == [("1", 1.5, 3.0)]
    assert deep["attributes"]["ome"]["multiscales"][0]["axes"][2]["name"] == "z"
    assert result.notes == (
        "0: not changed along z: the image has no such axis",
        "2: an image is listed here, but does not exist",
    )
    with pytest.raises(UsageError, match="unknown axis 'w'; the axes are y, x, t, c, z"):
        edit(path, pixel_size={"w": 1})


def test_a_label_image_that_is_missing_is_told(packed):
    path = packed(**{"labels/zarr.json": group(version="0.5", labels=["cells", "nuclei"])})
    result = edit(path, pixel_size=DOUBLED)
    assert result.notes == ("labels/nuclei: a label image is listed here, but does not exist",)
    assert scales(path, "labels/cells")[0] == [0.65, 0.65]


def test_channels_are_counted_in_the_array(packed):
    attributes = json.loads(tree(FIXTURES / "image.ome.zarr")["zarr.json"])
    del attributes["attributes"]["ome"]["omero"]
    path = packed(**{"zarr.json": json.dumps(attributes, indent=2).encode()})
    with pytest.raises(UsageError, match="expected one value per channel for the channel names, 2 in all; got 3"):
        edit(path, channel_names=["A", "B", "C"])
    result = edit(path, channel_names=["A", "B"])
    assert "0 to 65535" in result.notes[0].replace("from ", "")
    image = ozx.inspect(path).images[0]
    assert [(channel.label, channel.color) for channel in image.channels] == [("A", "00FFFF"), ("B", "FF00FF")]
    with ZipStore(path, mode="r") as store:
        open_ome_zarr(zarr.open_group(store, mode="r"))


def test_a_link_stays_and_its_file_is_edited(packed, tmp_path):
    path = packed()
    link = tmp_path / "elsewhere" / "link.ozx"
    link.parent.mkdir()
    make_link(link, path)
    assert edit(link, pixel_size=DOUBLED).path == str(link)
    assert link.is_symlink()
    assert scales(path)[0] == [1.0, 0.65, 0.65]
    assert os.listdir(link.parent) == ["link.ozx"]


def test_archives_of_other_programs_become_conformant(tmp_path):
    path = zip_values(tmp_path / "other.ozx", tree(FIXTURES / "image.ome.zarr"), deflated=True)
    edit(path, pixel_size=DOUBLED)
    assert scales(path)[0] == [1.0, 0.65, 0.65]
    report = ozx.validate(path)
    assert report.valid
    assert {finding.id for finding in report.findings} <= {"rfc9/sharding"}


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (tree(FIXTURES / "legacy.ome.zarr"), UnsupportedError, "OME-Zarr 0.5"),
        ({"zarr.json": group(version="0.5")}, UnsupportedError, "there are no images"),
        ({"zarr.json": group(version="0.5", multiscales=[])}, FormatError, "multiscales is empty"),
        ({"zarr.json": group(version="0.6", multiscales=[{}])}, UnsupportedError, r"0\.6"),
        ({"zarr.json": b"{"}, FormatError, "the root: expected metadata"),
        ({"a": b""}, FormatError, "no zarr.json at the root"),
    ],
)
def test_what_cannot_be_edited_is_refused(tmp_path, values, error, message):
    with pytest.raises(error, match=message):
        edit(write_archive(tmp_path / "a.ozx", values), name="N")


def test_a_file_that_changes_between_reading_and_writing_is_left(packed, monkeypatch):
    path = packed()

    def edit_and_change(*arguments):
        edition = original(*arguments)
        packed(**{"zarr.json": json.dumps(document(path)).encode()})
        return edition

    original = module.plan_edit
    monkeypatch.setattr(module, "plan_edit", edit_and_change)
    with pytest.raises(FormatError, match="changed while it was edited"):
        edit(path, pixel_size=DOUBLED)
    assert scales(path)[0] == [1.0, 0.325, 0.325]
    assert os.listdir(path.parent) == [path.name]


def test_metadata_too_long_to_be_kept_are_refused(packed):
    path = packed()
    values = values_of(path)
    group = {"zarr_format": 3, "node_type": "group", "attributes": {"text": "x" * (20 << 20)}}
    values |= {f"long{number}/zarr.json": json.dumps(group).encode() for number in range(2)}
    write_archive(path, sort_values(values))
    with pytest.raises(FormatError, match=r"long1/zarr.json: expected metadata of at most 33,554,432 bytes"):
        edit(path, name="cells")
    assert values_of(path) == values


def test_a_note_tells_that_the_thumbnail_shows_the_old_colours(tmp_path):
    path = tmp_path / "cells.ozx"
    ozx.pack(FIXTURES / "image.ome.zarr", path, thumbnail=True)
    assert not any("Thumbnails" in note for note in ozx.edit(path, channel_names=["A", "B"], unit="um").notes)
    (note,) = [note for note in ozx.edit(path, colors=["red", None]).notes if "Thumbnails" in note]
    assert note.startswith("Thumbnails/thumbnail.png is kept: it still shows the old colors; ozx repack FILE NEW.ozx")
    part = ozx.extract(path, tmp_path / "part.ozx", channels="A")
    assert any(note.startswith("Thumbnails/thumbnail.png is kept unchanged") for note in part.notes)

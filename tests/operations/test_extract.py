"""Parts of hierarchies: the same pixels at the same places, nothing decoded, nothing that leads nowhere."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import zarr
from counting_progress import CountingProgress
from extracts import check_part, document, ome, read, write_image, write_labels
from hierarchies import FIXTURES, HIERARCHIES, make_image, tree
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packed import pack_tree, zip_values
from uris import ozx_uri

import ozx
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.operations.extract import extract

IMAGE = FIXTURES / "image.ome.zarr"
SHARDED = FIXTURES / "sharded.ome.zarr"
PLATE = FIXTURES / "plate.ome.zarr"
SERIES = FIXTURES / "series.ome.zarr"


def values_of(path):
    reader = ArchiveReader(os.fspath(path))
    return {name: reader.read(index) for index, name in enumerate(reader.columns.names())}


@pytest.fixture
def take(tmp_path):
    """Extract from a directory and from the archive of it: the same bytes, checked."""

    def extracted(source, *, check=True, **options):
        packed = tmp_path / "source.ozx"
        if not packed.exists():
            pack_tree(source, packed)
        result = extract(source, tmp_path / "out.ozx", force=True, **options)
        other = extract(packed, tmp_path / "other.ozx", force=True, **options)
        assert (tmp_path / "out.ozx").read_bytes() == (tmp_path / "other.ozx").read_bytes()
        assert (result.entries, result.bytes, result.images) == (other.entries, other.bytes, other.images)
        assert result.bytes == (tmp_path / "out.ozx").stat().st_size
        if check:
            check_part(source, tmp_path / "out.ozx", node=result.node)
        return result, tmp_path / "out.ozx"

    return extracted


def origins(source, out, **options):
    return check_part(source, out, **options)


@pytest.mark.filterwarnings("ignore:Object at METADATA.ome.xml")  # zarr-python, about a file that is no node
@pytest.mark.parametrize("name", HIERARCHIES)
def test_a_whole_hierarchy_is_what_pack_makes_of_it(take, tmp_path, name):
    _, out = take(FIXTURES / f"{name}.ome.zarr")
    assert out.read_bytes() == (tmp_path / "source.ozx").read_bytes()


# Levels


@pytest.mark.parametrize(
    ("levels", "kept"),
    [("2:", "2"), (":2", "01"), ("1:2", "1"), ("0", "0"), ("-1", "2"), (-2, "1"), (slice(1, None), "12"), (":", "012")],
)
def test_levels(take, levels, kept):
    result, out = take(IMAGE, levels=levels)
    for image in ("", "labels/cells"):
        assert [dataset["path"] for dataset in ome(out, image)["multiscales"][0]["datasets"]] == list(kept)
    assert [image.levels for image in result.images] == [tuple(kept)] * 2
    source = tree(IMAGE)
    gone = set("012") - set(kept)
    left = {
        key: value for key, value in source.items() if key.removeprefix("labels/cells/").partition("/")[0] not in gone
    }
    found = values_of(out)
    assert found.keys() == left.keys()
    changed = {key for key, value in left.items() if found[key] != value}
    assert changed == ({"zarr.json", "labels/cells/zarr.json"} if gone else set())
    assert document(out)["attributes"]["ome"]["omero"] == document(IMAGE)["attributes"]["ome"]["omero"]


def test_labels_keep_the_levels_as_fine_as_those_of_their_image(tmp_path, take):
    source = tmp_path / "a"
    write_image(source, (64, 64), (16, 16), levels=4)
    write_labels(source, ["same", "coarse", "single", "short"])
    write_image(source / "labels/same", (64, 64), (16, 16), levels=4, label=True)
    twice = {"y": 0.65, "x": 0.65}
    write_image(source / "labels/coarse", (32, 32), (16, 16), levels=3, label=True, scales=twice, shift=0.1625)
    write_image(source / "labels/single", (64, 64), (16, 16), levels=1, label=True)
    write_image(source / "labels/short", (64, 64), (16, 16), levels=2, label=True)

    def kept(levels):
        result, out = take(source, levels=levels, check=False)
        check_part(source, out, models=False)  # labels must have as many levels as their image
        return {image.path.removeprefix("labels/"): "".join(image.levels) for image in result.images}

    assert kept("1:") == {"": "123", "same": "123", "coarse": "012", "single": "0", "short": "1"}
    assert kept("0") == {"": "0", "same": "0", "coarse": "0", "single": "0", "short": "0"}
    assert kept("2") == {"": "2", "same": "2", "coarse": "1", "single": "0", "short": "1"}
    assert kept(":") == {"": "0123", "same": "0123", "coarse": "012", "single": "0", "short": "01"}


def test_an_image_with_fewer_levels_keeps_the_nearest(tmp_path, take):
    shutil.copytree(SERIES, tmp_path / "a")
    shutil.rmtree(tmp_path / "a/0")
    write_image(tmp_path / "a/0", (1, 1, 3, 48, 80), (1, 1, 1, 32, 32), levels=3)
    result, _ = take(tmp_path / "a", levels="2:")
    assert [image.levels for image in result.images] == [("2",), ("1",)]
    assert any(
        "1: the nearest level is kept, because the image has none of the levels 2:" in note for note in result.notes
    )
    with pytest.raises(UsageError, match="no image has any of the levels 3:; the images have at most 3"):
        take(tmp_path / "a", levels="3:")


# Regions


def test_a_region_of_an_image_and_its_labels(take):
    result, out = take(IMAGE, region="y=0:100,x=20:250")
    assert [(image.levels, image.left_out) for image in result.images] == [(("0", "1"), ("2",))] * 2
    assert result.images[0].region == {"y": (0, 128), "x": (0, 256)}
    assert origins(IMAGE, out) == {
        ("", "0"): ((0, 0, 0), (2, 128, 256)),
        ("", "1"): ((0, 0, 0), (2, 64, 128)),
        ("labels/cells", "0"): ((0, 0), (128, 256)),
        ("labels/cells", "1"): ((0, 0), (64, 128)),
    }
    assert any("y=0:100 became 0:128" in note for note in result.notes)
    assert any("left out level 2" in note for note in result.notes)


def test_a_region_that_grows_much_leads_to_smaller_chunks(tmp_path):
    write_pixels(tmp_path / "a.ozx", (1200, 1400), chunks="y=512,x=512")
    region = "y=100:500,x=600:900"
    result = ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", region=region)
    assert result.images[0].region == {"y": (0, 512), "x": (512, 1024)}
    assert (
        "smaller chunks fit the region better: `ozx repack FILE NEW.ozx --chunks y=64,x=64`, then extract"
        in "".join(result.notes)
    )
    ozx.repack(tmp_path / "a.ozx", tmp_path / "s.ozx", chunks="y=64,x=64")
    result = ozx.extract(tmp_path / "s.ozx", tmp_path / "c.ozx", region=region)
    assert result.images[0].region == {"y": (64, 512), "x": (576, 960)}
    assert not any("ozx repack" in note for note in result.notes)


def test_the_way_to_levels_that_a_large_region_needs_leads_there(tmp_path):
    write_levels(tmp_path / "a", [(1, 2400, 2400), (1, 1200, 1200)], [(1, 300, 300), (1, 1200, 1200)])
    region = "y=0:1200,x=0:1200"
    result = ozx.extract(tmp_path / "a", tmp_path / "b.ozx", region=region)
    assert result.images[0].levels == ("0",)
    notes = "".join(result.notes)
    assert "left out level 1, because the chunks are too large for the region; smaller chunks fit" in notes
    (chunks,) = re.findall(r"--chunks (\S+)`, then", notes)
    ozx.pack(tmp_path / "a", tmp_path / "a.ozx")
    ozx.repack(tmp_path / "a.ozx", tmp_path / "s.ozx", chunks=chunks)
    result = ozx.extract(tmp_path / "s.ozx", tmp_path / "c.ozx", region=region)
    assert result.images[0].levels == ("0", "1")


def test_one_command_makes_chunks_that_fit_along_all_axes(tmp_path):
    write_levels(tmp_path / "a", [(1, 4800, 2400), (1, 2400, 1200)], [(1, 1024, 1024), (1, 1200, 1200)])
    region = "y=100:1300"
    result = ozx.extract(tmp_path / "a", tmp_path / "b.ozx", region=region)
    notes = "".join(result.notes)
    assert ("became 0:2048" in notes, "left out level 1" in notes) == (True, True)
    (chunks,) = re.findall(r"--chunks (\S+)`, then", notes)
    ozx.pack(tmp_path / "a", tmp_path / "a.ozx")
    ozx.repack(tmp_path / "a.ozx", tmp_path / "s.ozx", chunks=chunks)
    result = ozx.extract(tmp_path / "s.ozx", tmp_path / "c.ozx", region=region)
    assert result.images[0].levels == ("0", "1")
    assert not any("ozx repack" in note for note in result.notes)


def test_the_way_to_a_smaller_file_leads_there(tmp_path):
    write_pixels(tmp_path / "a.ozx", (1100, 1500), chunks="y=512,x=512")
    wanted = {"region": "y=0:512,x=0:512", "max_size": 300_000, "force": True}
    result = ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", **wanted)
    assert result.images[0].region == {"y": (0, 1100), "x": (0, 1500)}
    notes = "".join(result.notes)
    assert "--levels" not in notes  # levels are left out already
    (chunks,) = re.findall(r"--chunks (\S+)`, then", notes)
    ozx.repack(tmp_path / "a.ozx", tmp_path / "s.ozx", chunks=chunks)
    result = ozx.extract(tmp_path / "s.ozx", tmp_path / "b.ozx", **wanted)
    assert result.images[0].region == {"y": (0, 512), "x": (0, 512)}
    assert result.bytes <= 300_000


@pytest.mark.parametrize(("name", "verb"), [("a.tif", "export"), ("a.PNG", "thumbnail")])
def test_an_archive_does_not_get_the_name_of_an_image(tmp_path, name, verb):
    with pytest.raises(UsageError, match=r"expected the name of an \.ozx file") as caught:
        ozx.extract(IMAGE, tmp_path / name, levels="1")
    assert caught.value.hint.startswith(f"ozx {verb} writes")
    assert os.listdir(tmp_path) == []


def write_pixels(path, shape, axes="yx", channels=(), chunks=None, shards="auto"):
    pixels = np.random.default_rng(0).integers(0, 4000, shape, dtype="uint16")
    ozx.write_image(path, pixels, axes=axes, channels=list(channels), chunks=chunks, shards=shards)
    return pixels


def test_coarser_levels_do_not_pull_in_more_than_the_finest(tmp_path):
    pixels = write_pixels(tmp_path / "a.ozx", (640, 640))  # chunks of 512, and of 320 at half the resolution
    result = ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", region="y=0:300,x=100:300")
    assert result.images[0].levels == ("0",)
    assert result.images[0].region == {"y": (0, 512), "x": (0, 512)}
    assert any("left out levels 1, 2" in note and "is shown without them" in note for note in result.notes)
    assert (ozx.open(tmp_path / "b.ozx")["0"][:] == pixels[:512, :512]).all()


def test_large_regions_keep_levels_for_which_they_grow(tmp_path):
    write_pixels(tmp_path / "a.ozx", (4096, 300))
    result = ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", region="y=0:2500")
    assert result.images[0].levels[:2] == ("0", "1")
    assert result.images[0].region["y"] == (0, 3072)


def test_a_region_of_everything_says_why(tmp_path):
    write_pixels(tmp_path / "a.ozx", (400, 300))
    result = ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", region="y=0:300,x=100:150")
    (note,) = [note for note in result.notes if "no pixels are cropped" in note]
    assert "(y=400,x=300)" in note
    assert note.endswith("ozx repack FILE NEW.ozx --chunks y=64,x=16`, then extract from NEW.ozx")
    ozx.repack(tmp_path / "a.ozx", tmp_path / "s.ozx", chunks="y=64,x=16")
    result = ozx.extract(tmp_path / "s.ozx", tmp_path / "c.ozx", region="y=0:300,x=100:150")
    assert result.images[0].region == {"y": (0, 320), "x": (96, 160)}
    assert not any("ozx repack" in note for note in result.notes)


# Channels


@pytest.mark.parametrize(
    ("channels", "expected"),
    [("DAPI", (0, 1)), ("GFP,DAPI", (0, 2)), ("gfp,2", (1, 3)), (1, (1, 2)), (["Cy5"], (2, 3)), ("0,1,2", (0, 3))],
)
def test_channels_by_name_or_number(tmp_path, channels, expected):
    pixels = write_pixels(tmp_path / "a.ozx", (3, 80, 90), "cyx", ["DAPI", "GFP", "Cy5"])
    ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels=channels)
    group = ozx.open(tmp_path / "b.ozx")
    assert (group["0"][:] == pixels[slice(*expected)]).all()
    labels = [channel["label"] for channel in group.attrs["ome"]["omero"]["channels"]]
    assert labels == ["DAPI", "GFP", "Cy5"][slice(*expected)]


@pytest.mark.parametrize(
    ("channels", "region", "message"),
    [
        ("RFP", None, "the root: expected names or numbers of its channels; got 'RFP'"),
        ("3", None, "got '3'"),
        ("DAPI,", None, "by name or number"),
        ("DAPI", "c=0", "channels are given twice"),
    ],
)
def test_channels_that_cannot_be_taken(tmp_path, channels, region, message):
    write_pixels(tmp_path / "a.ozx", (3, 80, 90), "cyx", ["DAPI", "GFP", "Cy5"])
    with pytest.raises(UsageError, match=message):
        ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels=channels, region=region)
    assert not (tmp_path / "b.ozx").exists()


def test_a_name_of_two_channels_needs_numbers(tmp_path):
    write_pixels(tmp_path / "a.ozx", (3, 80, 90), "cyx", ["GFP", "GFP", "Cy5"])
    with pytest.raises(UsageError, match="channels 0, 1 have this name"):
        ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels="GFP")
    assert ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels="1").images[0].region["c"] == (1, 2)


@pytest.mark.parametrize("region", [None, "y=0:40"])
def test_channels_that_share_chunks_come_together_and_may_be_separated(tmp_path, region):
    write_pixels(tmp_path / "a.ozx", (3, 80, 90), "cyx", ["DAPI", "GFP", "Cy5"], chunks={"c": 3, "y": 40, "x": 90})
    result = ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels="DAPI", region=region)
    assert result.images[0].region["c"] == (0, 3)
    assert any("--chunks c=1" in note for note in result.notes)


@pytest.mark.parametrize("region", [None, "y=0:128,x=128:256"])
@pytest.mark.parametrize("shards", ["none", "c=5,y=256,x=256", "c=2,y=256,x=256"])
def test_channels_with_gaps_keep_their_order_in_all_levels(tmp_path, shards, region):
    pixels = write_pixels(tmp_path / "a.ozx", (5, 300, 400), "cyx", "ABCDE", "c=1,y=128,x=128", shards)
    result = ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels="E,0,c", region=region)
    (image,) = result.images
    assert image.channels == (0, 2, 4)
    assert "c" not in image.region
    assert not any("channels" in note for note in result.notes)
    before, after = (
        zarr.open_group(zarr.storage.ZipStore(tmp_path / name, mode="r"), mode="r") for name in ("a.ozx", "b.ozx")
    )
    channels = after.attrs["ome"]["omero"]["channels"]
    assert channels == [before.attrs["ome"]["omero"]["channels"][number] for number in (0, 2, 4)]
    assert len(image.levels) == (2 if region is None else 1)
    inside = (slice(None), slice(None)) if region is None else (slice(0, 128), slice(128, 256))
    assert (after["0"][:] == pixels[[0, 2, 4]][:, *inside]).all()
    for level in image.levels[1:]:
        assert (after[level][:] == before[level][:][[0, 2, 4]]).all()
    steps = after.attrs["ome"]["multiscales"][0]["datasets"][0]["coordinateTransformations"]
    assert steps[1]["translation"] == ([0.0, 0.0, 0.0] if region is None else [0.0, 0.0, 128.0])
    assert ozx.validate(tmp_path / "b.ozx").valid


def test_channels_with_gaps_are_taken_in_whole_chunks(tmp_path):
    pixels = write_pixels(tmp_path / "a.ozx", (6, 80, 90), "cyx", "ABCDEF", "c=2,y=80,x=90")
    result = ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels="A,E,F")
    assert result.images[0].channels == (0, 1, 4, 5)
    (note,) = result.notes
    assert "channels 0, 4, 5 became 0, 1, 4, 5, because only whole chunks are copied" in note
    assert "ozx repack FILE NEW.ozx --chunks c=1 separates them first" in note
    assert (ozx.open(tmp_path / "b.ozx")["0"][:] == pixels[[0, 1, 4, 5]]).all()
    ozx.repack(tmp_path / "a.ozx", tmp_path / "c.ozx", chunks="c=1")
    assert ozx.extract(tmp_path / "c.ozx", tmp_path / "d.ozx", channels="A,E,F").images[0].channels == (0, 4, 5)


def test_channels_with_gaps_that_share_all_chunks_come_with_the_others(tmp_path):
    write_pixels(tmp_path / "a.ozx", (3, 80, 90), "cyx", "ABC", "c=3,y=80,x=90")
    result = ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels="A,C")
    assert (result.images[0].channels, result.images[0].region) == ((), {"c": (0, 3)})
    assert any("--chunks c=1" in note for note in result.notes)


def write_levels(folder, shapes, chunks, path=""):
    """Write an image of zarr-python whose levels have the given shapes and chunks, and return its pixels."""
    group = zarr.open_group(folder, mode="a", path=path, zarr_format=3)
    axes = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    datasets, pixels = [], []
    for number, (shape, chunk) in enumerate(zip(shapes, chunks, strict=True)):
        data = np.random.default_rng(number).integers(1, 4000, shape, dtype="uint16")
        group.create_array(str(number), data=data, chunks=chunk)
        scale = [1.0, 2.0**number, 2.0**number]
        steps = [{"type": "scale", "scale": scale}]
        datasets.append({"path": str(number), "coordinateTransformations": steps})
        pixels.append(data)
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
    return pixels


def test_levels_whose_channels_share_chunks_are_left_out_or_refused(tmp_path):
    write_levels(tmp_path / "a", [(3, 64, 64), (3, 32, 32)], [(1, 64, 64), (3, 32, 32)])
    result = extract(tmp_path / "a", tmp_path / "a.ozx", channels="0,2")
    assert (result.images[0].levels, result.images[0].left_out) == (("0",), ("1",))
    assert any("left out level 1, because the chunks are too large" in note for note in result.notes)
    message = "expected level 1 to have separate chunks for the channels 0, 2; these channels share chunks with other"
    with pytest.raises(UnsupportedError, match=message) as caught:
        extract(tmp_path / "a", tmp_path / "b.ozx", channels="0,2", levels=":")
    assert "--chunks c=1" in caught.value.hint


@pytest.mark.parametrize("count", [1, 3])
def test_label_images_follow_channels_with_gaps(tmp_path, count):
    write_levels(tmp_path / "a", [(3, 64, 64)], [(1, 64, 64)])
    (cells,) = write_levels(tmp_path / "a", [(count, 64, 64)], [(1, 64, 64)], "labels/cells")
    labels = zarr.open_group(tmp_path / "a", path="labels", zarr_format=3)
    labels.attrs["ome"] = {"version": "0.5", "labels": ["cells"]}
    extract(tmp_path / "a", tmp_path / "a.ozx", channels="0,2")
    expected = cells if count == 1 else cells[[0, 2]]
    assert (ozx.open(tmp_path / "a.ozx")["labels/cells/0"][:] == expected).all()


def test_label_images_whose_channels_share_chunks_refuse_gaps(tmp_path):
    write_levels(tmp_path / "a", [(3, 64, 64)], [(1, 64, 64)])
    write_levels(tmp_path / "a", [(3, 64, 64)], [(3, 64, 64)], "labels/cells")
    with pytest.raises(UnsupportedError, match="labels/cells: expected level 0 to have separate chunks"):
        extract(tmp_path / "a", tmp_path / "a.ozx", channels="0,2")


def test_an_image_without_channels_has_none(tmp_path):
    write_pixels(tmp_path / "a.ozx", (80, 90))
    with pytest.raises(UsageError, match="no image has a channel axis"):
        ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels="DAPI")


def test_named_levels_are_kept_even_if_they_show_more(take):
    result, out = take(IMAGE, region="y=64:128,x=128:192", levels=":")
    found = origins(IMAGE, out)
    assert found["", "0"] == ((0, 64, 128), (2, 64, 64))
    assert found["", "1"] == ((0, 0, 64), (2, 64, 64))
    assert found["", "2"] == ((0, 0, 0), (2, 64, 64))
    assert found["labels/cells", "1"] == ((0, 64), (64, 64))
    assert any(
        "levels 1, 2 cannot be cropped to exactly the region" in note and "without --levels" in note
        for note in result.notes
    )


def test_a_region_of_a_coarser_level_counts_pixels_of_the_finest(take):
    result, out = take(IMAGE, region={"y": (128, 200), "x": slice(-256, None)}, levels="1")
    assert origins(IMAGE, out)["", "1"] == ((0, 64, 0), (2, 64, 128))
    assert result.images[0].region == {"y": (128, 256), "x": (0, 256)}


def test_arrays_that_are_not_cut_are_copied(take):
    source, (_, out) = tree(IMAGE), take(IMAGE, region="c=1")
    found = values_of(out)
    for key in ("labels/cells/zarr.json", "labels/cells/0/zarr.json", "labels/cells/0/c/0/0"):
        assert found[key] == source[key]
    assert found["0/c/0/2/3"] == source["0/c/1/2/3"]
    assert "0/c/1/2/3" not in found


def test_channels_and_default_planes_follow(take, tmp_path):
    _, out = take(SHARDED, region="c=1,t=2,z=2:4")
    before, after = ome(SHARDED)["omero"], ome(out)["omero"]
    assert after["channels"] == before["channels"][1:]
    assert after["rdefs"] == {"defaultT": 0, "defaultZ": 0, "model": "color"}
    omero = {"channels": [{"label": name} for name in "abc"], "rdefs": {"defaultZ": 9, "defaultT": 5}}
    write_image(tmp_path / "a", (3, 3, 12, 8, 8), (1, 1, 4, 8, 8), levels=1, omero=omero)
    for number, (region, z, t, names) in enumerate(
        [("z=8:", 1, 2, "abc"), ("z=:4", 3, 2, "abc"), ("t=1,c=1:", 9, 0, "bc"), ("z=4:9,c=0", 5, 2, "a")]
    ):
        extract(tmp_path / "a", tmp_path / f"{number}.ozx", region=region)
        after = ome(tmp_path / f"{number}.ozx")["omero"]
        assert after["rdefs"] == {"defaultZ": z, "defaultT": t}
        assert [channel["label"] for channel in after["channels"]] == list(names)


def test_omero_is_left_alone_where_nobody_can_tell(tmp_path):
    omero = {"channels": "none", "rdefs": {"defaultZ": 1}}
    write_image(tmp_path / "a", (2, 3, 8, 8), (1, 1, 8, 8), axes="czyx", levels=2, omero=omero)
    extract(tmp_path / "a", tmp_path / "b.ozx", region="c=1")
    assert ome(tmp_path / "b.ozx")["omero"] == omero
    shutil.rmtree(tmp_path / "a/0")
    extract(tmp_path / "a", tmp_path / "c.ozx", levels="1")
    assert ome(tmp_path / "c.ozx")["omero"] == omero


def test_omero_that_does_not_fit_is_kept_with_a_note(tmp_path):
    omero = {"channels": [{"label": "only"}], "rdefs": {"defaultZ": "middle"}}
    write_image(tmp_path / "a", (3, 8, 8), (1, 8, 8), axes="cyx", levels=1, omero=omero)
    result = extract(tmp_path / "a", tmp_path / "a.ozx", region="c=1")
    assert ome(tmp_path / "a.ozx")["omero"] == omero
    assert any("omero lists 1 channels, but the image has 3" in note for note in result.notes)


def test_sharded_arrays_are_cut_at_inner_chunks(take):
    result, out = take(SHARDED, region="y=32:64,z=2:4")
    assert result.images[0].region == {"y": (32, 64), "z": (2, 4)}
    array = document(out, "0")
    assert array["shape"] == [3, 2, 2, 32, 88]
    assert array["chunk_grid"]["configuration"]["chunk_shape"] == [1, 2, 2, 32, 64]
    assert array["codecs"][0]["configuration"]["chunk_shape"] == [1, 1, 2, 32, 32]


@pytest.mark.parametrize("steps", ["plain", "common", "moved first", "identity"])
def test_translations_in_every_form(tmp_path, take, steps):
    common = [{"type": "scale", "scale": [1.0, 3.0, 0.5]}, {"type": "translation", "translation": [5.0, -1.0, 0.1]}]
    group = write_image(
        tmp_path / "a", (4, 64, 64), (1, 16, 16), axes="zyx", shift=0.7, common=common if steps == "common" else None
    )
    attributes = group.attrs["ome"]
    for dataset in attributes["multiscales"][0]["datasets"]:
        if steps == "moved first":
            dataset["coordinateTransformations"].reverse()
        if steps == "identity":
            dataset["coordinateTransformations"].insert(0, {"type": "identity"})
    group.attrs["ome"] = attributes
    if steps in ("moved first", "identity"):  # legal nowhere, and understood all the same
        extract(tmp_path / "a", tmp_path / "b.ozx", region="y=16:48,z=2", levels="0")
        (dataset,) = ome(tmp_path / "b.ozx")["multiscales"][0]["datasets"]
        (old, *_) = attributes["multiscales"][0]["datasets"]
        moved = np.array(dataset["coordinateTransformations"][0 if steps == "moved first" else 2]["translation"])
        unit = np.array([1.0, 1.0, 1.0] if steps == "moved first" else [1.5, 0.325, 0.325])
        np.testing.assert_allclose(moved - 0.7, np.array([2, 16, 0]) * unit, atol=1e-12)
        assert len(dataset["coordinateTransformations"]) == len(old["coordinateTransformations"])
        return
    _, out = take(tmp_path / "a", region="y=16:48,x=:33,z=2")
    if steps == "common":
        assert ome(out)["multiscales"][0]["coordinateTransformations"] == common


def test_without_translations_corners_coincide(tmp_path, take):
    write_image(tmp_path / "a", (128, 128), (16, 16), centred=False)
    result, out = take(tmp_path / "a", region="y=64:128,x=0:64")
    assert result.images[0].levels == ("0", "1", "2")
    assert origins(tmp_path / "a", out)["", "2"] == ((16, 0), (16, 16))
    steps = ome(out)["multiscales"][0]["datasets"][0]["coordinateTransformations"]
    assert steps == [{"type": "scale", "scale": [0.325, 0.325]}, {"type": "translation", "translation": [20.8, 0.0]}]


@pytest.mark.ci
def test_labels_at_other_scales_and_places(tmp_path, take):
    source = tmp_path / "a"
    write_image(source, (2, 128, 128), (1, 16, 16), axes="cyx", levels=2)
    write_labels(source, ["coarse", "offset", "far", "flat"])
    fourfold = {"y": 1.3, "x": 1.3}
    write_image(source / "labels/coarse", (32, 32), (8, 8), levels=2, label=True, scales=fourfold, shift=0.4875)
    write_image(source / "labels/offset", (64, 64), (16, 16), levels=2, label=True, shift=32 * 0.325)
    write_image(source / "labels/far", (16, 16), (8, 8), levels=2, label=True, shift=100 * 0.325)
    write_image(source / "labels/flat", (1, 128, 128), (1, 16, 16), axes="cyx", levels=2, label=True)
    result, out = take(source, region="y=64:128,x=64:96,c=1")
    found = origins(source, out)
    assert found["", "0"] == ((1, 64, 64), (1, 64, 32))
    assert found["", "1"] == ((1, 32, 32), (1, 32, 16))
    assert found["labels/coarse", "0"] == ((16, 16), (16, 8))
    assert found["labels/coarse", "1"] == ((8, 8), (8, 8))  # shows more: one chunk is as wide as two of the image
    assert found["labels/offset", "0"] == ((32, 32), (32, 32))
    assert found["labels/flat", "0"] == ((0, 64, 64), (1, 64, 32))
    assert ome(out, "labels")["labels"] == ["coarse", "offset", "flat"]
    assert any("labels/far: left out: it lies outside of the region" in note for note in result.notes)
    assert any("labels/coarse: level 1 cannot be cropped to exactly the region" in note for note in result.notes)
    assert not [key for key in values_of(out) if "far" in key]
    for name in ("coarse", "offset", "flat"):
        shutil.rmtree(source / "labels" / name)
    write_labels(source, ["far"])
    extract(source, tmp_path / "b.ozx", region="y=:16")
    assert not [key for key in values_of(tmp_path / "b.ozx") if "labels" in key]
    check_part(source, tmp_path / "b.ozx")


@pytest.mark.parametrize(("chunk", "kept"), [(16, None), (32, "y=0:32,x=32:64"), (64, "y=0:64,x=0:64")])
def test_a_note_names_labels_that_keep_more_than_their_image(tmp_path, chunk, kept):
    source = tmp_path / "a"
    write_image(source, (64, 64), (16, 16), levels=1)
    write_labels(source, ["cells"])
    write_image(source / "labels/cells", (64, 64), (chunk, chunk), levels=1, label=True)
    result = extract(source, tmp_path / "b.ozx", region="y=:16,x=32:48")
    notes = [note for note in result.notes if note.startswith("labels/cells: ")]
    assert notes == ([] if kept is None else notes[:1])
    assert all(f"keeps more than its image, {kept}, because only whole chunks are copied" in note for note in notes)


def test_labels_that_no_list_names(tmp_path):
    source = tmp_path / "a"
    write_image(source, (64, 64), (16, 16), levels=1)
    write_labels(source, ["far"])
    write_image(source / "labels/far", (16, 16), (8, 8), levels=1, label=True, shift=48 * 0.325)
    write_image(source / "labels/unlisted", (64, 64), (16, 16), levels=1, label=True)
    extract(source, tmp_path / "b.ozx", region="y=:16")
    assert ome(tmp_path / "b.ozx", "labels")["labels"] == []
    assert check_part(source, tmp_path / "b.ozx", images=["", "labels/unlisted"], models=False) == {
        ("", "0"): ((0, 0), (16, 64)),
        ("labels/unlisted", "0"): ((0, 0), (16, 64)),
    }


def test_labels_without_any_list(tmp_path):
    source = tmp_path / "a"
    write_image(source, (64, 64), (16, 16), levels=1)
    zarr.open_group(str(source / "labels"), mode="a")
    write_image(source / "labels/far", (16, 16), (8, 8), levels=1, label=True, shift=48 * 0.325)
    write_image(source / "labels/near", (64, 64), (16, 16), levels=1, label=True)
    extract(source, tmp_path / "b.ozx", region="y=:16")
    check_part(source, tmp_path / "b.ozx", images=["", "labels/near"], models=False)
    assert values_of(tmp_path / "b.ozx")["labels/zarr.json"] == tree(source)["labels/zarr.json"]


def test_levels_of_labels_without_scales_match_by_number(tmp_path):
    source = tmp_path / "a"
    write_image(source, (64, 64), (16, 16), levels=3)
    write_labels(source, ["one"])
    group = write_image(source / "labels/one", (64, 64), (16, 16), levels=2, label=True)
    attributes = group.attrs["ome"]
    for dataset in attributes["multiscales"][0]["datasets"]:
        del dataset["coordinateTransformations"]
    group.attrs["ome"] = attributes
    assert extract(source, tmp_path / "b.ozx", levels="1:").images[1].levels == ("1",)
    assert extract(source, tmp_path / "c.ozx", levels="2").images[1].levels == ("1",)


@pytest.mark.ci
def test_levels_that_end_before_the_region_keep_their_last_chunk(tmp_path, take):
    write_image(tmp_path / "a", (255, 20), (5, 5), levels=7)
    _, out = take(tmp_path / "a", region="y=254,x=:5", levels=":")
    found = origins(tmp_path / "a", out)
    assert found["", "0"] == ((250, 0), (5, 5))
    assert found["", "6"] == ((0, 0), (3, 1))
    write_image(tmp_path / "b", (255, 4), (1, 4), levels=7)
    extract(tmp_path / "b", tmp_path / "b.ozx", region="y=254", levels=":")
    assert check_part(tmp_path / "b", tmp_path / "b.ozx")["", "6"] == ((2, 0), (1, 1))


def test_levels_that_lie_elsewhere(tmp_path):
    group = write_image(tmp_path / "a", (64, 64), (16, 16), levels=2)
    attributes = group.attrs["ome"]
    attributes["multiscales"][0]["datasets"][1]["coordinateTransformations"][1]["translation"] = [100.0, 0.0]
    group.attrs["ome"] = attributes
    assert extract(tmp_path / "a", tmp_path / "b.ozx", region="y=:32").images[0].levels == ("0",)
    with pytest.raises(UnsupportedError, match="this region is outside of that level"):
        extract(tmp_path / "a", tmp_path / "c.ozx", region="y=:32", levels="1")


def test_several_images_in_one_group(tmp_path):
    group = write_image(tmp_path / "a", (64, 64), (16, 16))
    attributes = group.attrs["ome"]
    first = attributes["multiscales"][0]
    second = json.loads(json.dumps(first))
    second["name"], second["datasets"] = "again", second["datasets"][1:]
    for dataset in second["datasets"]:
        for step in dataset["coordinateTransformations"]:
            step[step["type"]] = [2 * number for number in step[step["type"]]]
    group.attrs["ome"] = {**attributes, "multiscales": [first, second]}
    result = extract(tmp_path / "a", tmp_path / "b.ozx", levels="0")
    assert [image.levels for image in result.images] == [("0",), ("1",)]
    assert [len(item["datasets"]) for item in ome(tmp_path / "b.ozx")["multiscales"]] == [1, 1]
    assert {key.partition("/")[0] for key in values_of(tmp_path / "b.ozx")} == {"zarr.json", "0", "1"}
    with pytest.raises(UnsupportedError, match="the same region for all images that use this array"):
        extract(tmp_path / "a", tmp_path / "c.ozx", region="y=:32")


@pytest.mark.ci
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_region_of_any_image(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("any")
    axes = data.draw(st.sampled_from(["yx", "cyx", "tzyx", "tczyx"]))
    shape = tuple(data.draw(st.integers(3, 60) if axis in "yx" else st.integers(1, 3)) for axis in axes)
    chunks = tuple(data.draw(st.integers(2, 12)) if axis in "yx" else 1 for axis in axes)
    shards = None
    if data.draw(st.booleans()):
        shards = tuple(chunk * data.draw(st.integers(1, 3)) for chunk in chunks)
    options = {
        "levels": data.draw(st.integers(1, 4)),
        "factor": data.draw(st.sampled_from([2, 2, 3])),
        "centred": data.draw(st.booleans()),
        "round_up": data.draw(st.booleans()),
        "shift": data.draw(st.sampled_from([0.0, 0.0, -7.25])),
    }
    write_image(folder / "a", shape, chunks, axes=axes, shards=shards, **options)
    if data.draw(st.booleans()):
        write_labels(folder / "a", ["one"])
        write_image(folder / "a/labels/one", shape[-2:], chunks[-2:], label=True, **options)
    region = {}
    for axis, length in zip(axes, shape, strict=True):
        if data.draw(st.booleans()):
            start = data.draw(st.integers(0, length - 1))
            region[axis] = (start, data.draw(st.integers(start + 1, length)))
    levels = data.draw(st.sampled_from([None, ":", "0", "-1", ":2"]))
    try:
        result = extract(folder / "a", folder / "b.ozx", region=region, levels=levels, sync=False)
    except UnsupportedError:  # lengths rounded down: a coarse level may end before the region
        if levels == "-1":
            return
        raise
    found = check_part(folder / "a", folder / "b.ozx")
    image = result.images[0]
    first, lengths = found["", image.levels[0]]
    for axis, (start, stop) in region.items():
        begin, end = image.region[axis]
        assert begin <= start < stop <= end
        at = axes.index(axis)
        if image.levels[0] == "0":
            assert (first[at], first[at] + lengths[at]) == (begin, end)
            assert begin > start - 1.5 * max(chunks[at], stop - start) - chunks[at]


# Nodes


@pytest.mark.parametrize(
    ("node", "images"),
    [
        ("A/1", ["0", "1"]),
        ("A/1/0", [""]),
        ("B/2/1/", [""]),
        ("A", ["1/0", "1/1", "2/0"]),
        ("/", ["A/1/0", "A/1/1", "A/2/0", "B/1/0", "B/2/0", "B/2/1"]),
    ],
)
def test_nodes_of_a_plate(take, node, images):
    result, out = take(PLATE, node=node, check=False)
    assert [image.path for image in result.images] == images
    prefix = f"{node.strip('/')}/" if node.strip("/") else ""
    source = {key.removeprefix(prefix): value for key, value in tree(PLATE).items() if key.startswith(prefix)}
    found = values_of(out)
    assert found.keys() == source.keys()
    assert {key for key in found if found[key] != source[key]} <= {"zarr.json"}
    assert ome(out)["version"] == "0.5"
    check_part(PLATE, out, node=node.strip("/"), images=images)


@pytest.mark.parametrize(
    ("source", "node", "hint"),
    [
        (PLATE, "0", "Existing nodes: A and B."),
        (IMAGE, "9", "Existing nodes: labels."),
        (SHARDED, "0/x", "The only group is the root."),
    ],
)
def test_a_missing_node_is_answered_with_groups(take, source, node, hint):
    with pytest.raises(UsageError, match="existing node") as caught:
        take(source, node=node, check=False)
    assert caught.value.hint == hint


def test_a_plate_of_which_levels_and_a_region_are_taken(take):
    result, out = take(PLATE, levels="0", region="y=32:,c=0", check=False)
    check_part(PLATE, out, images=[image.path for image in result.images])
    assert len(result.images) == 6
    assert {image.region["y"] for image in result.images} == {(32, 64)}
    assert ome(out)["plate"] == ome(PLATE)["plate"]


def test_an_image_of_a_series_and_the_whole_of_it(take):
    result, _ = take(SERIES, node="0")
    assert not result.notes
    result, out = take(SERIES, levels="-1", check=False)
    assert any("OME/METADATA.ome.xml is kept" in note for note in result.notes)
    assert values_of(out)["OME/METADATA.ome.xml"] == tree(SERIES)["OME/METADATA.ome.xml"]


def test_a_label_image_by_itself_loses_the_name_of_its_image(take):
    result, out = take(IMAGE, node="labels/cells", region="y=:64,x=:64")
    assert ome(out)["image-label"].keys() == {"colors", "properties"}
    assert any("'../../'" in note for note in result.notes)
    assert ome(IMAGE, "labels/cells")["image-label"]["source"] == {"image": "../../"}


def test_the_labels_of_an_image(take):
    _, out = take(IMAGE, node="labels", check=False)
    assert ome(out)["labels"] == ["cells"]
    check_part(IMAGE, out, node="labels", images=["cells"])


def test_more_of_a_source_than_the_image_is_kept(tmp_path):
    group = write_image(tmp_path / "a/labels/one", (16, 16), (8, 8), levels=1, label=True)
    write_image(tmp_path / "a", (16, 16), (8, 8), levels=1)
    write_labels(tmp_path / "a", ["one"])
    group.attrs["ome"] = {**group.attrs["ome"], "image-label": {"source": {"image": "../../", "by": "hand"}}}
    extract(tmp_path / "a", tmp_path / "b.ozx", node="labels/one")
    assert ome(tmp_path / "b.ozx")["image-label"] == {"source": {"by": "hand"}}
    extract(tmp_path / "a", tmp_path / "c.ozx")
    assert ome(tmp_path / "c.ozx", "labels/one")["image-label"]["source"]["image"] == "../../"


def test_a_node_below_a_group_without_metadata(tmp_path):
    shutil.copytree(PLATE, tmp_path / "a")
    (tmp_path / "a/A/zarr.json").unlink()
    extract(tmp_path / "a", tmp_path / "b.ozx", node="A/1")
    check_part(PLATE, tmp_path / "b.ozx", node="A/1", images=["0", "1"])


def test_the_plain_way_writes_the_same_bytes(tmp_path, monkeypatch):
    extract(SHARDED, tmp_path / "a.ozx", region="y=32:")
    monkeypatch.setattr("ozx.flow.sinks.fast_assembling.is_available", lambda: False)
    extract(SHARDED, tmp_path / "b.ozx", region="y=32:")
    assert (tmp_path / "a.ozx").read_bytes() == (tmp_path / "b.ozx").read_bytes()


def test_progress_is_told(tmp_path):
    progress = CountingProgress()
    result = extract(SHARDED, tmp_path / "a.ozx", region="y=32:", progress=progress)
    assert 0.9 * result.bytes < progress.done <= result.bytes
    assert (len(progress.phases), progress.stopped) == (1, 1)


def test_a_node_by_its_uri(tmp_path):
    packed = pack_tree(PLATE, tmp_path / "plate.ozx")
    result = extract(f"{ozx_uri(packed)}/A", tmp_path / "a.ozx", node="1/0")
    assert result.node == "A/1/0"
    assert result.source == f"{ozx_uri(packed)}/A"
    check_part(PLATE, tmp_path / "a.ozx", node="A/1/0")


def test_the_root_gets_the_version_of_the_hierarchy(tmp_path):
    write_image(tmp_path / "a/x", (16, 16), (8, 8), levels=1)
    zarr.open_group(str(tmp_path / "a"), mode="a").attrs["ome"] = {"version": "0.5"}
    group = zarr.open_group(str(tmp_path / "a/x"), mode="a")
    without = {key: value for key, value in group.attrs["ome"].items() if key != "version"}
    group.attrs.put({"ome": without, "sample": 7})
    extract(tmp_path / "a", tmp_path / "b.ozx", node="x")
    assert document(tmp_path / "b.ozx")["attributes"] == {"ome": {"version": "0.5", **without}, "sample": 7}
    assert ozx.validate(tmp_path / "b.ozx").valid


# Sizes


def test_the_finest_levels_go_until_it_fits(take, tmp_path):
    sizes = {}
    for skipped in range(3):
        result, _ = take(IMAGE, levels=f"{skipped}:")
        sizes[skipped] = result.bytes
    for skipped, size in sizes.items():
        result, out = take(IMAGE, max_size=size)
        assert result.bytes == out.stat().st_size == size
        assert result.images[0].levels == tuple("012"[skipped:])
        assert any("so that the file has at most" in note for note in result.notes) == (skipped > 0)
        if skipped < 2:
            assert take(IMAGE, max_size=size - 1)[0].bytes == sizes[skipped + 1]
    with pytest.raises(
        UsageError, match=f"at most 100 bytes; it would have {sizes[2]:,} bytes, with the coarsest level alone"
    ):
        take(IMAGE, max_size=100)


def test_a_region_and_a_size(take):
    result, out = take(SHARDED, region="t=0:2,y=:32", max_size="65kB")
    assert result.bytes == out.stat().st_size <= 65_000
    # The region is found again: at half the resolution chunks reach twice as far.
    assert result.images[0].levels == ("1",)
    assert result.images[0].region["y"] == (0, 64)


def test_images_of_a_plate_lose_levels_alike(take):
    whole = take(PLATE, check=False)[0].bytes
    result, _ = take(PLATE, max_size=whole - 1, check=False)
    assert {image.levels for image in result.images} == {("1",)}


def test_what_has_no_levels_and_is_too_large(tmp_path):
    zarr.open_group(str(tmp_path / "a"), mode="w", attributes={"ome": {"version": "0.5"}})
    for options in ({"region": "y=:3"}, {"levels": "0"}):
        with pytest.raises(
            UsageError, match="expected an image from which to extract levels, channels or a region; found none"
        ):
            extract(tmp_path / "a", tmp_path / "b.ozx", **options)
    with pytest.raises(UsageError, match="there are no levels to leave out"):
        extract(tmp_path / "a", tmp_path / "b.ozx", max_size=10)
    extract(tmp_path / "a", tmp_path / "b.ozx", max_size=1000)


# Extensions


def extend(root, node, *extensions):
    path = Path(root, node, "zarr.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"extensions": list(extensions)}))


OFFSET = {"name": "example.offset", "configuration": {"offset": [12, 24]}}
STATISTICS = {"name": "example.array-statistics", "must_understand": False, "configuration": {"min": 5}}


@pytest.fixture
def copied(tmp_path):
    return Path(shutil.copytree(PLATE, tmp_path / "plate"))


@pytest.mark.parametrize("node", ["", "A", "A/1", "A/1/0", "A/1/0/0"])
def test_nothing_is_cut_where_something_is_not_understood(copied, tmp_path, node):
    extend(copied, node, OFFSET)
    with pytest.raises(UnsupportedError, match=r"example\.offset"):
        extract(copied, tmp_path / "b.ozx", region="y=:32")
    extract(copied, tmp_path / "b.ozx")
    assert document(tmp_path / "b.ozx", node)["extensions"] == [OFFSET]
    if node != "A/1/0/0":
        with pytest.raises(UnsupportedError, match=r"example\.offset"):
            extract(copied, tmp_path / "c.ozx", levels="1:")
    if node in ("", "A", "A/1"):
        with pytest.raises(UnsupportedError, match=r"example\.offset"):
            extract(copied, tmp_path / "c.ozx", node="A/1/0")
    else:
        extract(copied, tmp_path / "c.ozx", node="A/1/0")
        assert document(tmp_path / "c.ozx", node[6:])["extensions"] == [OFFSET]
    if node:
        extract(copied, tmp_path / "d.ozx", node="B/1/0", region="y=:32")


def test_what_may_be_ignored_is_kept_with_a_note(copied, tmp_path):
    extend(copied, "A/1/0/0", STATISTICS)
    result = extract(copied, tmp_path / "b.ozx", node="A/1/0", region="y=:32")
    assert document(tmp_path / "b.ozx", "0")["extensions"] == [STATISTICS]
    assert any("0: its extensions are unchanged" in note for note in result.notes)


def reference(target, name="example.parent-ref"):
    return {"name": name, "must_understand": False, "configuration": {"reference": target}}


@pytest.mark.parametrize("name", ["example.my-extension", "example.my-extension-ref", "example.parent-ref"])
def test_references_stay_with_what_they_refer_to(copied, tmp_path, name):
    extend(copied, "A/1/0/0", reference("../..", name))
    result = extract(copied, tmp_path / "a.ozx", node="A/1")
    assert not any("refers" in note for note in result.notes)
    assert document(tmp_path / "a.ozx", "0/0")["extensions"] == [reference("../..", name)]
    with pytest.raises(UnsupportedError, match=rf"0: .*'{name}' refers to '\.\./\.\.'"):
        extract(copied, tmp_path / "b.ozx", node="A/1/0")
    assert not (tmp_path / "b.ozx").exists()


def test_references_to_levels_that_go(copied, tmp_path):
    extend(copied, "A/1/0", reference("./0"))
    extract(copied, tmp_path / "a.ozx", levels="0")
    with pytest.raises(UnsupportedError, match=r"'example\.parent-ref' refers to '\./0'"):
        extract(copied, tmp_path / "b.ozx", levels="1")


def test_references_from_the_root_and_to_nowhere(copied, tmp_path):
    extend(copied, "A/1/0", reference("/A/1"), reference("https://example.org/x"), "example.plain")
    with pytest.raises(UnsupportedError, match=r"example\.plain"):
        extract(copied, tmp_path / "a.ozx", node="A/1", levels="0")
    extend(copied, "A/1/0", reference("/A/1"), reference("https://example.org/x"))
    extract(copied, tmp_path / "a.ozx")
    with pytest.raises(UnsupportedError, match="refers to '/A/1'"):
        extract(copied, tmp_path / "b.ozx", node="A/1")
    extend(copied, "A/1/0", reference("../../../../.."), reference("nowhere"))
    result = extract(copied, tmp_path / "b.ozx", node="A/1")
    assert sum("where there is no node" in note for note in result.notes) == 2


# Documents


def test_copies_of_metadata_that_no_longer_fit_go(tmp_path):
    shutil.copytree(PLATE, tmp_path / "a")
    for node in ("", "A/1", "B"):
        path = tmp_path / "a" / node / "zarr.json"
        copies = {"kind": "inline", "must_understand": False, "metadata": {}}
        path.write_text(json.dumps(json.loads(path.read_text()) | {"consolidated_metadata": copies}))

    def left(out):
        values = values_of(out)
        return {key for key, value in values.items() if key.endswith("zarr.json") and b"consolidated" in value}

    extract(tmp_path / "a", tmp_path / "b.ozx")
    # Those of the root do not fit as they are, and are repaired away.
    assert left(tmp_path / "b.ozx") == {"A/1/zarr.json", "B/zarr.json"}
    extract(tmp_path / "a", tmp_path / "c.ozx", levels="0")
    assert not left(tmp_path / "c.ozx")
    extract(tmp_path / "a", tmp_path / "d.ozx", node="B")
    assert left(tmp_path / "d.ozx") == {"zarr.json"}
    extract(tmp_path / "a", tmp_path / "e.ozx", node="A/1", levels="0")
    assert not left(tmp_path / "e.ozx")


def test_changed_documents_keep_their_style(tmp_path):
    make_image(tmp_path / "a")
    path = tmp_path / "a/0/zarr.json"
    path.write_text(json.dumps(json.loads(path.read_text()), separators=(",", ":")) + "\n")
    extract(tmp_path / "a", tmp_path / "b.ozx", region="y=:32")
    before, after = path.read_bytes(), values_of(tmp_path / "b.ozx")["0/zarr.json"]
    assert after == before.replace(b'"shape":[64,64]', b'"shape":[32,64]')
    assert values_of(tmp_path / "b.ozx").keys() == {"zarr.json", "0/zarr.json", "0/c/0/0"}


def test_files_that_belong_to_no_image_are_kept(tmp_path):
    shutil.copytree(IMAGE, tmp_path / "a")
    for name in ("notes.txt", "0/histogram.csv", "1/histogram.csv", "0/c/readme"):
        (tmp_path / "a" / name).write_text(name)
    zarr.create_array(str(tmp_path / "a/extra"), shape=(3,), dtype="u1")[...] = 7
    extract(tmp_path / "a", tmp_path / "b.ozx", region="y=:64,x=:64", levels="0")
    found = values_of(tmp_path / "b.ozx")
    assert {"notes.txt", "0/histogram.csv", "0/c/readme", "extra/zarr.json", "extra/c/0"} <= found.keys()
    assert "1/histogram.csv" not in found
    check_part(tmp_path / "a", tmp_path / "b.ozx")


def test_chunks_outside_of_the_array_are_left_out(tmp_path):
    make_image(tmp_path / "a", {"0/c/0/0": b"1" * 1024, "0/c/7/0": b"2" * 1024})
    result = extract(tmp_path / "a", tmp_path / "b.ozx", region="x=:32")
    assert "0/c/7/0" not in values_of(tmp_path / "b.ozx")
    assert any("left out 1 chunks outside of the array" in note for note in result.notes)


def test_deflated_archives(tmp_path):
    zip_values(tmp_path / "a.zip", tree(SHARDED), deflated=True)
    extract(tmp_path / "a.zip", tmp_path / "b.ozx", region="y=32:64,t=1")
    check_part(SHARDED, tmp_path / "b.ozx")


# What is asked for in vain


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"region": "y=0:300"}, r"the root: expected a region within y=0:256; got y=0:300"),
        ({"region": "y=-300:"}, r"within y=0:256"),
        ({"region": "y=20:20"}, r"at least one pixel"),
        ({"region": "t=3"}, r"unknown axis 't'; the axes are c, y, x"),
        ({"region": "y"}, r"expected a range of an axis"),
        ({"levels": "5:"}, r"no image has any of the levels 5:; the images have at most 3"),
        ({"levels": "a"}, r"expected levels"),
        ({"max_size": "20 elephants"}, r"expected a size"),
        ({"node": "labels/cell"}, r"found no 'labels/cell'"),
        ({"node": "../x"}, r"found no '\.\./x'"),
        ({"node": "0"}, r"0 is an array"),
    ],
)
def test_what_cannot_be_meant(tmp_path, options, match):
    with pytest.raises(UsageError, match=match):
        extract(IMAGE, tmp_path / "out.ozx", **options)
    assert not list(tmp_path.iterdir())


def test_an_axis_that_some_images_have(tmp_path):
    shutil.copytree(SERIES, tmp_path / "a")
    shutil.rmtree(tmp_path / "a/1")
    write_image(tmp_path / "a/1", (64, 64), (16, 16))
    result = extract(tmp_path / "a", tmp_path / "b.ozx", region="z=1,y=:32")
    assert any("1: not cropped along z" in note for note in result.notes)
    with pytest.raises(UsageError, match=r"^.*: 0: expected a region within y=0:48"):
        extract(tmp_path / "a", tmp_path / "c.ozx", region="y=:64")


def test_places_that_are_refused(tmp_path):
    packed = pack_tree(IMAGE, tmp_path / "a.ozx")
    shutil.copytree(IMAGE, tmp_path / "a.zarr")
    before = packed.read_bytes()
    for source, out, match in [
        (packed, packed, "exists already"),
        (packed, tmp_path / "a.zarr/b.ozx", "inside another hierarchy"),
        (tmp_path / "a.zarr", tmp_path / "a.zarr/b.ozx", "inside its own source"),
        (packed, tmp_path / "b.zarr", "expected the name of a file"),
        (packed, f"{tmp_path}/b/", "expected the name of a file"),
        ("ftp://example.org/a.ozx", tmp_path / "b.ozx", "expected a URL that begins with"),
    ]:
        with pytest.raises(UsageError, match=match):
            extract(source, out)
    with pytest.raises(UsageError, match="is the file to extract from"):
        extract(packed, packed, force=True)
    assert packed.read_bytes() == before
    assert any("does not end in .ozx" in note for note in extract(packed, tmp_path / "b.zip").notes)
    extract(packed, tmp_path / "b.zip", levels="2", force=True)


def test_sources_that_are_no_hierarchy(tmp_path):
    with pytest.raises(UnsupportedError, match=r"OME-Zarr 0\.4") as caught:
        extract(FIXTURES / "legacy.ome.zarr", tmp_path / "out.ozx")
    assert "ozx repack" in caught.value.hint
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match=r"expected an OME-Zarr hierarchy"):
        extract(tmp_path / "empty", tmp_path / "out.ozx")
    (tmp_path / "text.ozx").write_text("no archive")
    with pytest.raises(FormatError):
        extract(tmp_path / "text.ozx", tmp_path / "out.ozx")
    with pytest.raises(OSError):
        extract(tmp_path / "missing.ozx", tmp_path / "out.ozx")
    assert not (tmp_path / "out.ozx").exists()


def test_what_is_repaired_on_the_way_is_told(tmp_path):
    make_image(tmp_path / "mixed")
    (tmp_path / "mixed/0/.zarray").write_text("{}")
    (note,) = extract(tmp_path / "mixed", tmp_path / "out.ozx").notes
    assert "0/.zarray" in note
    assert "dropped" in note


def broken(root, change):
    make_image(root)
    path = Path(root, "zarr.json")
    whole = json.loads(path.read_text())
    change(whole["attributes"]["ome"]["multiscales"][0])
    path.write_text(json.dumps(whole))


def affine(multiscale):
    multiscale["datasets"][0]["coordinateTransformations"] = [{"type": "affine"}]


def flat(multiscale):
    multiscale["datasets"][0]["coordinateTransformations"][0]["scale"] = [0.0, 1.0]


def three_axes(multiscale):
    multiscale["axes"].insert(0, {"name": "z", "type": "space"})
    multiscale["datasets"][0]["coordinateTransformations"][0]["scale"] = [1.0, 1.0, 1.0]


def missing(multiscale):
    multiscale["datasets"][0]["path"] = "7"


def unnamed(multiscale):
    del multiscale["datasets"][0]["path"]


def sequence(multiscale):
    steps = multiscale["datasets"][0]["coordinateTransformations"]
    multiscale["datasets"][0]["coordinateTransformations"] = [{"type": "sequence", "transformations": steps}]


@pytest.mark.parametrize(
    ("change", "kind", "match"),
    [
        (affine, UnsupportedError, "found other transformations"),
        (flat, UnsupportedError, "expected scales above 0"),
        (three_axes, FormatError, "expected level '0' to have 3 dimensions"),
        (missing, FormatError, "expected the array of level '7'"),
        (unnamed, FormatError, "expected the array of level None"),
        (sequence, UnsupportedError, "expected scales and translations of 2 finite numbers"),
    ],
)
def test_images_that_no_region_can_be_found_in(tmp_path, change, kind, match):
    broken(tmp_path / "a", change)
    with pytest.raises(kind, match=match):
        extract(tmp_path / "a", tmp_path / "b.ozx", region="y=32:")
    extract(tmp_path / "a", tmp_path / "b.ozx", levels="0")  # whole levels can always be had


def test_labels_in_another_unit(tmp_path):
    write_image(tmp_path / "a", (32, 32), (8, 8), levels=1)
    write_labels(tmp_path / "a", ["one"])
    write_image(tmp_path / "a/labels/one", (32, 32), (8, 8), levels=1, label=True)
    for node, unit in (("", "micrometer"), ("labels/one", "nanometer")):
        group = zarr.open_group(str(tmp_path / "a" / node), mode="a")
        attributes = group.attrs["ome"]
        for axis in attributes["multiscales"][0]["axes"]:
            axis["unit"] = unit
        group.attrs["ome"] = attributes
    with pytest.raises(UnsupportedError, match="labels/one: expected the unit micrometer along y, as in the image"):
        extract(tmp_path / "a", tmp_path / "b.ozx", region="y=:8")


def test_damage_is_found_and_leaves_nothing(tmp_path):
    packed = pack_tree(SHARDED, tmp_path / "a.ozx")
    reader = ArchiveReader(str(packed))
    offset = reader.data_offset(reader.find("0/c/0/0/0/0/0"))
    data = bytearray(packed.read_bytes())
    data[offset + 100] ^= 1
    packed.write_bytes(data)
    for options in ({}, {"region": "y=:32"}):
        with pytest.raises(FormatError):
            extract(packed, tmp_path / "b.ozx", **options)
    extract(packed, tmp_path / "b.ozx", region="t=1")
    assert sorted(os.listdir(tmp_path)) == ["a.ozx", "b.ozx"]
    assert read(tmp_path / "b.ozx", "0").shape == (1, 2, 5, 72, 88)

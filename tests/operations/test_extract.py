"""Parts of hierarchies in whole chunks: the same pixels at the same places, nothing that leads nowhere."""

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import zarr
from extracts import check_part, document, ome, write_image, write_labels
from hierarchies import FIXTURES, group, make_image, multiscales
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packed import pack_tree, values_of

import ozx
from ozx.errors import FormatError, UnsupportedError, UsageError

extract = partial(ozx.extract, whole_chunks=True)

IMAGE = FIXTURES / "image.ome.zarr"
SHARDED = FIXTURES / "sharded.ome.zarr"
PLATE = FIXTURES / "plate.ome.zarr"
SERIES = FIXTURES / "series.ome.zarr"


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


def write_pixels(path, shape, axes="yx", channels=(), chunks=None, shards="auto"):
    pixels = np.random.default_rng(0).integers(0, 4000, shape, dtype="uint16")
    ozx.write_image(path, pixels, axes=axes, channel_names=list(channels), chunks=chunks, shards=shards)
    return pixels


def test_a_region_of_everything_says_why(tmp_path):
    write_pixels(tmp_path / "a.ozx", (400, 300))
    result = extract(tmp_path / "a.ozx", tmp_path / "b.ozx", region="y=0:300,x=100:150")
    (note,) = [note for note in result.notes if "no pixels are cropped" in note]
    assert "(y=400,x=300)" in note
    assert note.endswith("ozx repack FILE NEW.ozx --chunks y=64,x=16`, then extract from NEW.ozx")
    ozx.repack(tmp_path / "a.ozx", tmp_path / "s.ozx", chunks="y=64,x=16")
    result = extract(tmp_path / "s.ozx", tmp_path / "c.ozx", region="y=0:300,x=100:150")
    assert result.images[0].region == {"y": (0, 320), "x": (96, 160)}
    assert not any("ozx repack" in note for note in result.notes)


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
        extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels=channels, region=region)
    assert not (tmp_path / "b.ozx").exists()


def test_a_name_of_two_channels_needs_numbers(tmp_path):
    write_pixels(tmp_path / "a.ozx", (3, 80, 90), "cyx", ["GFP", "GFP", "Cy5"])
    with pytest.raises(UsageError, match="channels 0, 1 have this name"):
        extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels="GFP")
    assert extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels="1").images[0].region["c"] == (1, 2)


def test_shards_between_the_channels_are_not_even_opened(tmp_path):
    pixels = write_pixels(tmp_path / "a.ozx", (6, 80, 90), "cyx", "ABCDEF", "c=1,y=80,x=45", "c=1,y=80,x=90")
    ozx.unpack(tmp_path / "a.ozx", tmp_path / "a")
    for channel in (1, 2, 4, 5):
        (tmp_path / f"a/0/c/{channel}/0/0").write_bytes(b"no shard")
    extract(tmp_path / "a", tmp_path / "b.ozx", channels="A,D")
    assert (ozx.open(tmp_path / "b.ozx")["0"][:] == pixels[[0, 3]]).all()


def test_levels_whose_channels_share_chunks_are_left_out_or_refused(tmp_path):
    attributes = {"ome": {"version": "0.5", "multiscales": multiscales("cyx", "0", "1", halved="yx")}}
    root = zarr.create_group(tmp_path / "a", attributes=attributes)
    for level, chunks in (("0", (1, 64, 64)), ("1", (3, 32, 32))):
        root.create_array(level, data=np.ones((3, *chunks[1:]), "uint16"), chunks=chunks)
    result = extract(tmp_path / "a", tmp_path / "a.ozx", channels="0,2")
    assert (result.images[0].levels, result.images[0].left_out) == (("0",), ("1",))
    assert any("left out level 1, because the chunks are too large" in note for note in result.notes)
    message = "the channels 0, 2 share chunks with other channels in level 1"
    with pytest.raises(UnsupportedError, match=message) as caught:
        extract(tmp_path / "a", tmp_path / "b.ozx", channels="0,2", levels=":")
    assert "--chunks c=1" in caught.value.hint


def test_named_levels_are_kept_even_if_they_show_more(take):
    result, out = take(IMAGE, region="y=64:128,x=128:192", levels=":")
    found = check_part(IMAGE, out)
    assert found["", "0"] == ((0, 64, 128), (2, 64, 64))
    assert found["", "1"] == ((0, 0, 64), (2, 64, 64))
    assert found["", "2"] == ((0, 0, 0), (2, 64, 64))
    assert found["labels/cells", "1"] == ((0, 64), (64, 64))
    assert any(
        "levels 1, 2 cannot be cropped to exactly the region" in note and "if no levels are asked for" in note
        for note in result.notes
    )


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


def test_omero_that_does_not_fit_is_kept_with_a_note(tmp_path):
    omero = {"channels": [{"label": "only"}], "rdefs": {"defaultZ": "middle"}}
    write_image(tmp_path / "a", (3, 8, 8), (1, 8, 8), axes="cyx", levels=1, omero=omero)
    result = extract(tmp_path / "a", tmp_path / "a.ozx", region="c=1")
    assert ome(tmp_path / "a.ozx")["omero"] == omero
    assert any("omero lists 1 channels, but the image has 3" in note for note in result.notes)


def test_levels_that_lie_elsewhere(tmp_path):
    group = write_image(tmp_path / "a", (64, 64), (16, 16), levels=2)
    attributes = group.attrs["ome"]
    attributes["multiscales"][0]["datasets"][1]["coordinateTransformations"][1]["translation"] = [100.0, 0.0]
    group.attrs["ome"] = attributes
    assert extract(tmp_path / "a", tmp_path / "b.ozx", region="y=:32").images[0].levels == ("0",)
    with pytest.raises(UnsupportedError, match="the region is outside of the finest extracted level"):
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


def test_a_label_image_by_itself_loses_the_name_of_its_image(take):
    result, out = take(IMAGE, node="labels/cells", region="y=:64,x=:64")
    assert ome(out)["image-label"].keys() == {"colors", "properties"}
    assert any("'../../'" in note for note in result.notes)
    assert ome(IMAGE, "labels/cells")["image-label"]["source"] == {"image": "../../"}


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


SCALE = {"type": "scale", "scale": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("axes", "path", "step", "kind", "match"),
    [
        ("yx", "0", {"type": "affine"}, UnsupportedError, "cannot be computed from the transformations"),
        ("yx", "0", SCALE | {"scale": [0.0, 1.0]}, UnsupportedError, "expected scales above 0"),
        ("zyx", "0", SCALE | {"scale": [1.0] * 3}, FormatError, "expected level '0' to have 3 dimensions"),
        ("yx", "7", SCALE, FormatError, "expected the array of level '7'"),
        ("yx", None, SCALE, FormatError, "expected the array of level None"),
        ("yx", "0", {"type": "sequence", "transformations": [SCALE]}, UnsupportedError, "of 2 finite numbers"),
    ],
)
def test_images_that_no_region_can_be_found_in(tmp_path, axes, path, step, kind, match):
    (multiscale,) = multiscales(axes, "0")
    multiscale["datasets"] = [({"path": path} if path else {}) | {"coordinateTransformations": [step]}]
    (make_image(tmp_path / "a") / "zarr.json").write_bytes(group(version="0.5", multiscales=[multiscale]))
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

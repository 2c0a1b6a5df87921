"""Regions with exactly the requested pixels: what is moved, what is encoded again, and what is refused."""

import json
import re
import shutil

import numpy as np
import pytest
import zarr
from extracts import document, ome, read, write_image, write_labels
from hierarchies import FIXTURES, multiscales
from packed import values_of
from servers import serving
from zarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

import ozx
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.images.writing.downsampling import halve

IMAGE = FIXTURES / "image.ome.zarr"


def write_pixels(path, shape=(300, 400), axes="yx", **options):
    pixels = np.random.default_rng(0).integers(1, 4000, shape, dtype="uint16")
    options = {"chunks": "y=64,x=64", "shards": "none", "codec": "none"} | options
    ozx.write_image(path, pixels, axes=axes, sync=False, **options)
    return pixels


def crop(source, tmp_path, region=None, **options):
    return ozx.extract(source, tmp_path / "out.ozx", region=region, force=True, sync=False, **options)


@pytest.mark.parametrize(
    ("region", "start", "stop"),
    [
        ("x=10:20um", 20, 40),
        ("x=10um:20um", 20, 40),
        ("x=10000nm:0.02mm", 20, 40),
        ("x=10.01:20.01um", 21, 41),
        ("x=190um:", 380, 400),
        ("x=:1.2um", 0, 3),
        ("x=1e1:2e1 um", 20, 40),
    ],
)
def test_region_in_a_unit_has_the_pixels_with_centres_in_it(tmp_path, region, start, stop):
    pixels = write_pixels(tmp_path / "a.ozx", pixel_size={"y": 0.5, "x": 0.5}, unit="um")
    crop(tmp_path / "a.ozx", tmp_path, region)
    np.testing.assert_array_equal(read(tmp_path / "out.ozx", "0"), pixels[:, start:stop])
    steps = ome(tmp_path / "out.ozx")["multiscales"][0]["datasets"][0]["coordinateTransformations"]
    assert steps[1:] == ([{"type": "translation", "translation": [0.0, start / 2]}] if start else steps[1:])


def test_position_counts_from_where_the_image_lies(tmp_path):
    pixels = write_pixels(tmp_path / "a.ozx", pixel_size={"y": 0.5, "x": 0.5}, unit="um")
    crop(tmp_path / "a.ozx", tmp_path, "x=100:160um")
    shutil.move(tmp_path / "out.ozx", tmp_path / "b.ozx")
    crop(tmp_path / "b.ozx", tmp_path, "x=110:120um")
    np.testing.assert_array_equal(read(tmp_path / "out.ozx", "0"), pixels[:, 220:240])


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("x=300:500", "expected a region within x=0:400; got x=300:500"),
        ("x=9:9", "x=9:9 of 400 is empty"),
        ("x=900:1000um", "expected a region within x=0:200 micrometer; got x=900:1000"),
        ("x=0.1:0.2um", "no centre of a pixel lies in x=0.1:0.2 micrometer"),
        ("x=1s:2s", "second cannot be converted to micrometer"),
        ("x=1.5:3", "expected whole pixels, or a unit"),
        ("x=3um", "expected a range in units, such as x=10:20um"),
        ("x=1:2parrots", "expected a unit of space or time"),
    ],
)
def test_region_that_is_not_there_names_the_extent(tmp_path, region, message):
    write_pixels(tmp_path / "a.ozx", pixel_size={"y": 0.5, "x": 0.5}, unit="um")
    with pytest.raises(UsageError, match=message):
        crop(tmp_path / "a.ozx", tmp_path, region)
    assert not (tmp_path / "out.ozx").exists()


@pytest.mark.parametrize("wrong", [{"dimension_names": ["x"]}, {"zarr_format": 1.5}], ids=["names", "format"])
def test_array_that_zarr_cannot_open_is_refused(tmp_path, wrong):
    copy = shutil.copytree(IMAGE, tmp_path / "wrong.ome.zarr")
    metadata = copy / "0/zarr.json"
    metadata.write_text(json.dumps(json.loads(metadata.read_bytes()) | wrong))
    with pytest.raises(FormatError, match="0: zarr cannot open this node"):
        crop(copy, tmp_path, {"x": (3, 9)})


def test_region_in_a_unit_of_an_axis_without_a_known_unit_is_refused(tmp_path):
    write_pixels(tmp_path / "a.ozx")
    with pytest.raises(UsageError, match="axis x has no unit"):
        crop(tmp_path / "a.ozx", tmp_path, "x=1:2um")
    group = write_image(tmp_path / "a", (64, 64), (16, 16), levels=1)
    attributes = group.attrs["ome"]
    attributes["multiscales"][0]["axes"][1]["unit"] = "pixel"
    group.attrs["ome"] = attributes
    with pytest.raises(UsageError, match="axis x has the unit 'pixel', which ozx does not know"):
        crop(tmp_path / "a", tmp_path, "x=1:2um")


def test_whole_chunks_are_moved(tmp_path):
    write_pixels(tmp_path / "a.ozx", codec="zstd:9", downsample="none")
    crop(tmp_path / "a.ozx", tmp_path, "y=64:192,x=128:")
    old, new = values_of(tmp_path / "a.ozx"), values_of(tmp_path / "out.ozx")
    moved = {key: value for key, value in new.items() if "/c/" in key}
    assert len(moved) == 2 * 5
    places = {key: list(map(int, key.split("/")[2:])) for key in moved}
    assert moved == {key: old[f"0/c/{y + 1}/{x + 2}"] for key, (y, x) in places.items()}


def test_pixels_beyond_the_crop_are_not_in_the_file(tmp_path):
    pixels = write_pixels(tmp_path / "a.ozx")
    crop(tmp_path / "a.ozx", tmp_path, "y=0:64,x=0:40")
    chunk = np.frombuffer(values_of(tmp_path / "out.ozx")["0/c/0/0"], "<u2").reshape(64, 64)
    np.testing.assert_array_equal(chunk[:, :40], pixels[:64, :40])
    assert not chunk[:, 40:].any()


@pytest.mark.parametrize("shards", ["none", "c=1,y=256,x=256"])
@pytest.mark.parametrize(
    "part",
    [
        {"region": "c=1,y=10:70,x=20:80"},
        {"region": "c=1,y=3:765,x=5:766"},
        {"region": "c=1,y=0:768,x=64:768"},
        {"region": "y=50:450", "channels": "0,2"},
    ],
)
def test_crop_of_a_url_reads_each_chunk_that_it_needs_once(tmp_path, shards, part):
    write_pixels(tmp_path / "a.ozx", (3, 768, 768), "cyx", chunks="c=1,y=128,x=128", shards=shards, downsample="y,x")
    data = (tmp_path / "a.ozx").read_bytes()
    with serving(data) as server:
        told = crop(server.url, tmp_path, dry_run=True, **part)
    with serving(data) as server:
        result = crop(server.url, tmp_path, **part)
    assert (result.requests, result.bytes_read) == (len(server.requests), server.sent)
    assert result.bytes_read == told.bytes_read
    assert result.requests <= told.requests + 1
    shutil.move(tmp_path / "out.ozx", tmp_path / "remote.ozx")
    crop(tmp_path / "a.ozx", tmp_path, **part)
    for level in ozx.inspect(tmp_path / "out.ozx").images[0].levels:
        first, second = (ozx.open(tmp_path / name)[level.path][...] for name in ("out.ozx", "remote.ozx"))
        np.testing.assert_array_equal(first, second)
    assert values_of(tmp_path / "out.ozx").keys() == values_of(tmp_path / "remote.ozx").keys()


CHAINS = {
    "big endian, transposed": {"serializer": BytesCodec(endian="big"), "filters": [TransposeCodec(order=(1, 0))]},
    "checksums": {"compressors": [ZstdCodec(level=3), Crc32cCodec()]},
    "nested shards": {
        "chunks": (40, 60),
        "serializer": ShardingCodec(
            chunk_shape=(20, 30), codecs=[ShardingCodec(chunk_shape=(10, 10), index_location="start")]
        ),
        "compressors": None,
    },
    "compressed shards": {
        "serializer": ShardingCodec(chunk_shape=(10, 10)),
        "chunks": (20, 20),
        "compressors": [GzipCodec(level=1)],
    },
    "two compressors": {"compressors": [ZstdCodec(level=1), GzipCodec(level=1)]},
    "key encoding": {"chunk_key_encoding": {"name": "v2", "separator": "."}},
}


def write_array(folder, pixels, **layout):
    """Write an image of one level with zarr-python."""
    group = zarr.create_group(folder, attributes={"ome": {"version": "0.5", "multiscales": multiscales("yx", "0")}})
    layout = {"chunks": (20, 20), "shape": pixels.shape, "dtype": pixels.dtype} | layout
    group.create_array("0", **layout)[...] = pixels


@pytest.mark.filterwarnings("ignore:Combining a `sharding_indexed` codec")
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("fill", [0, 7])
def test_codecs_and_fill_value_stay(tmp_path, name, fill):
    pixels = np.random.default_rng(0).integers(0, 4000, (90, 110), "uint16")
    pixels[:45, :50] = fill
    write_array(tmp_path / "a", pixels, fill_value=fill, **CHAINS[name])
    crop(tmp_path / "a", tmp_path, "y=3:77,x=5:106")
    found = ozx.open(tmp_path / "out.ozx")["0"]
    np.testing.assert_array_equal(found[...], pixels[3:77, 5:106])
    assert found.fill_value == fill
    names = re.findall(r'"name": "(\w+)"', json.dumps(document(tmp_path / "a", "0")["codecs"]))
    for codec in {*names} - {"sharding_indexed"}:
        assert f'"{codec}"' in json.dumps(document(tmp_path / "out.ozx", "0")["codecs"])


def test_damaged_chunk_is_named(tmp_path):
    write_pixels(tmp_path / "a.ozx", codec="zstd:1")
    ozx.unpack(tmp_path / "a.ozx", tmp_path / "a")
    (tmp_path / "a/0/c/1/1").write_bytes(b"no chunk")
    with pytest.raises(FormatError, match="0/c/1/1: the chunk cannot be decoded") as caught:
        crop(tmp_path / "a", tmp_path, "y=3:100,x=3:100")
    assert caught.value.rule == "zarr/chunk-data"
    assert not (tmp_path / "out.ozx").exists()
    crop(tmp_path / "a", tmp_path, "y=3:60,x=3:100")


@pytest.mark.parametrize("factor", [3, 4])
def test_levels_of_other_factors_are_computed_by_halving(tmp_path, factor):
    write_image(tmp_path / "a", (1400, 1200), (128, 128), levels=3, factor=factor)
    result = crop(tmp_path / "a", tmp_path, "y=1:1399,x=5:1180")
    assert result.images[0].levels == ("0", "1", "2")
    whole = zarr.open_array(tmp_path / "a", path="0")[1:1399, 5:1180]
    ozx.write_image(tmp_path / "b.ozx", whole, axes="yx", sync=False)
    found, expected = ozx.open(tmp_path / "out.ozx"), ozx.open(tmp_path / "b.ozx")
    np.testing.assert_array_equal(found["1"][...], expected["2"][...])
    levels = ozx.inspect(tmp_path / "out.ozx").images[0].levels
    assert [level.scale for level in levels] == [(0.325, 0.325), (1.3, 1.3), (5.2, 5.2)]
    assert levels[1].translation == pytest.approx((0.325 + 1.5 * 0.325, 5 * 0.325 + 1.5 * 0.325))
    assert not [each for each in ozx.validate(tmp_path / "out.ozx").findings if each.severity == "error"]


def test_named_levels_are_all_kept(tmp_path):
    pixels = write_pixels(tmp_path / "a.ozx", (600, 600), chunks="y=64,x=64")
    assert crop(tmp_path / "a.ozx", tmp_path, "y=1:99,x=1:99").images[0].levels == ("0",)
    assert crop(tmp_path / "a.ozx", tmp_path, "y=1:99,x=1:99", levels=":").images[0].levels == ("0", "1", "2")
    halved = ozx.open(tmp_path / "a.ozx")["1"][...]
    crop(tmp_path / "a.ozx", tmp_path, "y=2:100,x=2:100", levels="1:")
    found = ozx.open(tmp_path / "out.ozx")
    np.testing.assert_array_equal(found["1"][...], halved[1:50, 1:50])
    assert found["2"].shape == (25, 25)
    assert pixels.shape == (600, 600)


@pytest.mark.parametrize("kind", ["median", 7, ["mean"], {"mean": 1}])
def test_levels_of_an_unknown_method_are_computed_by_the_mean(tmp_path, kind):
    group = write_image(tmp_path / "a", (700, 700), (64, 64), levels=2)
    first = group["0"][...]
    (multiscale,) = group.attrs["ome"]["multiscales"]
    group.attrs["ome"] = {**group.attrs["ome"], "multiscales": [{**multiscale, "type": kind}]}
    crop(tmp_path / "a", tmp_path, "y=1:699")
    np.testing.assert_array_equal(read(tmp_path / "out.ozx", "1"), halve(first[1:699], (0, 1), "mean"))


def test_levels_stay_along_axes_that_they_do_not_shorten(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 99, (5, 600, 400), "uint8")
    ozx.write_image(tmp_path / "a.ozx", pixels, axes="cyx", method="mode", channel_names=list("ABCDE"), sync=False)
    old = ozx.open(tmp_path / "a.ozx")
    for options, taken in (({"region": "c=1:3"}, [1, 2]), ({"channels": "A,D"}, [0, 3])):
        result = ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", force=True, **options)
        new = ozx.open(tmp_path / "b.ozx")
        assert result.images[0].levels == ("0", "1", "2")
        for level in "012":
            np.testing.assert_array_equal(new[level][...], old[level][...][taken])


def test_channels_that_share_chunks_are_separated(tmp_path):
    pixels = write_pixels(tmp_path / "a.ozx", (6, 80, 90), "cyx", chunks="c=3,y=80,x=90", channel_names=list("ABCDEF"))
    result = ozx.extract(tmp_path / "a.ozx", tmp_path / "b.ozx", channels="A,E,F", region="x=3:50")
    np.testing.assert_array_equal(read(tmp_path / "b.ozx", "0"), pixels[[0, 4, 5], :, 3:50])
    assert (result.images[0].channels, result.notes) == ((0, 4, 5), ())


def test_images_that_compute_an_array_differently_are_refused(tmp_path):
    group = write_image(tmp_path / "a", (700, 700), (64, 64), levels=3)
    attributes = group.attrs["ome"]
    (first,) = attributes["multiscales"]
    group.attrs["ome"] = {**attributes, "multiscales": [first, {**first, "type": "mode"}]}
    with pytest.raises(UnsupportedError, match="the same region for all images that use this array"):
        crop(tmp_path / "a", tmp_path, "y=1:699")
    group.attrs["ome"] = {**attributes, "multiscales": [first, {**first, "name": "again"}]}
    crop(tmp_path / "a", tmp_path, "y=1:699")
    assert len(ome(tmp_path / "out.ozx")["multiscales"]) == 2


def test_ome_zarr_0_6_is_cropped_like_0_5(tmp_path):
    for version in ("0.5", "0.6"):
        write_pixels(
            tmp_path / f"{version}.ozx", (600, 500), ome_version=version, pixel_size={"y": 0.5, "x": 0.5}, unit="um"
        )
        crop(tmp_path / f"{version}.ozx", tmp_path, "y=3:599,x=10:220um")
        shutil.move(tmp_path / "out.ozx", tmp_path / f"out{version}.ozx")
        assert not [each for each in ozx.validate(tmp_path / f"out{version}.ozx").findings if each.severity == "error"]
    old, new = (ozx.inspect(tmp_path / f"out{version}.ozx").images[0].levels for version in ("0.5", "0.6"))
    assert [(level.shape, level.scale, level.translation) for level in old] == [
        (level.shape, level.scale, level.translation) for level in new
    ]


def test_label_images_of_other_sizes_show_the_same_region(tmp_path):
    write_image(tmp_path / "a", (128, 128), (16, 16), levels=1)
    write_labels(tmp_path / "a", ["coarse", "far"])
    scales = {"y": 1.3, "x": 1.3}
    write_image(tmp_path / "a/labels/coarse", (32, 32), (8, 8), levels=1, label=True, scales=scales, shift=0.4875)
    write_image(tmp_path / "a/labels/far", (16, 16), (8, 8), levels=1, label=True, shift=100 * 0.325)
    result = crop(tmp_path / "a", tmp_path, "y=64:96,x=62:96")
    labels = zarr.open_array(tmp_path / "a", path="labels/coarse/0")[...]
    # Pixel j covers 4j to 4j + 4, with its centre at 4j + 2: the one at 62 is inside.
    np.testing.assert_array_equal(read(tmp_path / "out.ozx", "labels/coarse/0"), labels[16:24, 15:24])
    assert ome(tmp_path / "out.ozx", "labels")["labels"] == ["coarse"]
    assert any("labels/far: left out: it lies outside of the region" in note for note in result.notes)
    crop(tmp_path / "a", tmp_path, "y=64,x=61")
    np.testing.assert_array_equal(read(tmp_path / "out.ozx", "labels/coarse/0"), labels[16:17, 15:16])


def test_finest_levels_are_left_out_until_the_crop_fits(tmp_path):
    write_pixels(tmp_path / "a.ozx", (900, 900))
    result = crop(tmp_path / "a.ozx", tmp_path, "y=1:899,x=1:899", max_size=700_000)
    assert result.images[0].levels[0] == "1"
    assert (tmp_path / "out.ozx").stat().st_size <= 700_000
    with pytest.raises(UsageError, match="expected a file of at most 500 bytes"):
        crop(tmp_path / "a.ozx", tmp_path, "y=1:899,x=1:899", max_size=500)


def test_dry_run_of_a_crop_says_that_it_estimates(tmp_path):
    result = crop(IMAGE, tmp_path, "y=3:40", dry_run=True)
    assert result.dry_run
    assert any("estimates, because chunks are encoded again" in note for note in result.notes)
    assert not (tmp_path / "out.ozx").exists()

"""The part of an image that an import reads: the same as an extract of the whole, and nothing else is decoded."""

from pathlib import Path

import numpy as np
import pytest
import tifffile
from extracts import ome
from tiffs import damage_segment, ome_image, ome_xml, pixels, write, write_ome, write_pyramid

import ozx
from ozx.errors import FormatError, UsageError

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"
SHAPE = (4, 3, 5, 300, 340)
SIZES = {"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5, "PhysicalSizeZ": 2, "TimeIncrement": 3}
SIZES |= {f"{key}Unit": "s" if key[0] == "T" else "µm" for key in list(SIZES)}


def labels(path):
    return [channel["label"] for channel in ome(path)["omero"]["channels"]]


def places(path):
    """Return scale and translation of each level; a missing translation is 0."""
    found = ozx.open_image(path)
    return [(level.scale, level.translation) for level in found.levels]


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    """Return an OME-TIFF file with the axes t, c, z, y and x, and the whole of it as an .ozx file."""
    folder = tmp_path_factory.mktemp("stack")
    channels = {"Name": ["DAPI", "GFP", "Cy5"], "Color": [65535, 16711935, -16776961]}
    metadata = {"axes": "TCZYX", **SIZES, "Channel": channels}
    tifffile.imwrite(folder / "a.ome.tif", pixels(SHAPE), tile=(64, 64), compression="zlib", metadata=metadata)
    return folder / "a.ome.tif", ozx.import_image(folder / "a.ome.tif", folder / "a.ozx", sync=False).path


@pytest.mark.parametrize(
    "choice",
    [
        {"times": "2:4"},
        {"channels": "0,Cy5"},
        {"channels": ["GFP"], "times": 3},
        {"times": "3:9s", "region": "z=2um:8um"},
        {"region": "x=100:200,y=10:140um", "channels": "2,1", "times": "1:3"},
        {"region": {"y": slice(-50, None), "c": (1, 3)}},
        {"region": "y=0:256,x=0:256"},
        {"region": "t=0:4,x=0:340"},
    ],
)
def test_choice_is_what_extract_takes_of_the_whole(stack, tmp_path, choice):
    path, whole = stack
    ozx.import_image(path, tmp_path / "part.ozx", sync=False, **choice)
    region = choice.get("region", "y=0:")
    if "times" in choice:
        region = f"{region},t={choice['times']}"
    ozx.extract(whole, tmp_path / "expected.ozx", region=region, channels=choice.get("channels"), sync=False)
    part, expected = ozx.open(tmp_path / "part.ozx"), ozx.open(tmp_path / "expected.ozx")
    assert list(part.array_keys()) == list(expected.array_keys())
    for level in expected.array_keys():
        np.testing.assert_array_equal(part[level][:], expected[level][:])
    assert labels(tmp_path / "part.ozx") == labels(tmp_path / "expected.ozx")
    for found, known in zip(places(tmp_path / "part.ozx"), places(tmp_path / "expected.ozx"), strict=True):
        assert found[0] == pytest.approx(known[0])
        assert found[1][0] == pytest.approx(known[1][0])
        assert found[1][2:] == pytest.approx(known[1][2:])
    assert not [one for one in ozx.validate(tmp_path / "part.ozx").findings if one.severity == "error"]


def test_colours_follow_their_channels(stack, tmp_path):
    ozx.import_image(stack[0], tmp_path / "a.ozx", channels="DAPI,Cy5", sync=False)
    before = [channel["color"] for channel in ome(stack[1])["omero"]["channels"]]
    after = [channel["color"] for channel in ome(tmp_path / "a.ozx")["omero"]["channels"]]
    assert after == [before[0], before[2]]


def test_other_planes_and_tiles_are_not_decoded(tmp_path):
    path, array = tmp_path / "a.tif", pixels((3, 256, 256))
    write(path, array, tile=(128, 128), compression="zlib", photometric="minisblack")
    damage_segment(path, 0)  # the first tile of the first plane
    with pytest.raises(FormatError):
        ozx.import_image(path, axes="tyx", sync=False)
    for choice, part in (({"times": "1:"}, array[1:]), ({"region": "x=128:"}, array[:, :, 128:])):
        result = ozx.import_image(path, axes="tyx", force=True, sync=False, on_error="fill", **choice)
        assert result.damage == ()
        np.testing.assert_array_equal(ozx.open(result.path)["0"][:], part)
    assert ozx.import_image(path, axes="tyx", force=True, on_error="fill", times=0, sync=False).damage


def test_levels_of_the_file_are_used_unless_the_region_cuts_them(tmp_path):
    path, array = tmp_path / "a.ome.tif", pixels((3, 600, 640))
    write_pyramid(path, array, tile=(64, 64), metadata={"axes": "TYX"})
    options = {"reuse_levels": True, "force": True, "sync": False}
    result = ozx.import_image(path, times=(1, None), **options)
    np.testing.assert_array_equal(ozx.open(result.path)["1"][:], array[1:, ::2, ::2])
    result = ozx.import_image(path, region="x=64:", **options)
    assert "the smaller levels of the file are left out: they are computed anew for the region" in result.notes
    expected = ozx.write_image(tmp_path / "b.ozx", array[..., 64:], axes="tyx", sync=False)
    np.testing.assert_array_equal(ozx.open(result.path)["1"][:], ozx.open(expected.path)["1"][:])


def test_resume_knows_another_part_of_the_same_shape(stack, tmp_path):
    out = tmp_path / "a.ozx"
    ozx.import_image(stack[0], out, times="0:2", channels="DAPI", sync=False)
    assert ozx.import_image(stack[0], out, times="0:2", channels="DAPI", resume=True).status == "skipped"
    for other in ({"times": "2:4", "channels": "DAPI"}, {"times": "0:2", "channels": "GFP"}):
        with pytest.raises(UsageError, match="does not have the images"):
            ozx.import_image(stack[0], out, resume=True, **other)


def test_channels_without_a_name_keep_their_number(tmp_path):
    path = write(tmp_path / "a.tif", pixels((3, 40, 50)), photometric="minisblack")
    ozx.import_image(path, axes="cyx", channels="0,2", sync=False)
    assert labels(tmp_path / "a.ozx") == ["Channel 0", "Channel 2"]
    ozx.import_image(path, axes="cyx", channels="b,c", channel_names=["a", "b", "c"], force=True, sync=False)
    assert labels(tmp_path / "a.ozx") == ["b", "c"]


def test_given_pixel_size_measures_the_region(tmp_path):
    path = write(tmp_path / "a.tif", pixels((40, 50)))
    ozx.import_image(path, pixel_size="0.5um", region="x=5:15um", labels=True, sync=False)
    assert ozx.open_image(tmp_path / "a.ozx").shape == (40, 20)
    assert places(tmp_path / "a.ozx") == [((0.5, 0.5), (0.0, 5.0))]


def test_colours_of_a_picture_are_channels(tmp_path):
    path = write(tmp_path / "a.tif", pixels((60, 70, 3), "uint8"), photometric="rgb", tile=(16, 16))
    ozx.import_image(path, channels="Red,Blue", region="y=17:50", sync=False)
    assert labels(tmp_path / "a.ozx") == ["Red", "Blue"]
    expected = np.moveaxis(pixels((60, 70, 3), "uint8"), -1, 0)[[0, 2], 17:50]
    np.testing.assert_array_equal(ozx.open(tmp_path / "a.ozx")["0"][:], expected)


def test_every_image_of_a_series_is_cropped_and_one_without_the_axis_is_kept_whole(tmp_path):
    sizes = (2, 1, 1, 30, 40), (1, 1, 1, 30, 40)
    xml = ome_xml("".join(ome_image(n, size=size, planes=planes) for n, (size, planes) in enumerate(
        zip(sizes, ('<TiffData IFD="0" PlaneCount="2"/>', '<TiffData IFD="2"/>'), strict=True))))  # fmt: skip
    path = write_ome(tmp_path / "a.ome.tif", xml, pixels((3, 30, 40)))
    result = ozx.import_image(path, times=1, region="x=:10", sync=False)
    group = ozx.open(result.path)
    np.testing.assert_array_equal(group["0/0"][:], pixels((3, 30, 40))[1:2, :, :10])
    np.testing.assert_array_equal(group["1/0"][:], pixels((3, 30, 40))[2, :, :10])
    assert "image 1: not cropped along t: the image has no such axis" in result.notes
    assert "OME/METADATA.ome.xml is kept unchanged: it describes the whole original file" in result.notes


def test_export_renews_the_xml_of_a_part(stack, tmp_path):
    ozx.import_image(stack[0], tmp_path / "a.ozx", times="1:3", channels="GFP", region="x=20:120", sync=False)
    ozx.export(tmp_path / "a.ozx", tmp_path / "a.ome.tif", sync=False)
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        (image,) = (tifffile.xml2dict(file.ome_metadata)["OME"]["Image"],)
        found = {key: image["Pixels"][key] for key in ("SizeT", "SizeC", "SizeZ", "SizeX", "PhysicalSizeX")}
        assert found == {"SizeT": 2, "SizeC": 1, "SizeZ": 5, "SizeX": 100, "PhysicalSizeX": 0.5}
        assert image["Pixels"]["Channel"]["Name"] == "GFP"
        np.testing.assert_array_equal(file.asarray().reshape(2, 5, 300, 100), pixels(SHAPE)[1:3, 1, :, :, 20:120])


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"channels": "YFP"}, "expected names or numbers of its channels; got 'YFP'"),
        ({"times": "2:9"}, "the image: expected a region within t=0:4; got t=2:9"),
        ({"times": "2:3,x=4"}, "expected a range of an axis"),
        ({"times": 1, "region": "t=1"}, "times are given twice"),
        ({"channels": 0, "region": "c=1"}, "channels are given twice"),
        ({"region": "q=1"}, "q"),
        ({"region": "x=900:950um"}, "expected a region within x=0:170 micrometer"),
    ],
)
def test_choice_that_is_not_there_is_refused(stack, tmp_path, choice, message):
    with pytest.raises(UsageError, match=message):
        ozx.import_image(stack[0], tmp_path / "a.ozx", **choice)
    assert not list(tmp_path.iterdir())


def test_scenes_of_a_microscope_keep_their_places(tmp_path):
    pytest.importorskip("openreadout")
    result = ozx.import_image(
        FORMATS / "scenes.czi", tmp_path / "a.ozx", channels="GFP", times=1, region="z=1:,x=4:10", sync=False
    )
    t, c, z, y, x = np.indices((2, 2, 3, 12, 16))
    whole = 1_000 * t + 500 * c + 200 * z + 10 * y + x
    part = (slice(1, 2), slice(1, 2), slice(1, 3), slice(None), slice(4, 10))
    np.testing.assert_array_equal(ozx.open(result.path)["0/0"][:], whole[part])
    assert ozx.open_image(result.path, "0").levels[0].translation == pytest.approx((1, 0, 1, 0, 0.8))
    assert [channel["label"] for channel in ome(result.path, "1")["omero"]["channels"]] == ["GFP"]

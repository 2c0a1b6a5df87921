"""Exported OME-TIFF files as programs read them that this project did not write: libtiff, bioio, the schema."""

import os
import shutil
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import tifffile
from exported import validate
from hierarchies import FIXTURES
from tiffs import needs_samples, pixels, sample

import ozx
from ozx.images.image import GroupNodes
from ozx.places.place import Place
from ozx.store.opening import opened_hierarchy

NAMES = ("image", "plate", "series", "sharded")


@pytest.fixture(params=NAMES)
def exported(request, tmp_path):
    """Return a hierarchy, and the file made of it."""
    source = FIXTURES / f"{request.param}.ome.zarr"
    ozx.export(source, tmp_path / "a.ome.tif")
    return source, tmp_path / "a.ome.tif"


@pytest.mark.ci
def test_the_schema(exported):
    validate(tifffile.tiffcomment(exported[1]))


@needs_samples
@pytest.mark.parametrize("name", ["4D-series.ome.tif", "multi-channel-z-series.ome.tif", "multifile.companion.ome"])
def test_the_schema_of_ome_xml_that_was_kept(tmp_path, name):
    ozx.import_image(sample(name), tmp_path / "a.ozx")
    result = ozx.export(tmp_path / "a.ozx", tmp_path / "a.ome.tif")
    assert result.ome_xml == "updated"
    validate(tifffile.tiffcomment(tmp_path / "a.ome.tif"))


@pytest.mark.ci
@pytest.mark.parametrize("compression", ["zlib", "lzw", "none"])
def test_libtiff_reads_every_page(exported, tmp_path, compression):
    for program in ("tiffinfo", "tiffcp"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} (libtiff) is not installed")
    source, out = exported
    ozx.export(source, out, compression=compression, force=True)
    for command in (["tiffinfo", "-D", str(out)], ["tiffcp", "-c", "none", str(out), str(tmp_path / "copy.tif")]):
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        assert told.stderr == ""
    with tifffile.TiffFile(out) as file, tifffile.TiffFile(tmp_path / "copy.tif") as copy:
        assert len(file.pages) == len(copy.pages)
        for page, other in zip(file.pages, copy.pages, strict=True):
            np.testing.assert_array_equal(page.asarray(), other.asarray())


@pytest.mark.filterwarnings("ignore")  # what it uses of ome-types is deprecated
@pytest.mark.ci
def test_bioio_reads_pixels_and_names(exported):
    reader = pytest.importorskip("bioio_ome_tiff").Reader
    source, out = exported
    with opened_hierarchy(Place.parse(source)) as group:
        views = list(GroupNodes(group).images())
        found = reader(out)
        assert len(found.scenes) == len(views)
        for scene, view in zip(found.scenes, views, strict=True):
            found.set_scene(scene)
            np.testing.assert_array_equal(np.squeeze(found.data), np.squeeze(view.levels[0].array[:]))
            assert list(found.channel_names) == [channel.label for channel in view.channels]
            axes = [axis.name for axis in view.axes]
            sizes = {axis: view.levels[0].scale[axes.index(axis)] for axis in "zyx" if axis in axes}
            assert {axis: getattr(found.physical_pixel_sizes, axis.upper()) for axis in sizes} == sizes


@pytest.fixture
def bio_formats():
    """A function that runs a tool of Bio-Formats, and returns what it prints."""
    jar = os.environ.get("OZX_BIOFORMATS")
    if jar is None or shutil.which("java") is None:
        pytest.skip("OZX_BIOFORMATS does not name the jar of Bio-Formats, or java is not installed")

    def run(tool, *arguments):
        command = ["java", "-cp", jar, f"loci.formats.tools.{tool}", "-no-upgrade", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return run


@pytest.mark.ci
def test_bio_formats_reads_pixels_sizes_and_names(exported, tmp_path, bio_formats):
    source, out = exported
    told = bio_formats("ImageInfo", "-nopix", "-noflat", "-omexml-only", out)
    images = [each for each in ET.fromstring(told).iter() if each.tag.endswith("}Image")]
    with opened_hierarchy(Place.parse(source)) as group:
        views = list(GroupNodes(group).images())
        assert len(images) == len(views)
        first = 0  # the converter counts all levels of all images
        for image, view in zip(images, views, strict=True):
            level, axes = view.levels[0], [axis.name for axis in view.axes]
            found = next(each for each in image if each.tag.endswith("}Pixels"))
            for at, axis in enumerate(axes):
                assert int(found.get(f"Size{axis.upper()}")) == level.shape[at]
                if axis in "zyx":
                    assert float(found.get(f"PhysicalSize{axis.upper()}")) == pytest.approx(level.scale[at])
                    assert found.get(f"PhysicalSize{axis.upper()}Unit", "µm") == "µm"
            names = [each.get("Name") for each in found if each.tag.endswith("}Channel")]
            assert names == [channel.label for channel in view.channels]
            bio_formats("ImageConverter", "-series", first, out, tmp_path / f"{first}.ome.tif")
            copy = tifffile.imread(tmp_path / f"{first}.ome.tif", series=0)
            first += len(view.levels)
            np.testing.assert_array_equal(np.squeeze(copy), np.squeeze(level.array[:]))


@pytest.mark.ci
@pytest.mark.parametrize(
    ("kind", "compression"),
    [("uint8", "zlib"), ("uint16", "zlib"), ("uint8", "lzw"), ("uint16", "lzw"), ("uint8", "jpeg")],
)
def test_bio_formats_reads_colour_pixels(tmp_path, kind, compression, bio_formats):
    tifffile.imwrite(tmp_path / "a.tif", pixels((700, 900, 3), kind), photometric="rgb")
    ozx.import_image(tmp_path / "a.tif", tmp_path / "a.ozx")
    out, copy = tmp_path / "a.ome.tif", tmp_path / "copy.tif"
    ozx.export(tmp_path / "a.ozx", out, compression=compression)
    told = bio_formats("ImageInfo", "-nopix", out)
    assert "RGB = true (3)" in told
    assert "SizeC = 3 (effectively 1)" in told
    bio_formats("ImageConverter", "-series", "0", out, copy)
    with tifffile.TiffFile(copy) as file:
        found = file.pages[0].asarray() if file.pages[0].samplesperpixel == 3 else file.asarray()
    found = found if found.shape[-1] == 3 else found.transpose(1, 2, 0)
    np.testing.assert_array_equal(found, tifffile.imread(out))


def test_tiles_that_pages_share(tmp_path):
    """Levels with fewer planes: libtiff and tifffile read the same tile for several pages."""
    array = pixels((4, 64, 64))
    ozx.write_image(tmp_path / "a.ozx", array, axes="zyx", downsample="z,y,x")
    ozx.export(tmp_path / "a.ozx", tmp_path / "a.ome.tif")
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        np.testing.assert_array_equal(file.asarray(), array)

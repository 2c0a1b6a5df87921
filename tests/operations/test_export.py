"""Images as OME-TIFF: tifffile reads every pixel of every level back, and what was said of them."""

import os

import numpy as np
import ome_types
import pytest
import tifffile
import zarr
from exported import validate
from hierarchies import FIXTURES
from packed import pack_tree
from pictures import add_image, new_group
from tiffs import needs_samples, ome_image, ome_xml, pixels, sample, squeezed_axes, squeezed_series, write, write_ome
from uris import ozx_uri
from zarr.storage import LocalStore

import ozx
from ozx.errors import FormatError, ResourceError, UnsupportedError, UsageError
from ozx.images.image import GroupNodes
from ozx.places.place import Place
from ozx.store.opening import opened_hierarchy


def make(path, levels, axes, **options):
    group = new_group(store=LocalStore(path))
    add_image(group, levels, axes, **options)
    return path


def five(array, axes):
    """Return an array with all of t, c, z, y, x."""
    for place, axis in enumerate("tczyx"):
        if axis not in axes:
            array = np.expand_dims(array, place)
    return array


def read(path):
    """Return the levels of each image of a file, five axes each, and its OME-XML."""
    with tifffile.TiffFile(path) as file:
        assert file.is_ome
        found = [
            [five(level.asarray(), squeezed_axes(level).lower()) for level in series.levels]
            for series in squeezed_series(file)
        ]
        return found, ome_types.from_xml(file.ome_metadata)


def assert_same(path, out, node=""):
    """Every pixel of every level is there, and the OME-XML says so."""
    found, ome = read(out)
    with opened_hierarchy(Place.parse(path)) as group:
        start = group[node] if node else group
        views = list(GroupNodes(start).images())
        assert len(views) == len(found) == len(ome.images)
        for view, levels, image in zip(views, found, ome.images, strict=True):
            axes = [axis.name for axis in view.axes]
            assert len(levels) == len(view.levels)
            for level, stored in zip(levels, view.levels, strict=True):
                assert level.dtype == stored.array.dtype
                np.testing.assert_array_equal(level, five(stored.array[:], axes))
            sizes = [getattr(image.pixels, f"size_{axis}") for axis in "tczyx"]
            assert sizes == list(levels[0].shape)
            assert image.pixels.type.value == {"float32": "float", "float64": "double"}.get(
                levels[0].dtype.name, levels[0].dtype.name
            )
            assert sum(block.plane_count for block in image.pixels.tiff_data_blocks) == np.prod(sizes[:3])
    return ome


@pytest.mark.parametrize("name", ["image", "plate", "series", "sharded", "legacy"])
def test_fixtures(tmp_path, name):
    source = FIXTURES / f"{name}.ome.zarr"
    result = ozx.export(source, tmp_path / "a.ome.tif")
    assert_same(source, tmp_path / "a.ome.tif")
    assert result.bytes == (tmp_path / "a.ome.tif").stat().st_size
    assert not result.bigtiff
    if name != "legacy":
        packed = pack_tree(source, tmp_path / "a.ozx")
        ozx.export(packed, tmp_path / "b.ome.tif")
        assert (tmp_path / "a.ome.tif").read_bytes() == (tmp_path / "b.ome.tif").read_bytes()


def test_what_the_metadata_says(tmp_path):
    result = ozx.export(FIXTURES / "sharded.ome.zarr", tmp_path / "a.ome.tif")
    assert (result.ome_xml, result.image_count) == ("made", 1)
    assert result.images[0].axes == {"t": 3, "c": 2, "z": 5, "y": 72, "x": 88}
    (image,) = read(tmp_path / "a.ome.tif")[1].images
    said = image.pixels
    assert image.name == "Synthetic time lapse"
    assert [(said.physical_size_z, said.physical_size_z_unit.value)] == [(1.5, "µm")]
    assert [(said.physical_size_y, said.physical_size_x)] == [(0.325, 0.325)]
    assert (said.time_increment, said.time_increment_unit.value) == (30, "s")
    assert [channel.name for channel in said.channels] == ["Nuclei", "Cytoplasm"]
    assert [channel.color.as_rgb_tuple() for channel in said.channels] == [(0x3A, 0x7B, 0xFF), (0xFF, 0xB0, 0)]
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        page = file.pages.first
        assert page.resolutionunit == 3
        assert page.resolution[0] == pytest.approx(10_000 / 0.325)
        assert (page.compression, page.predictor, page.photometric) == (8, 2, 1)


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "i1", "i2", "i4", "f4", "f8", ">u2", ">f4"])
@pytest.mark.parametrize("compression", ["zlib", "zstd", "lzw", "none"])
def test_types_and_compressions(tmp_path, dtype, compression):
    array = pixels((40, 50), np.dtype(dtype).newbyteorder("="))
    source = make(tmp_path / "a.zarr", [array.astype(dtype)], "yx", chunks=(16, 16))
    out = tmp_path / "a.ome.tif"
    result = ozx.export(source, out, compression=compression, tile=32)
    found = tifffile.imread(out)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    assert result.compression == compression
    with tifffile.TiffFile(out) as file:
        page = file.pages.first
        assert page.compression == {"zlib": 8, "zstd": 50000, "lzw": 5, "none": 1}[compression]
        assert page.predictor == (2 if compression != "none" and array.dtype.kind != "f" else 1)


@pytest.mark.parametrize(("dtype", "written"), [("bool", "uint8"), ("float16", "float32")])
def test_types_that_are_widened(tmp_path, dtype, written):
    array = pixels((40, 50), dtype)
    result = ozx.export(make(tmp_path / "a.zarr", [array], "yx"), tmp_path / "a.tif")
    found = tifffile.imread(tmp_path / "a.tif")
    assert found.dtype == written
    np.testing.assert_array_equal(found, array)
    assert result.notes == (f"the root: {dtype} is written as {written}, with the same values",)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "complex64"])
def test_types_that_ome_tiff_has_not(tmp_path, dtype):
    source = make(tmp_path / "a.zarr", [np.zeros((8, 8), dtype)], "yx")
    with pytest.raises(UnsupportedError, match=rf"expected pixels of a type that OME-TIFF supports.*{dtype}") as error:
        ozx.export(source, tmp_path / "a.tif")
    assert "ozx.write_image" in error.value.hint
    assert os.listdir(tmp_path) == ["a.zarr"]


@pytest.mark.parametrize("axes", ["yx", "zyx", "cyx", "tyx", "czyx", "tcyx", "tzyx", "tczyx", "xy", "yxc"])
def test_axes(tmp_path, axes):
    lengths = {"t": 2, "c": 3, "z": 4, "y": 20, "x": 30}
    array = pixels(tuple(lengths[axis] for axis in axes))
    source = make(tmp_path / "a.zarr", [array], axes, chunks=(2,) * (len(axes) - 2) + (16, 16))
    result = ozx.export(source, tmp_path / "a.tif")
    order = sorted(range(len(axes)), key=lambda place: "tczyx".index(axes[place]))
    ((level,),), _ = read(tmp_path / "a.tif")
    np.testing.assert_array_equal(level, five(array.transpose(order), axes))
    assert result.images[0].axes == {axis: lengths[axis] if axis in axes else 1 for axis in "tczyx"}


def test_axes_that_ome_tiff_has_not(tmp_path):
    source = make(tmp_path / "a.zarr", [np.zeros((2, 8, 8), "u1")], ["angle", "y", "x"])
    with pytest.raises(UnsupportedError, match=r"expected the axes t, c, z, y and x.*found angle, y, x"):
        ozx.export(source, tmp_path / "a.tif")
    one = make(tmp_path / "b.zarr", [np.zeros((1, 8, 8), "u1")], ["angle", "y", "x"])
    assert ozx.export(one, tmp_path / "a.tif").images[0].axes["z"] == 1


@pytest.mark.ci
@pytest.mark.parametrize(
    ("chunks", "tile"), [((1, 60, 50), 32), ((2, 7, 90), 48), ((1, 33, 9), 64), ((1, 64, 64), 16), ((2, 9, 9), None)]
)
@pytest.mark.parametrize("jobs", [1, 3])
def test_chunks_and_tiles_that_do_not_fit_together(tmp_path, monkeypatch, chunks, tile, jobs):
    monkeypatch.setattr("ozx.exporting.file.BLOCK_BYTES", 2048)
    array = pixels((3, 70, 90))
    source = make(tmp_path / "a.zarr", [array, array[:, ::2, ::2]], "zyx", chunks=chunks)
    ozx.export(source, tmp_path / "a.tif", tile=tile, jobs=jobs)
    assert_same(source, tmp_path / "a.tif")
    ozx.export(source, tmp_path / "b.tif", tile=tile, jobs=2)
    assert (tmp_path / "a.tif").read_bytes() == (tmp_path / "b.tif").read_bytes()


def test_each_chunk_is_read_once(tmp_path, monkeypatch):
    read_keys = []
    get = LocalStore.get

    async def counted(self, key, *arguments, **options):
        read_keys.append(key)
        return await get(self, key, *arguments, **options)

    array = pixels((2, 130, 170))
    source = make(tmp_path / "a.zarr", [array, array[:, ::2, ::2]], "zyx", chunks=(2, 40, 30))
    monkeypatch.setattr(LocalStore, "get", counted)
    monkeypatch.setattr("ozx.exporting.file.BLOCK_BYTES", 20_000)
    ozx.export(source, tmp_path / "a.tif", tile=16)
    chunks = [key for key in read_keys if "/c/" in key]
    assert len(chunks) == len(set(chunks)) == 4 * 6 + 2 * 3


def test_levels_with_fewer_planes_lend_theirs(tmp_path):
    array = pixels((5, 64, 64))
    small, smaller = array[::2, ::2, ::2], array[::4, ::4, ::4]
    source = make(tmp_path / "a.zarr", [array, small, smaller], "zyx", chunks=(2, 16, 16))
    result = ozx.export(source, tmp_path / "a.tif")
    ((_, first, second),), _ = read(tmp_path / "a.tif")
    np.testing.assert_array_equal(first[0, 0], small[[0, 0, 1, 1, 2]])
    np.testing.assert_array_equal(second[0, 0], smaller[[0, 0, 0, 1, 1]])
    assert result.notes == (
        "level 1, 2: z planes are repeated, because all levels of OME-TIFF have equally many planes",
    )
    with tifffile.TiffFile(tmp_path / "a.tif") as file:  # written once each
        places = {page.dataoffsets for page in file.series[0].levels[1].pages}
        assert len(places) == 3


def test_levels_that_are_none(tmp_path):
    array = pixels((2, 64, 64))
    levels = [array, array[:, ::2, ::2], array[:, ::2, ::2], array[:1, ::4, ::4], array[:, ::8, ::8].astype("u1")]
    result = ozx.export(make(tmp_path / "a.zarr", levels, "cyx"), tmp_path / "a.tif")
    assert result.images[0].levels == ("0", "1")
    assert result.notes == (
        (
            "level 2 is left out: its planes are not smaller than in the previous level, or it has more z planes than "
            "the first level"
        ),
        "level 3 is left out: its type or its length along t or c differs from the first level, or it has no pixels",
        "level 4 is left out: its type or its length along t or c differs from the first level, or it has no pixels",
    )


def test_levels_that_cover_another_area_are_left_out(tmp_path):
    part = tmp_path / "part.ozx"
    ozx.extract(FIXTURES / "image.ome.zarr", part, region="y=64:128,x=128:192", levels=":", whole_chunks=True)
    result = ozx.export(part, tmp_path / "a.tif")
    assert result.images[0].levels == ("0",)
    for level in (1, 2):
        assert any(f"level {level} is left out: its scale and translation" in note for note in result.notes)
    ((levels,), _) = read(tmp_path / "a.tif")
    np.testing.assert_array_equal(levels[0][0, :, 0], ozx.open(part)["0"][:])


@pytest.mark.parametrize("rounding", [np.floor, np.ceil])
@pytest.mark.parametrize("has_translations", [False, True])
def test_levels_of_rounded_lengths_cover_the_same_area(tmp_path, rounding, has_translations):
    array = pixels((101, 103))
    levels, scales = [array], [(0.5, 0.5)]
    for step in (2, 4, 8):
        height, width = (int(rounding(length / step)) for length in array.shape)
        levels.append(np.resize(array, (height, width)))
        scales.append((0.5 * step, 0.5 * step))
    source = make(tmp_path / "a.zarr", levels, "yx", scales=scales)
    if has_translations:  # the centres of pixels, as OME-Zarr 0.5 defines positions
        group = zarr.open_group(source)
        ome = group.attrs["ome"]
        for dataset, (scale, _) in zip(ome["multiscales"][0]["datasets"], scales, strict=True):
            shift = scale / 2 - 0.25
            dataset["coordinateTransformations"].append({"type": "translation", "translation": [shift, shift]})
        group.attrs["ome"] = ome
    result = ozx.export(source, tmp_path / "a.tif")
    assert result.images[0].levels == ("0", "1", "2", "3")


def test_bigtiff_where_it_might_be_needed(tmp_path, monkeypatch):
    source = FIXTURES / "image.ome.zarr"
    assert not ozx.export(source, tmp_path / "a.tif").bigtiff
    monkeypatch.setattr("ozx.exporting.file.LARGEST_CLASSIC", 300_000)
    assert ozx.export(source, tmp_path / "b.tif").bigtiff
    assert (tmp_path / "b.tif").read_bytes()[:4] == b"II\x2b\0"
    assert_same(source, tmp_path / "b.tif")


def test_labels_are_left_out_and_exported_by_name(tmp_path):
    source = FIXTURES / "image.ome.zarr"
    result = ozx.export(source, tmp_path / "a.tif")
    assert result.notes == ("labels are left out: labels/cells; node='labels/cells' exports a label image",)
    result = ozx.export(source, tmp_path / "b.tif", node="labels/cells")
    assert (result.node, result.images[0].path, result.images[0].levels[0]) == ("labels/cells",) * 2 + (
        "labels/cells/0",
    )
    assert_same(source, tmp_path / "b.tif", "labels/cells")
    assert ozx.export(source, tmp_path / "c.tif", node="labels").images[0].path == "labels/cells"


@pytest.mark.parametrize("form", ["node", "uri", "both"])
def test_one_field_of_a_plate(tmp_path, form):
    packed = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    path, node = {
        "node": (packed, "A/1/1"),
        "uri": (f"{ozx_uri(packed)}/A/1/1", ""),
        "both": (f"{packed}|zip:A/1/", "1"),
    }[form]
    result = ozx.export(path, tmp_path / "a.tif", node=node)
    assert (result.node, result.images[0].path) == ("A/1/1", "A/1/1")
    ome = assert_same(packed, tmp_path / "a.tif", "A/1/1")
    assert not ome.plates


def test_a_plate(tmp_path):
    ozx.export(FIXTURES / "plate.ome.zarr", tmp_path / "a.tif")
    (plate,) = read(tmp_path / "a.tif")[1].plates
    assert (plate.name, plate.rows, plate.columns) == ("Synthetic plate", 2, 2)
    assert [(well.row, well.column, len(well.well_samples)) for well in plate.wells] == [
        (0, 0, 2),
        (0, 1, 1),
        (1, 0, 1),
        (1, 1, 2),
    ]
    assert plate.wells[3].well_samples[1].image_ref.id == "Image:5"
    assert [len(one.well_sample_refs) for one in plate.plate_acquisitions] == [6]


def test_nodes_that_are_no_images(tmp_path):
    source = FIXTURES / "image.ome.zarr"
    with pytest.raises(UsageError, match="expected the path of an image; there is no 'lables/cells'") as raised:
        ozx.export(source, tmp_path / "a.tif", node="lables/cells")
    assert raised.value.hint.startswith("Leave out node=…: the file is one image. channels=… selects")
    assert raised.value.hint.endswith("Did you mean labels/cells?")
    for node, way in (("0", "Leave out node=…"), ("labels/cells/0", "Give node='labels/cells'")):
        with pytest.raises(UsageError, match=f"expected an image; {node} is a level of an image") as raised:
            ozx.export(source, tmp_path / "a.tif", node=node)
        assert raised.value.hint == f"{way} to export the image; levels=… chooses its levels."
    with pytest.raises(UsageError, match="there is no 'A/9'") as raised:
        ozx.export(FIXTURES / "plate.ome.zarr", tmp_path / "a.tif", node="A/9")
    assert "A/1" in raised.value.hint
    empty = tmp_path / "empty.zarr"
    zarr.create_group(empty)
    with pytest.raises(UnsupportedError, match="expected images; found no OME-Zarr metadata"):
        ozx.export(empty, tmp_path / "a.tif")


def assert_round(first, tmp_path):
    """Import and export keep a file that was exported, to the last byte."""
    ozx.import_image(first, tmp_path / "again.ozx", reuse_levels=True, sync=False)
    result = ozx.export(tmp_path / "again.ozx", tmp_path / "again.ome.tif", sync=False)
    assert result.ome_xml == "updated"
    before, after = read(first), read(tmp_path / "again.ome.tif")
    assert before[1] == after[1]
    for levels, others in zip(before[0], after[0], strict=True):
        assert len(levels) == len(others)
        assert all(np.array_equal(*pair) for pair in zip(levels, others, strict=True))
    assert tifffile.tiffcomment(first) == tifffile.tiffcomment(tmp_path / "again.ome.tif")


@pytest.mark.parametrize("name", ["image", "plate", "series", "sharded"])
def test_export_import_export(tmp_path, name):
    ozx.export(FIXTURES / f"{name}.ome.zarr", tmp_path / "a.ome.tif")
    assert_round(tmp_path / "a.ome.tif", tmp_path)
    assert (tmp_path / "a.ome.tif").read_bytes() == (tmp_path / "again.ome.tif").read_bytes()


@needs_samples
@pytest.mark.parametrize(
    "name", ["4D-series.ome.tif", "Channel1-01-A-01.tif", "multi-channel-z-series.ome.tif", "multifile.companion.ome"]
)
def test_real_files_there_and_back(tmp_path, name):
    ozx.import_image(sample(name), tmp_path / "a.ozx")
    ozx.export(tmp_path / "a.ozx", tmp_path / "a.ome.tif")
    assert_same(tmp_path / "a.ozx", tmp_path / "a.ome.tif")
    assert_round(tmp_path / "a.ome.tif", tmp_path)


def test_what_ozx_edit_changes_is_changed_in_the_ome_xml(tmp_path):
    channels = '<Channel ID="Channel:0:0" Name="DAPI" Color="65535" EmissionWavelength="461"/>'
    size = 'PhysicalSizeX="0.5" PhysicalSizeXUnit="µm" PhysicalSizeY="0.5" PhysicalSizeYUnit="µm"'
    image = ome_image(inside=channels, attributes=size)
    extra = '<Instrument ID="Instrument:0"><Microscope Model="Any"/></Instrument>'
    write_ome(tmp_path / "a.ome.tif", ome_xml(extra + image), pixels((1, 30, 40)))
    ozx.import_image(tmp_path / "a.ome.tif", tmp_path / "a.ozx")
    ozx.edit(
        tmp_path / "a.ozx", pixel_size={"x": 0.25}, channel_names=["Hoechst"], colors=["00FF00"], name="Other cells"
    )
    result = ozx.export(tmp_path / "a.ozx", tmp_path / "b.ome.tif")
    assert result.ome_xml == "updated"
    ome = read(tmp_path / "b.ome.tif")[1]
    said = ome.images[0].pixels
    assert (ome.images[0].name, said.physical_size_x, said.physical_size_y) == ("Other cells", 0.25, 0.5)
    assert (said.channels[0].name, said.channels[0].color.as_hex()) == ("Hoechst", "#0f0")
    assert said.channels[0].emission_wavelength == 461
    assert ome.images[0].acquisition_date.year == 2026
    assert ome.instruments[0].microscope.model == "Any"
    assert ome.creator == "ozx"


@pytest.mark.parametrize("kind", ["uint8", "uint16"])
@pytest.mark.parametrize("compression", ["zlib", "zstd", "lzw", "none"])
def test_colour_pixels_stay_colour_pixels(tmp_path, kind, compression):
    array = pixels((600, 530, 3), kind)
    write(tmp_path / "a.ome.tif", array, photometric="rgb")
    ozx.import_image(tmp_path / "a.ome.tif", tmp_path / "a.ozx", chunks="y=100,x=90")
    result = ozx.export(tmp_path / "a.ozx", tmp_path / "b.ome.tif", compression=compression)
    assert (result.ome_xml, result.images[0].axes["c"]) == ("updated", 3)
    with tifffile.TiffFile(tmp_path / "b.ome.tif") as file:
        (page,) = file.pages
        assert (page.photometric.name, page.planarconfig.name, page.samplesperpixel) == ("RGB", "CONTIG", 3)
        np.testing.assert_array_equal(file.asarray(), array)
        levels = [level.asarray() for level in file.series[0].levels]
    with ozx.open(tmp_path / "a.ozx") as group:
        for number, level in enumerate(levels):
            np.testing.assert_array_equal(level, group[str(number)][:].transpose(1, 2, 0))
    said = ome_types.from_xml(tifffile.tiffcomment(tmp_path / "b.ome.tif")).images[0].pixels
    assert (said.size_c, [channel.samples_per_pixel for channel in said.channels]) == (3, [3])
    ozx.import_image(tmp_path / "b.ome.tif", tmp_path / "b.ozx", reuse_levels=True)
    assert [channel.label for channel in ozx.inspect(tmp_path / "b.ozx").images[0].channels] == ["Red", "Green", "Blue"]
    ozx.export(tmp_path / "b.ozx", tmp_path / "c.ome.tif", compression=compression)
    assert (tmp_path / "c.ome.tif").read_bytes() == (tmp_path / "b.ome.tif").read_bytes()


def test_colour_pixels_of_a_stack_and_a_made_description(tmp_path):
    array = pixels((2, 3, 70, 60), "uint8")
    named = [{"label": name, "color": name} for name in ("Red", "Green", "Blue")]
    ozx.write_image(tmp_path / "a.ozx", array, axes="zcyx", channel_names=named, pixel_size="0.5um")
    assert ozx.export(tmp_path / "a.ozx", tmp_path / "a.ome.tif").ome_xml == "made"
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.ome.tif"), array.transpose(0, 2, 3, 1))
    validate(tifffile.tiffcomment(tmp_path / "a.ome.tif"))


@pytest.mark.parametrize(
    "channels",
    [
        [{"label": "TRITC", "color": "red"}, {"label": "GFP", "color": "green"}, {"label": "DAPI", "color": "blue"}],
        [{"label": name, "color": "white"} for name in ("Red", "Green", "Blue")],
        [{"label": name, "color": name} for name in ("Blue", "Green", "Red")],
    ],
)
def test_other_channels_are_no_colour_pixels(tmp_path, channels):
    ozx.write_image(tmp_path / "a.ozx", pixels((3, 40, 50), "uint8"), axes="cyx", channel_names=channels)
    ozx.export(tmp_path / "a.ozx", tmp_path / "a.ome.tif")
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        assert [page.photometric.name for page in file.pages] == ["MINISBLACK"] * 3
    with pytest.raises(UsageError, match="expected 8-bit red, green and blue for jpeg; found 3 channels of uint8"):
        ozx.export(tmp_path / "a.ozx", tmp_path / "b.ome.tif", compression="jpeg")
    assert not (tmp_path / "b.ome.tif").exists()


def test_jpeg_changes_colour_pixels_by_little(tmp_path):
    y, x = np.mgrid[:300, :410]
    array = np.stack([y // 2, x // 2, (y + x) // 4], -1).astype("uint8")
    ozx.write_image(tmp_path / "a.ozx", array, axes="yxc")
    ozx.export(tmp_path / "a.ozx", tmp_path / "a.ome.tif", compression="jpeg", tile=256)
    ozx.export(tmp_path / "a.ozx", tmp_path / "b.ome.tif", compression="jpeg", tile=256)
    assert (tmp_path / "a.ome.tif").read_bytes() == (tmp_path / "b.ome.tif").read_bytes()
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as file:
        assert (file.pages[0].compression.name, file.pages[0].photometric.name) == ("JPEG", "YCBCR")
        assert np.abs(file.asarray().astype(int) - array).max() <= 8


def test_samples_become_channels_if_asked(tmp_path):
    array = pixels((40, 50, 3), "uint8")
    write(tmp_path / "a.ome.tif", array, photometric="rgb")
    ozx.import_image(tmp_path / "a.ome.tif", tmp_path / "a.ozx")
    result = ozx.export(tmp_path / "a.ozx", tmp_path / "b.ome.tif", split_rgb=True)
    assert result.ome_xml == "updated"
    (image,) = read(tmp_path / "b.ome.tif")[1].images
    assert [channel.name for channel in image.pixels.channels] == ["Red", "Green", "Blue"]
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "b.ome.tif"), array.transpose(2, 0, 1))


def test_one_image_of_a_series_that_was_imported(tmp_path):
    arrays = [pixels((30, 40), seed=seed) for seed in range(3)]
    images = "".join(
        ome_image(number, name=f"Cells {number}", planes=f'<TiffData IFD="{number}"/>') for number in range(3)
    )
    write_ome(tmp_path / "a.ome.tif", ome_xml(images), np.stack(arrays))
    ozx.import_image(tmp_path / "a.ome.tif", tmp_path / "a.ozx")
    result = ozx.export(tmp_path / "a.ozx", tmp_path / "b.ome.tif", node="1")
    assert result.ome_xml == "updated"
    found, ome = read(tmp_path / "b.ome.tif")
    assert [image.name for image in ome.images] == ["Cells 1"]
    np.testing.assert_array_equal(found[0][0][0, 0, 0], arrays[1])
    ozx.import_image(tmp_path / "a.ome.tif", tmp_path / "c.ozx", series=2)
    assert ozx.export(tmp_path / "c.ozx", tmp_path / "c.ome.tif").ome_xml == "updated"
    assert [image.name for image in read(tmp_path / "c.ome.tif")[1].images] == ["Cells 2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"<OME", "no element found|unclosed token|not well-formed"),
        (b'<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2013-06"><Image ID="Image:0"/></OME>', "found {http"),
        (b'<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"/>', "found none"),
        (ome_xml(ome_image(0) + ome_image(1)).encode(), "its images cannot be matched with the exported images"),
    ],
)
def test_ome_xml_that_cannot_be_brought_up_to_date(tmp_path, text, message):
    source = make(tmp_path / "a.zarr", [pixels((30, 40))], "yx")
    (source / "OME").mkdir()
    (source / "OME" / "METADATA.ome.xml").write_bytes(text)
    result = ozx.export(source, tmp_path / "a.tif")
    assert result.ome_xml == "made"
    (note,) = result.notes
    assert note.startswith("OME/METADATA.ome.xml is left out: ")
    assert any(part in note for part in message.split("|"))
    assert_same(source, tmp_path / "a.tif")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tile": 100}, "a multiple of 16; got 100"),
        ({"tile": 0}, "got 0"),
        ({"tile": 16_384}, r"expected a tile of 16 to 8,192"),
        ({"compression": "jpeg2000"}, "expected a compression, one of zlib, zstd, lzw, jpeg, none; got 'jpeg2000'"),
        ({"levels": "x"}, "expected levels"),
        ({"jobs": 0}, "expected at least 1 job"),
        ({"out": ""}, "expected a path; got an empty string"),
    ],
)
def test_wrong_calls(tmp_path, options, message):
    out = options.pop("out", tmp_path / "a.tif")
    with pytest.raises(UsageError, match=message):
        ozx.export(FIXTURES / "image.ome.zarr", out, **options)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file(tmp_path):
    source, out = FIXTURES / "image.ome.zarr", tmp_path / "a.tif"
    out.write_bytes(b"old")
    with pytest.raises(UsageError, match=r"a\.tif: the file exists already"):
        ozx.export(source, out)
    assert out.read_bytes() == b"old"
    ozx.export(source, out, force=True)
    assert_same(source, out)
    packed = pack_tree(source, tmp_path / "a.ozx")
    for name, verb in (("a.ozx", "ozx extract"), ("b.ome.zarr/", "ozx unpack")):
        with pytest.raises(UsageError, match="expected the name of a TIFF file") as caught:
            ozx.export(packed, tmp_path / name, force=True)
        assert caught.value.hint.startswith(verb)
    other = packed.rename(tmp_path / "a.zip")
    with pytest.raises(UsageError, match="is the file to export"):
        ozx.export(other, other, force=True)
    packed = other.rename(packed)
    with pytest.raises(ResourceError, match="the folder does not exist"):
        ozx.export(packed, tmp_path / "none" / "a.tif")


def test_another_ending_is_told(tmp_path):
    result = ozx.export(FIXTURES / "series.ome.zarr", tmp_path / "a.out")
    what = "ends in neither .tif nor .tiff; programs may not recognise it as a TIFF file"
    assert result.notes == (f"warning: {tmp_path / 'a.out'} {what}",)
    with pytest.raises(UsageError, match=r"expected the name of a TIFF file; got .*a\.png") as caught:
        ozx.export(FIXTURES / "series.ome.zarr", tmp_path / "a.png")
    assert caught.value.hint == "ozx thumbnail writes pictures."
    assert not (tmp_path / "a.png").exists()


@pytest.mark.parametrize("fault", ["archive", "chunk"])
def test_a_damaged_chunk_is_named_and_leaves_nothing(tmp_path, fault):
    out = tmp_path / "out" / "a.tif"
    out.parent.mkdir()
    out.write_bytes(b"old")
    if fault == "archive":
        source = pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "a.ozx")
        data = bytearray(source.read_bytes())
        (entry,) = [entry for entry in ozx.list_entries(source) if entry.key == "1/c/1/0/1"]
        data[entry.offset] ^= 0xFF
        source.write_bytes(data)
        message = "entry '1/c/1/0/1'"
    else:
        source = make(tmp_path / "a.zarr", [pixels((64, 64)), pixels((32, 32))], "yx", chunks=(32, 32))
        (source / "1" / "c" / "0" / "0").write_bytes(b"nonsense")
        message = "1/c/0/0: the chunk cannot be decoded"
    with pytest.raises(FormatError) as raised:
        ozx.export(source, out, force=True)
    assert str(raised.value).startswith(str(source))
    assert message in str(raised.value)
    assert str(raised.value).endswith("the damage is in the array 1")
    assert out.read_bytes() == b"old"
    assert os.listdir(out.parent) == ["a.tif"]


def test_the_damaged_part_of_a_large_image_is_named(tmp_path):
    source = make(tmp_path / "a.zarr", [pixels((4096, 2048))], "yx", chunks=(512, 2048))
    (source / "0" / "c" / "7" / "0").write_bytes(b"nonsense")
    with pytest.raises(FormatError, match=r"the damage is within y=[0-9]+:4096 of the array 0$"):
        ozx.export(source, tmp_path / "a.tif")


def test_region_and_channels_are_those_of_a_crop(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 4000, (3, 700, 650), dtype="uint16")
    sizes = {"y": 0.5, "x": 0.5}
    ozx.write_image(
        tmp_path / "a.ozx", pixels, axes="cyx", channel_names=list("ABC"), pixel_size=sizes, unit="um", sync=False
    )
    result = ozx.export(tmp_path / "a.ozx", tmp_path / "a.tif", region="y=3:600,x=10:300um", channels="A,C", sync=False)
    (image,) = result.images
    assert (image.axes, image.levels) == ({"t": 1, "c": 2, "z": 1, "y": 597, "x": 580}, ("0", "1", "2"))
    with tifffile.TiffFile(tmp_path / "a.tif") as tiff:
        np.testing.assert_array_equal(tiff.series[0].asarray(), pixels[[0, 2], 3:600, 20:600])
        assert len(tiff.series[0].levels) == 3
        assert 'Name="C"' in tiff.ome_metadata
        assert 'Name="B"' not in tiff.ome_metadata


def test_region_of_a_node_keeps_the_name_of_the_node(tmp_path):
    ozx.pack(FIXTURES / "plate.ome.zarr", tmp_path / "a.ozx")
    region = {"y": (1, 20), "x": (2, 9)}
    result = ozx.export(tmp_path / "a.ozx", tmp_path / "a.tif", node="A/1/0", region=region, levels="0")
    assert (result.node, result.images[0].path, result.images[0].levels) == ("A/1/0", "A/1/0", ("A/1/0/0",))
    with tifffile.TiffFile(tmp_path / "a.tif") as tiff:
        expected = ozx.open(tmp_path / "a.ozx")["A/1/0/0"][..., 1:20, 2:9]
        np.testing.assert_array_equal(tiff.series[0].asarray().squeeze(), expected.squeeze())
    with pytest.raises(UsageError, match="expected a region within y="):
        ozx.export(tmp_path / "a.ozx", tmp_path / "b.tif", region="y=0:9999")
    assert not (tmp_path / "b.tif").exists()

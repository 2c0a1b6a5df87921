"""Images as people read them: `ozx.open_image`, `ozx.read`, and what an image knows and gives."""

import io
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import zarr

import ozx
from ozx.errors import FormatError, UsageError

FIXTURES = Path(__file__).parents[2] / "fixtures"
CELLS = FIXTURES / "image.ome.zarr"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    return ozx.pack(CELLS, tmp_path_factory.mktemp("cells") / "cells.ozx", sync=False).path


@pytest.fixture(scope="module")
def plate(tmp_path_factory):
    return ozx.pack(FIXTURES / "plate.ome.zarr", tmp_path_factory.mktemp("plate") / "plate.ozx", sync=False).path


@pytest.fixture(scope="module")
def whole():
    return zarr.open_array(CELLS / "0", mode="r")[:]


def in_memory(path):
    return io.BytesIO(Path(path).read_bytes())


def as_directory(path):
    return CELLS


@pytest.mark.parametrize("kind", [str, Path, in_memory, io.FileIO, as_directory])
def test_an_image_is_read_from_every_kind_of_file(cells, whole, kind):
    given = kind(cells)
    with ozx.open_image(given) as image:
        assert np.array_equal(image.read(), whole)
        assert np.array_equal(image.labels["cells"].read(), zarr.open_array(CELLS / "labels/cells/0", mode="r")[:])
    if isinstance(given, io.IOBase):
        assert not given.closed
        assert given.tell() == 0
        given.close()


def test_an_image_of_ome_zarr_04_is_read():
    image = ozx.open_image(FIXTURES / "legacy.ome.zarr")
    assert np.array_equal(image.read(level=1), zarr.open_array(FIXTURES / "legacy.ome.zarr/1", mode="r")[:])
    assert [axis.name for axis in image.axes] == ["c", "y", "x"]


def test_an_image_of_ome_zarr_06_is_read(tmp_path, cells):
    path = ozx.repack(cells, tmp_path / "new.ozx", ome_version="0.6", sync=False).path
    image = ozx.open_image(path)
    assert image.scale == (1.0, 0.325, 0.325)
    assert image.read(region={"x": (0.325, 0.65)}, unit="um").shape == (2, 256, 1)


def test_an_image_tells_what_it_is(cells):
    image = ozx.open_image(cells)
    assert image.name == "Synthetic cells"
    axes = [(axis.name, axis.type, axis.unit, axis.size) for axis in image.axes][1:]
    assert axes == [("y", "space", "micrometer", 256), ("x", "space", "micrometer", 256)]
    assert (image.shape, image.dtype, len(image.levels)) == ((2, 256, 256), np.dtype("u2"), 3)
    assert (image.scale, image.translation) == ((1.0, 0.325, 0.325), (0.0, 0.0, 0.0))
    channels = [(channel.name, len(channel.color), len(channel.contrast)) for channel in image.channels]
    assert channels == [("Nuclei", 6, 2), ("Cytoplasm", 6, 2)]
    assert list(image.labels) == ["cells"]
    assert (image.plate, len(image.wells), len(image.fields)) == (None, 0, 0)
    assert "Synthetic cells" in repr(image)


@pytest.mark.parametrize(
    ("asked", "index"),
    [
        ({"channels": "cytoplasm"}, np.s_[1]),
        ({"channels": 0}, np.s_[0]),
        ({"channels": ["Cytoplasm", 0]}, np.s_[[1, 0]]),
        ({"channels": [1]}, np.s_[[1]]),
        ({"channels": np.array([1, 0])}, np.s_[[1, 0]]),
        ({"region": {"x": (10, 60)}}, np.s_[..., 10:60]),
        ({"region": {"x": slice(None, 60), "y": np.int64(3)}}, np.s_[:, 3, :60]),
        ({"region": {"y": (-10, None)}, "channels": 1}, np.s_[1, -10:]),
        ({"region": "y=10:20,x=:5"}, np.s_[:, 10:20, :5]),
        ({"region": {"y": 3}}, np.s_[:, 3]),
        ({"region": "y=3"}, np.s_[:, 3]),
        ({"region": "y=-1"}, np.s_[:, -1]),
        ({"region": "y=3:4"}, np.s_[:, 3:4]),
        ({"region": "x=3.25:6.5um"}, np.s_[..., 10:20]),
        ({"region": {"x": (3.25, 6.5)}, "unit": "um"}, np.s_[..., 10:20]),
        ({"region": {"x": (3200, 6600), "y": (None, 325)}, "unit": "nanometer"}, np.s_[:, :1, 10:21]),
    ],
)
def test_a_part_is_that_of_a_slice(cells, whole, asked, index):
    assert np.array_equal(ozx.read(cells, **asked), whole[index])


def test_planes_are_chosen_by_number(tmp_path):
    pixels = np.arange(2 * 3 * 4 * 8 * 8, dtype="u2").reshape(2, 3, 4, 8, 8)
    path = ozx.write_image(tmp_path / "a.ozx", pixels, axes="tczyx", sync=False).path
    assert np.array_equal(ozx.read(path, t=1, z=(1, 3)), pixels[1, :, 1:3])
    assert np.array_equal(ozx.read(path, t=0, channels=[2, 0], z=3), pixels[0, [2, 0], 3])
    with pytest.raises(UsageError, match="axis x has no unit"):
        ozx.read(path, region={"x": (0, 1)}, unit="um")
    with pytest.raises(UsageError, match="axis z is given twice"):
        ozx.read(path, z=1, region={"z": (0, 1)})
    with pytest.raises(UsageError, match=r"z: expected a number or a range \(start, stop\); got the list \[0, 2\]"):
        ozx.read(path, z=[0, 2])  # as of channels: two of them, or a range?


@pytest.mark.parametrize(
    ("pixel_size", "level"), [(0.325, 0), (0.64, 0), (0.65, 1), (1.2, 1), (1.3, 2), (99, 2), (0.1, 0)]
)
def test_the_coarsest_level_that_is_fine_enough_is_read(cells, pixel_size, level):
    image = ozx.open_image(cells)
    assert np.array_equal(image.read(pixel_size=pixel_size), image.read(level=level))
    assert np.array_equal(image.read(pixel_size=pixel_size * 1000, unit="nm"), image.read(level=level))


def test_a_region_of_a_coarser_level_covers_the_region(cells):
    image = ozx.open_image(cells)
    coarse = image.read(level=2)
    assert np.array_equal(image.read(level=-1, region={"x": (6, 13), "y": 255}), coarse[:, 63, 1:4])
    assert np.array_equal(image.read(level=2, region={"x": (1.3, 3.9)}, unit="um"), coarse[..., 1:3])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"channels": "DAPI"}, "expected names or numbers of its channels"),
        ({"channels": []}, "expected channels by name or number"),
        ({"channels": 1.5}, "by name or number"),
        ({"z": 0}, "unknown axis 'z'"),
        ({"region": {"x": (10, 300)}}, "within x=0:256"),
        ({"region": {"x": (10, 90)}, "unit": "um"}, "within x=0:83.2 micrometer"),
        ({"region": {"x": (0.1, 0.2)}, "unit": "um"}, "no centre of a pixel"),
        ({"region": {"x": 3}, "unit": "um"}, "expected a range"),
        ({"region": {"x": (0, 1)}, "unit": "second"}, "cannot be converted"),
        ({"region": {"x": (0, 1)}, "unit": "ell"}, "expected a unit"),
        ({"region": {"c": (0, 1)}, "unit": "um"}, "axis c has no unit"),
        ({"region": {"c": (0, 1)}, "channels": 0}, "given twice"),
        ({"region": {"x": (0, 1.5)}}, "whole number"),
        ({"region": 5}, "a region by axis"),
        ({"level": 3}, "a level from 0 to 2"),
        ({"level": True}, "whole number"),
        ({"level": 1, "pixel_size": 1}, "got both"),
        *(({"pixel_size": wrong}, "a pixel size above 0") for wrong in (0, -1, float("nan"), "1um", (1, 1))),
    ],
)
def test_what_cannot_be_read_is_a_usage_error(cells, asked, message):
    with pytest.raises(UsageError, match=message) as caught:
        ozx.read(cells, **asked)
    assert caught.value.path == cells


def test_a_node_is_named_in_the_path_or_beside_it(plate):
    expected = zarr.open_array(FIXTURES / "plate.ome.zarr/A/1/0/0", mode="r")[:]
    assert np.array_equal(ozx.read(f"{plate}/A/1/0"), expected)
    assert np.array_equal(ozx.read(f"{plate}|zip:A/1/0/"), expected)
    assert np.array_equal(ozx.read(Path(plate) / "A/1", "0"), expected)
    assert np.array_equal(ozx.read(plate, "/A/1/0/"), expected)
    assert np.array_equal(ozx.open(f"{plate}/A/1/0")["0"][:], expected)
    assert np.array_equal(ozx.open_array(f"{plate}/A/1", "0/0")[:], expected)
    assert np.array_equal(ozx.read(FIXTURES / "plate.ome.zarr", "A/1/0"), expected)


def test_a_plate_is_one_image_and_has_its_fields(plate):
    image = ozx.open_image(plate)
    assert image.wells["A/1"] == ("A/1/0", "A/1/1")
    assert (image.plate.rows, image.plate.columns) == (("A", "B"), ("1", "2"))
    field = image.fields["A/1/1"]
    assert np.array_equal(image.read(region={"field": 1, "y": (0, 64), "x": (0, 64)}), field.read())
    assert image.axes[-1].size == 128
    assert max(image.thumbnail(64).shape) <= 64
    pytest.importorskip("xarray")
    assert np.array_equal(image.to_xarray().isel(field=1, y=slice(0, 64), x=slice(0, 64)), field.read())


@pytest.mark.parametrize(
    ("node", "message"),
    [("A/1", r"has 2 \(0, 1\)"), ("A/9", "it has no node 'A/9'"), ("A/1/0/0", "is an array"), (3, "as a text")],
)
def test_a_node_that_is_no_image_is_a_usage_error(plate, node, message):
    with pytest.raises(UsageError, match=message) as caught:
        ozx.open_image(plate, node)
    assert caught.value.path == plate


def test_a_series_asks_which_image(tmp_path):
    path = ozx.pack(FIXTURES / "series.ome.zarr", tmp_path / "s.ozx", sync=False).path
    with pytest.raises(UsageError, match="the file has 2") as caught:
        ozx.open_image(path)
    assert "ozx.open_image(path, '0')" in caught.value.hint
    assert ozx.open_image(path, "1").shape


@pytest.mark.parametrize("opens", [ozx.open_image, ozx.read, ozx.open, lambda path: ozx.open_array(path, "0")])
def test_errors_have_the_type_that_python_programs_expect(tmp_path, opens):
    with pytest.raises(FileNotFoundError):
        opens(tmp_path / "missing.ozx")
    with pytest.raises(UsageError):
        opens(3)
    (tmp_path / "text.ozx").write_text("no archive")
    with pytest.raises(FormatError):
        opens(tmp_path / "text.ozx")


def test_files_without_an_archive_are_refused(tmp_path):
    with pytest.raises(FormatError):
        ozx.open_image(io.BytesIO(b"no archive"))
    with pytest.raises(UsageError, match="open binary file"):
        ozx.open_image(io.StringIO("text"))


@pytest.mark.parametrize("kind", ["pipe", "written", "closed"])
def test_an_open_file_that_cannot_be_read_anywhere_is_refused(cells, tmp_path, kind):
    reader, writer = os.pipe()
    os.close(writer)
    with open(reader, "rb") as pipe, open(tmp_path / "new", "wb") as written, open(cells, "rb") as closed:
        closed.close()
        with pytest.raises(UsageError, match=r"the file was closed|expected an open file that can be"):
            ozx.open_image({"pipe": pipe, "written": written, "closed": closed}[kind])


def test_a_file_is_closed_with_its_image(tmp_path, cells):
    path = shutil.copy(cells, tmp_path / "a.ozx")
    with ozx.open_image(path) as image:
        image.read(level=2)
    Path(path).replace(tmp_path / "b.ozx")  # Windows refuses this for an open file


def test_a_notebook_shows_a_picture_and_a_table(tmp_path, cells):
    shown = ozx.open_image(cells)._repr_html_()
    assert "data:image/png;base64," in shown
    assert "256 × 0.325 micrometer" in shown
    path = ozx.write_image(tmp_path / "a.ozx", np.zeros((8, 8), "u1"), axes="yx", name="<script>", sync=False).path
    assert "<script>" not in ozx.open_image(path)._repr_html_()


def test_levels_become_arrays_of_dask_and_xarray(cells):
    image = ozx.open_image(cells)
    pytest.importorskip("dask")
    pytest.importorskip("xarray")
    assert np.array_equal(image.to_dask(level=1).compute(), image.read(level=1))
    array = image.to_xarray(level=1)
    assert (array.dims, array.x.attrs["units"]) == (("c", "y", "x"), "micrometer")
    assert array.c.values.tolist() == ["Nuclei", "Cytoplasm"]
    assert np.array_equal(array[:, ::-1, [3, 1]], image.read(level=1)[:, ::-1, [3, 1]])
    assert image.labels["cells"].to_xarray().name == "cells"


def test_a_number_is_a_channel_whatever_the_names(tmp_path):
    pixels = np.stack([np.full((8, 8), value, "uint8") for value in (10, 20, 30)])
    path = ozx.write_image(tmp_path / "a.ozx", pixels, axes="cyx", channel_names=["2", "1", "0"], sync=False).path
    assert ozx.read(path, channels=0).max() == 10
    assert ozx.read(path, channels=np.int64(2)).max() == 30
    assert ozx.read(path, channels="0").max() == 30
    assert ozx.read(path, channels=[0, 1, 2]).max(axis=(1, 2)).tolist() == [10, 20, 30]
    ozx.extract(path, tmp_path / "b.ozx", channels=np.int64(0), sync=False)
    assert ozx.read(tmp_path / "b.ozx").max() == 10
    with pytest.raises(UsageError, match="expected a channel from 0 to 2; got 3"):
        ozx.read(path, channels=3)


def test_the_scale_of_a_level_tells_which_pixels_cover_a_region(tmp_path):
    """The lengths of levels are rounded: 1,023 pixels are 127 of eight times the size."""
    full = np.tile(np.arange(1023, dtype="uint16"), (16, 1))
    with ozx.open(tmp_path / "a.ozx", "w") as group:
        for name, pixels in (("0", full), ("1", full[::8, 0:1016:8])):
            group.create_array(name, data=pixels, chunks=pixels.shape)
        axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]
        scales = [[{"type": "scale", "scale": [size, size]}] for size in (1.0, 8.0)]
        datasets = [{"path": str(number), "coordinateTransformations": scale} for number, scale in enumerate(scales)]
        group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
    image = ozx.open_image(tmp_path / "a.ozx")
    assert image.read(region={"y": 0, "x": 960}, level=1) == 960
    assert image.read(region={"y": 0, "x": (952, 961)}, level=1).tolist() == [952, 960]
    assert image.read(region={"y": 0, "x": (1020, 1023)}, level=1).tolist() == [1008]


def test_an_open_file_is_read_by_a_forked_process_too(tmp_path):
    path = ozx.write_image(tmp_path / "a.ozx", np.arange(6400, dtype="uint16").reshape(80, 80), sync=False).path
    with open(path, "rb") as file:
        image = ozx.open_image(file)
        whole = image.read()
        file.seek(7)
        assert np.array_equal(image.read(), whole)
        assert file.tell() == 7
    with pytest.raises(UsageError, match="the file was closed"):
        image.read()


@pytest.mark.parametrize("size", [0, -1, "5", None, 2.5])
def test_a_picture_has_at_least_one_pixel(cells, size):
    with pytest.raises(UsageError, match="expected a size of at least one pixel"):
        ozx.open_image(cells).thumbnail(size)


@pytest.mark.parametrize("channels", [[5, 0], [4, 1, 3], [2]])
@pytest.mark.parametrize("part", [{}, {"t": 1}, {"region": {"y": (3, 41), "x": (30, 47)}}, {"t": (1, 3)}])
def test_picked_channels_are_those_of_a_slice(tmp_path, monkeypatch, channels, part):
    monkeypatch.setattr("ozx.images.selection._BLOCK", 1)  # blocks of one chunk
    array = np.random.default_rng(0).integers(0, 999, (3, 6, 48, 48), "uint16")
    ozx.write_image(tmp_path / "a.ozx", array, axes="tcyx", chunks="y=16,x=16", downsample="y,x", sync=False)
    image = ozx.open_image(tmp_path / "a.ozx")
    expected = image.read(**part).take(channels, axis=0 if part.get("t") == 1 else 1)
    assert np.array_equal(image.read(channels=channels, **part), expected)


@pytest.mark.parametrize(
    ("of", "name", "there"),
    [("labels", "nuclei", "cells"), ("fields", "A/9/0", "A/1/0, A/1/1, A/2/0"), ("wells", "H/9", "A/1, A/2, B/1, B/2")],
)
def test_an_unknown_name_is_a_key_error_that_says_what_is_there(cells, plate, of, name, there):
    image = ozx.open_image(cells if of == "labels" else plate)
    with pytest.raises(KeyError, match=f"the {of} of the image are {there}.*; got '{name}'") as caught:
        getattr(image, of)[name]
    assert isinstance(caught.value, UsageError)
    assert name not in getattr(image, of)
    assert getattr(image, of).get(name) is None


def test_an_image_goes_to_another_process_if_it_has_a_path(cells, whole):
    assert np.array_equal(pickle.loads(pickle.dumps(ozx.open_image(cells))).read(), whole)
    for file in (in_memory(cells), io.FileIO(cells)):
        with file, pytest.raises(UsageError, match="an open file cannot go to another process"):
            pickle.dumps(ozx.open_image(file))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_are_to_be_wrapped(cells, kind):
    with pytest.raises(UsageError, match=f"an open binary file; got {kind.__name__}$") as caught:
        ozx.open_image(kind(Path(cells).read_bytes()))
    assert caught.value.hint == "Wrap it in io.BytesIO."
    with pytest.raises(UsageError, match=r"got bytes$") as caught:
        ozx.inspect(Path(cells).read_bytes())
    assert "ozx.open_image" in caught.value.hint

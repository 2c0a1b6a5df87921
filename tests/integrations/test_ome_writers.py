"""ome-writers streams into an .ozx file."""

import importlib
import warnings

import numpy as np
import pytest
from streams import assert_valid

import ozx
from ozx.integrations.ome_writers import OmeWritersBackend, create_stream

pytestmark = pytest.mark.ci

PIXELS = np.random.default_rng(0).integers(1, 4000, (4, 2, 3, 64, 80)).astype("uint16")


@pytest.fixture
def writers():
    return pytest.importorskip("ome_writers")


def dimensions(writers, **sizes):
    return writers.dims_from_standard_axes({**sizes, "y": 64, "x": 80})


def test_an_image_in_another_order_than_that_of_acquisition(writers, tmp_path):
    # z changes more slowly than c; ome-writers stores t, c, z.
    dims = dimensions(writers, t=4, z=3, c=["DAPI", "GFP"])
    settings = writers.AcquisitionSettings(root_path="a.zarr", dimensions=dims, dtype="uint16", compression="zstd")
    out = tmp_path / "a.ozx"
    warned = []
    with create_stream(settings, out, sync=False) as stream:
        for t, z, c in np.ndindex(4, 3, 2):
            metadata = {"delta_t": t / 2, "camera name": "left", "stage": {"x": z}, "1": 5, "mixed": "a" if t else 3}
            if (t, z) == (1, 1):
                stream.skip()
                continue
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                stream.append(PIXELS[t, c, z], frame_metadata=metadata)
            warned += [str(one.message) for one in caught]
    expected = PIXELS.copy()
    expected[1, :, 1] = 0
    group = ozx.open(out)
    np.testing.assert_array_equal(group["0"][...], expected)
    assert group["0"].metadata.dimension_names == ("t", "c", "z", "y", "x")
    image = ozx.inspect(out).images[0]
    assert [channel.label for channel in image.channels] == ["DAPI", "GFP"]
    assert image.records.fields == ("camera_name", "delta_t", "mixed", "stage")
    assert group["frames/delta_t"][3, 1, 2] == 1.5
    assert warned == [
        "frame metadata '1' is left out, because a record cannot keep 5",
        "frame metadata 'mixed' is left out, because a record cannot keep 'a'",
    ]
    assert group["frames/stage"][0, 0, 2] == '{"x": 2}'
    assert_valid(out)


def test_a_plate(writers, tmp_path):
    positions = [
        writers.Position(name="first", plate_row="A", plate_column="1"),
        writers.Position(name="second", plate_row="A", plate_column="1"),
        writers.Position(name="first", plate_row="C", plate_column="2"),
    ]
    dims = dimensions(writers, t=None, p=positions)
    settings = writers.AcquisitionSettings(
        root_path="a.zarr", dimensions=dims, dtype="uint16", plate=writers.Plate.from_standard_wells(24)
    )
    out = tmp_path / "a.ozx"
    with create_stream(settings, out, sync=False) as stream:
        for t, p in np.ndindex(4, 3):
            stream.append(PIXELS[t, 0, p])
    plate = ozx.inspect(out).plate
    assert [(well.path, well.fields) for well in plate.wells] == [("A/1", 2), ("C/2", 1)]
    assert (len(plate.rows), len(plate.columns)) == (4, 6)
    np.testing.assert_array_equal(ozx.open(out)["C/2/0/0"][...], PIXELS[:, 0, 2])
    assert_valid(out)


def test_positions(writers, tmp_path):
    dims = dimensions(writers, p=["left", "right"], t=4)
    settings = writers.AcquisitionSettings(root_path="a.zarr", dimensions=dims, dtype="uint16")
    out = tmp_path / "a.ozx"
    with create_stream(settings, out, sync=False) as stream:
        for p, t in np.ndindex(2, 4):
            stream.append(PIXELS[t, p, 0])
    assert [image.name for image in ozx.inspect(out).images] == ["left", "right"]
    np.testing.assert_array_equal(ozx.open(out)["1/0"][...], PIXELS[:, 1, 0])


def test_no_frames_and_settings_that_do_not_fit(writers, tmp_path):
    settings = writers.AcquisitionSettings(root_path="a.zarr", dimensions=dimensions(writers, t=4), dtype="uint16")
    create_stream(settings, tmp_path / "a.ozx").close()
    assert list(tmp_path.iterdir()) == []
    strange = [writers.Dimension(name="angle", count=3, type="other"), *dimensions(writers)]
    settings = writers.AcquisitionSettings(root_path="a.zarr", dimensions=strange, dtype="uint16")
    with pytest.raises(NotImplementedError, match="expected some of the dimensions t, c and z"):
        create_stream(settings, tmp_path / "a.ozx")


def test_it_has_all_methods_of_a_backend(writers):
    protocol = importlib.import_module("ome_writers._backends._backend").ArrayBackend
    assert {name for name in vars(protocol) if not name.startswith("_")} <= set(dir(OmeWritersBackend))


def test_chunks_and_shards_are_those_of_the_settings(writers, tmp_path):
    sides = [writers.Dimension(name=name, count=128, chunk_size=32, shard_size_chunks=2) for name in "yx"]
    dims = [writers.Dimension(name="t", count=None, chunk_size=1, shard_size_chunks=4), *sides]
    settings = writers.AcquisitionSettings(root_path="a.zarr", dimensions=dims, dtype="uint16")
    with create_stream(settings, tmp_path / "a.ozx", sync=False) as stream:
        for number in range(6):
            stream.append(np.full((128, 128), number, "uint16"))
    array = ozx.open(tmp_path / "a.ozx")["0"]
    assert (array.shape, array.chunks, array.shards) == ((6, 128, 128), (1, 32, 32), (4, 64, 64))

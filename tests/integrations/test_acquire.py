"""Streams with the settings of acquire-zarr become .ozx files."""

import numpy as np
import pytest
import zarr
from streams import assert_valid

import ozx
from ozx.integrations.acquire import open_stream

pytestmark = pytest.mark.ci

FRAMES = np.random.default_rng(0).integers(1, 4000, (10, 512, 768)).astype("uint16")


@pytest.fixture
def acquire():
    return pytest.importorskip("acquire_zarr")


def array(acquire, key=None, size=(512, 768), **changes):
    kinds, dimension = acquire.DimensionType, acquire.Dimension
    space = {"kind": kinds.SPACE, "chunk_size_px": 256, "unit": "um", "scale": 0.3}
    settings = acquire.ArraySettings(
        dimensions=[
            dimension(
                name="time", kind=kinds.TIME, array_size_px=0, chunk_size_px=1, shard_size_chunks=4, unit="s", scale=0.5
            ),
            dimension(name="c", kind=kinds.CHANNEL, array_size_px=2, chunk_size_px=1, shard_size_chunks=1),
            dimension(name="y", array_size_px=size[0], shard_size_chunks=size[0] // 256, **space),
            dimension(name="x", array_size_px=size[1], shard_size_chunks=size[1] // 256, **space),
        ],
        data_type=acquire.DataType.UINT16,
    )
    if key is not None:
        settings.output_key = key
    for name, value in changes.items():
        setattr(settings, name, value)
    return settings


def stream_settings(acquire, *arrays, path="unused.zarr"):
    return acquire.StreamSettings(arrays=list(arrays), store_path=str(path), overwrite=True)


def test_the_image_is_that_of_acquire_zarr(acquire, tmp_path):
    compression = acquire.CompressionSettings(
        compressor=acquire.Compressor.BLOSC1, codec=acquire.CompressionCodec.BLOSC_LZ4, level=5, shuffle=1
    )
    one = array(acquire, downsampling_method=acquire.DownsamplingMethod.MEAN, compression=compression)
    settings = stream_settings(acquire, one, path=tmp_path / "theirs.zarr")
    theirs = acquire.ZarrStream(settings)
    with open_stream(settings, tmp_path / "a.ozx", channels=["DAPI", "GFP"], sync=False) as ours:
        for frame in FRAMES:
            ours.append(frame)
            theirs.append(frame)
    theirs.close()
    expected, found = zarr.open_group(tmp_path / "theirs.zarr", mode="r"), ozx.open(tmp_path / "a.ozx")
    np.testing.assert_array_equal(found["0"][...], expected["0"][...])
    # acquire-zarr rounds means down.
    np.testing.assert_allclose(found["1"][...].astype(int), expected["1"][...], rtol=0, atol=1)
    assert found["0"].chunks == expected["0"].chunks
    assert found["0"].shards == expected["0"].shards
    image = ozx.inspect(tmp_path / "a.ozx").images[0]
    assert [(axis.name, axis.unit) for axis in image.axes] == [
        ("t", "second"), ("c", None), ("y", "micrometer"), ("x", "micrometer")
    ]  # fmt: skip
    assert image.levels[0].scale == (0.5, 1.0, 0.3, 0.3)
    assert [channel.label for channel in image.channels] == ["DAPI", "GFP"]
    assert_valid(tmp_path / "a.ozx")


def test_several_arrays_are_cameras(acquire, tmp_path):
    settings = stream_settings(acquire, array(acquire, "left"), array(acquire, "right", (512, 256)))
    with pytest.raises(ozx.UnsupportedError, match="different shards") as caught:
        open_stream(settings, tmp_path / "a.ozx")
    assert "shards='auto'" in caught.value.hint
    with open_stream(settings, tmp_path / "a.ozx", shards="auto", sync=False) as stream:
        for number in range(4):
            stream.append(FRAMES[number], position="left")
            stream.append(np.full((512, 256), number, "uint16"), position="right")
    group = ozx.open(tmp_path / "a.ozx")
    np.testing.assert_array_equal(group["0/0"][...].reshape(4, 512, 768), FRAMES[:4])
    assert group["1/0"].shape == (2, 2, 512, 256)
    assert [image.name for image in ozx.inspect(tmp_path / "a.ozx").images] == ["left", "right"]
    assert_valid(tmp_path / "a.ozx")


def test_what_ozx_does_not_write_is_refused(acquire, tmp_path):
    one = array(acquire, downsampling_method=acquire.DownsamplingMethod.MAX)
    with pytest.raises(ozx.UnsupportedError, match="got MAX"):
        open_stream(stream_settings(acquire, one), tmp_path / "a.ozx")
    with pytest.raises(ozx.UnsupportedError, match="no array"):
        open_stream(acquire.StreamSettings(store_path="unused.zarr"), tmp_path / "a.ozx")
    field = acquire.FieldOfView(path="0", array_settings=array(acquire))
    plate = acquire.Plate(
        path="plate",
        name="plate",
        row_names=["A"],
        column_names=["1"],
        wells=[acquire.Well(row_name="A", column_name="1", images=[field])],
    )
    with pytest.raises(ozx.UnsupportedError, match="found plates"):
        open_stream(acquire.StreamSettings(store_path="unused.zarr", hcs_plates=[plate]), tmp_path / "a.ozx")
    assert not list(tmp_path.iterdir())

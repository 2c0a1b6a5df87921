"""Pixels written through ozx's codec pipeline are those that zarr-python's own writes."""

import itertools
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import zarr
from memory import traced_memory
from stores import writing
from zarr.codecs import BloscCodec, Crc32cCodec, ShardingCodec
from zarr.core.buffer.cpu import Buffer
from zarr.storage import MemoryStore

import ozx
from ozx.codecs.bounded import UndecodableChunkError
from ozx.errors import ResourceError
from ozx.store import growing_file
from ozx.store.array import opened_array
from ozx.store.pixels import encoding, write_plan
from tests.store.pixels.test_pipeline import CHUNK, LAYOUTS, SHAPE, SHARD

LAYOUTS = {
    **LAYOUTS,
    "bitshuffled": {"chunks": CHUNK, "compressors": [BloscCodec(cname="zstd", shuffle="bitshuffle")]},
    "index-first": {
        "chunks": (4, 64, 64),
        "compressors": None,
        "serializer": ShardingCodec(chunk_shape=CHUNK, index_location="start"),
    },
    "empty-chunks": {"chunks": CHUNK, "shards": SHARD, "compressors": None, "config": {"write_empty_chunks": True}},
    "checked-shards": {"chunks": CHUNK, "shards": SHARD, "compressors": [Crc32cCodec()]},
}

# zarr-python's chunks have the same bytes, unless they are of another release of zstd.
SAME_BYTES = ("uncompressed", "gzip", "blosc", "bitshuffled", "checksum", "transposed-uncompressed", "one-chunk")
SAME_BYTES += ("uncompressed-shards", "checked-shards", "empty-chunks")


def create(store: zarr.abc.store.Store, dtype: str = "u2", fill: object = 7, **layout: object) -> zarr.Array:
    with warnings.catch_warnings(action="ignore"):
        root = zarr.create_group(store, attributes={"ome": {"version": "0.5"}}, overwrite=True)
        return root.create_array("0", shape=SHAPE, dtype=dtype, fill_value=fill, **layout)


@pytest.fixture(params=["", "appended"])
def new_shards(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write new shards once they are complete, then, in a second run, chunk by chunk."""
    monkeypatch.setattr(write_plan, "LARGE_SHARD", 0 if request.param else write_plan.LARGE_SHARD)


def values(store: MemoryStore) -> dict[str, bytes]:
    return {key: value.to_bytes() for key, value in store._store_dict.items() if "/c" in key}


def chunks_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if "/c" in name}


@pytest.fixture
def _one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One time for all: gzip writes it into its header, in seconds."""
    monkeypatch.setattr("gzip.time.time", lambda: 0.0)  # ozx stores no time


@pytest.mark.usefixtures("written_alone", "new_shards", "_one_moment")
@pytest.mark.parametrize("layout", SAME_BYTES)
@pytest.mark.parametrize("opened", [opened_array, lambda array: array], ids=["ozx", "zarr"])
def test_values_have_the_bytes_of_zarr(tmp_path: Path, layout: str, opened: Callable[[zarr.Array], zarr.Array]) -> None:
    memory, pixels = MemoryStore(), np.random.default_rng(3).integers(0, 99, SHAPE).astype("u2")
    expected = create(memory, **LAYOUTS[layout])
    with ozx.OzxStore(tmp_path / "a.ozx", "w", sync=False) as store:
        for target in (expected, opened(create(store, **LAYOUTS[layout]))):
            target[:4] = pixels[:4]
            target[1:, 20:50, :40] = pixels[1:, 20:50, :40]
            target[4:, :, 30:] = 7
            target[::2, 3:70:7, ::11] = 5
    assert chunks_of(tmp_path / "a.ozx") == values(memory)


@pytest.mark.parametrize("layout", ["zstd", "shards"])
def test_a_damaged_chunk_of_which_a_part_stays_is_named(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "a.ozx"
    with ozx.OzxStore(path, "w", sync=False) as store:
        array = opened_array(create(store, **LAYOUTS[layout]))
        array[:] = np.arange(np.prod(SHAPE)).reshape(SHAPE)
        value = bytearray(store.get_sync("0/c/0/0/0").to_bytes())
        value[:8] = b"\xff" * 8
        store.set_sync("0/c/0/0/0", Buffer.from_bytes(bytes(value)))
        with pytest.raises(UndecodableChunkError, match=r"0/c/0/0/0: ") as raised:
            array[0, :3, :3] = 1
        assert raised.value.path == str(path)
        array[:2, :16, :32] = 1  # whole chunks need no old ones
        assert (array[:2, :16, :32] == 1).all()


@pytest.mark.usefixtures("new_shards")
@pytest.mark.parametrize("layout", ["zstd", "shards"])
def test_a_full_disk_is_an_error_and_the_store_goes_on(
    tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ozx.OzxStore(tmp_path / "a.ozx", "w", sync=False) as store:
        array = opened_array(create(store, **LAYOUTS[layout]))
        array[0, 0, 0] = 1
        with monkeypatch.context() as patched:

            def fail(*_: object) -> None:
                raise OSError(28, "No space left on device")

            patched.setattr(growing_file, "write_parts_at", fail)
            with pytest.raises(ResourceError, match=r"a\.ozx"):
                array[:] = 5
        array[:] = 6
    assert (ozx.open(tmp_path / "a.ozx")["0"][:] == 6).all()


@pytest.mark.usefixtures("written_alone")
def test_a_large_new_shard_is_the_same_file_either_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = np.random.default_rng(4).integers(0, 99, SHAPE).astype("u2")
    for name, large in (("a", write_plan.LARGE_SHARD), ("b", 0)):
        monkeypatch.setattr(write_plan, "LARGE_SHARD", large)
        with ozx.OzxStore(tmp_path / f"{name}.ozx", "w", sync=False) as store:
            array = opened_array(create(store, **LAYOUTS["shards"]))
            array[:] = pixels
            array[:] = np.full(SHAPE, 7, "u2")  # nothing is stored
            array[2:] = pixels[2:]
    assert (tmp_path / "a.ozx").read_bytes() == (tmp_path / "b.ozx").read_bytes()


@pytest.mark.usefixtures("new_shards")
def test_a_chunk_that_cannot_be_encoded_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encode, calls = encoding.encode_chunk, itertools.count()

    def fail_late(*edit: object) -> memoryview | None:
        if next(calls) == 5:
            raise MemoryError("no more")
        return encode(*edit)

    with ozx.OzxStore(tmp_path / "a.ozx", "w", sync=False) as store:
        array = opened_array(create(store, **LAYOUTS["shards"]))
        array[:] = 5
        array[4:] = 7
        with monkeypatch.context() as patched, pytest.raises(MemoryError):
            patched.setattr(encoding, "encode_chunk", fail_late)
            array[4:] = 6
        array[4:] = 8
    expected = np.full(SHAPE, 5, "u2")
    expected[4:] = 8
    np.testing.assert_array_equal(ozx.open(tmp_path / "a.ozx")["0"][:], expected)


@pytest.mark.ci
@pytest.mark.parametrize("layout", ["uncompressed", "zstd", "shards"])
def test_memory_besides_the_pixels_is_bounded(tmp_path: Path, layout: str) -> None:
    chosen = {**LAYOUTS[layout], "chunks": (1, 512, 512)}
    if layout == "shards":
        chosen["shards"] = (4, 1024, 1024)
    pixels = np.random.default_rng(1).integers(0, 4096, (16, 2048, 2048), "u2")  # 128 MiB
    with writing(tmp_path / "a.ozx") as root:
        array = opened_array(root.create_array("0", shape=pixels.shape, dtype="u2", **chosen))
        array[0, 0, 0] = 1
        with traced_memory() as memory:
            array[:] = pixels
    assert memory.peak < 48 << 20
    np.testing.assert_array_equal(ozx.open(tmp_path / "a.ozx")["0"][3], pixels[3])


@pytest.fixture
def configured() -> Iterator[None]:
    """Let zarr-python use the pipeline for the time of a test."""
    with zarr.config.set({"codec_pipeline.path": zarr.config.get("codec_pipeline.path")}):
        ozx.use_pipeline()
        yield


@pytest.mark.usefixtures("written_alone", "configured")
def test_xarray_writes_regions_through_the_pipeline(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray", reason="the extra xarray is not installed")
    pixels = np.random.default_rng(5).integers(0, 99, SHAPE).astype("u2")
    whole = xarray.Dataset({"image": (("t", "y", "x"), np.zeros_like(pixels))})
    encoding = {"image": {"chunks": CHUNK, "shards": SHARD}}
    with warnings.catch_warnings(action="ignore"):
        with ozx.OzxStore(tmp_path / "a.ozx", "w", sync=False) as store:
            whole.to_zarr(store, zarr_format=3, consolidated=False, encoding=encoding, mode="w")
            for start in (0, 4):
                part = whole.isel(t=slice(start, start + 4)).copy(data={"image": pixels[start : start + 4]})
                part.to_zarr(store, zarr_format=3, consolidated=False, region={"t": slice(start, min(5, start + 4))})
        written = zarr.open_array(ozx.OzxStore(tmp_path / "a.ozx"), path="image", mode="r")
        np.testing.assert_array_equal(written[:], pixels)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", ["uncompressed", "shards", "nested-shards", "index-first"])
def test_pixels_beyond_a_smaller_shape_are_those_of_zarr(tmp_path: Path, layout: str) -> None:
    """Shards keep them when all pixels inside the shape are written; they come back when the array grows."""
    with ozx.OzxStore(tmp_path / "a.ozx", "w", sync=False) as store:
        memory = create(MemoryStore(), **LAYOUTS[layout])
        for array in (memory, opened_array(create(store, **LAYOUTS[layout]))):
            array[...] = np.arange(np.prod(SHAPE)).reshape(SHAPE) % 1000 + 1
            for shape in ((3, 40, 150), (2, 33, 7)):
                array.resize(shape)
                array[...] = 9
                array.resize(SHAPE)
            if array is not memory:
                np.testing.assert_array_equal(array[...], memory[...])


@pytest.mark.filterwarnings("ignore")
def test_a_shard_without_axes(tmp_path: Path) -> None:
    with writing(tmp_path / "a.ozx") as root:
        shard = ShardingCodec(chunk_shape=())
        array = opened_array(
            root.create_array("0", shape=(), chunks=(), serializer=shard, compressors=None, dtype="f4")
        )
        array[()] = 42
        assert array[()] == 42
    assert ozx.open(tmp_path / "a.ozx")["0"][...] == 42

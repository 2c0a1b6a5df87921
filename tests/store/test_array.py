"""`ozx.Array` is a zarr array in every way; windows are read without zarr-python, and have the same pixels."""

import dataclasses
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import zarr
from memory import assert_freed
from stores import writing
from zarr.codecs import BloscCodec, Crc32cCodec, ShardingCodec, TransposeCodec, ZstdCodec

import ozx
from ozx.errors import FormatError, UsageError
from ozx.store.array import opened_array
from tests.store.pixels.test_pipeline import damage, position_of

SHAPE, CHUNK, SHARD = (3, 40, 50), (1, 8, 16), (2, 16, 32)
PIXELS = np.random.default_rng(5).integers(0, 60_000, SHAPE).astype("u2")
LAYOUTS = {
    "raw": {"chunks": CHUNK, "compressors": None},
    "zstd": {"chunks": CHUNK, "compressors": [ZstdCodec(), Crc32cCodec()]},
    "blosc": {"chunks": CHUNK, "compressors": [BloscCodec()], "chunk_key_encoding": {"name": "v2", "separator": "/"}},
    "shards": {"chunks": CHUNK, "shards": SHARD, "compressors": [ZstdCodec()]},
    "index-at-start": {
        "chunks": SHARD,
        "compressors": None,
        "serializer": ShardingCodec(chunk_shape=CHUNK, index_location="start"),
    },
    "nested-shards": {
        "chunks": (2, 32, 32),
        "compressors": None,
        "serializer": ShardingCodec(chunk_shape=SHARD, codecs=[ShardingCodec(chunk_shape=CHUNK)]),
    },
}
REFUSED = [
    *((slice(None, None, -1),), (0, slice(9, 1, -2))),
    *(np.newaxis, (0, np.newaxis), 3, -4, (0, 40), (0, 0, 0, 0), (..., 0, ...), 1.5, "field"),
]


def written(path: Path, **layout: object) -> Path:
    """Write an array some of whose chunks do not exist."""
    with writing(path) as root, warnings.catch_warnings(action="ignore"):
        array = root.create_array("0", shape=SHAPE, dtype="u2", fill_value=7, **layout)
        array[:2, :30] = PIXELS[:2, :30]
    return path


@pytest.fixture(scope="module", params=LAYOUTS)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("arrays") / "a.ozx", **LAYOUTS[request.param])


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests fail that would go to zarr-python."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("zarr-python was asked")

    for name in ("__getitem__", "get_basic_selection"):
        monkeypatch.setattr(zarr.Array, name, refuse)


def plain(path: Path) -> zarr.Array:
    return zarr.open_group(ozx.OzxStore(path), mode="r")["0"]


def same(found: object, expected: object) -> None:
    assert type(found) is type(expected)
    assert (np.shape(found), found.dtype) == (np.shape(expected), expected.dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("selection", REFUSED, ids=str)
def test_what_zarr_refuses_is_refused_in_the_same_words(tmp_path: Path, selection: object) -> None:
    path = written(tmp_path / "a.ozx", **LAYOUTS["zstd"])
    with pytest.raises(Exception, match="") as expected:
        plain(path)[selection]
    with pytest.raises(type(expected.value)) as found:
        ozx.open_array(path, "0")[selection]
    assert str(found.value) == str(expected.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shards", [None, (4,)])
def test_fields_are_refused_as_zarr_does(tmp_path: Path, shards: tuple[int, ...] | None) -> None:
    """They are not taken for damage."""
    pixels = np.zeros(6, [("a", "u2"), ("b", "f4")])
    with writing(tmp_path / "a.ozx") as root:
        opened_array(root.create_array("0", shape=(6,), chunks=(2,), shards=shards, dtype=pixels.dtype))[...] = pixels
    array = ozx.open_array(tmp_path / "a.ozx", "0")
    with pytest.raises(TypeError, match="Cannot cast"):
        array.get_basic_selection(slice(2), fields="a")


@pytest.mark.usefixtures("alone")
def test_a_pickled_array_reads_alone(path: Path) -> None:
    array = ozx.open_array(path, "0")
    pixels = array[:]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array))[:], pixels)


def test_many_windows_equal_a_loop(path: Path) -> None:
    array = ozx.open_array(path, "0")
    windows = [(z, slice(y, y + 9), slice(x, x + 9)) for z, y, x in [(0, 0, 0), (2, 31, 41), (1, 5, 13), (0, 1, 1)]]
    expected = [array[window] for window in windows]
    for found, pixels in zip(array.read_many(windows), expected, strict=True):
        same(found, pixels)
    for out in (np.zeros((4, 9, 9), "u2"), np.zeros((4, 18, 9), "f8")[:, ::2]):
        assert array.read_many(windows, out) is out
        np.testing.assert_array_equal(out, np.stack(expected))
    points = np.zeros(2, "u2")
    np.testing.assert_array_equal(array.read_many([(0, 1, 2), (1, 2, 3)], points), [array[0, 1, 2], array[1, 2, 3]])
    lists = [(0, [1, 2], slice(None)), 0]
    for found, selection in zip(array.read_many(lists), lists, strict=True):
        np.testing.assert_array_equal(found, array[selection])
    with pytest.raises(UsageError, match="4 items"):
        array.read_many(windows, np.zeros((3, 9, 9), "u2"))
    with pytest.raises(ValueError, match="broadcast"):
        array.read_many(windows, np.zeros((4, 8, 8), "u2"))
    assert array.read_many([]) == []


def test_many_windows_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = ozx.open_array(written(tmp_path / "a.ozx", **LAYOUTS["zstd"]), "0")
    array[:]
    reads: list[int] = []
    source = type(array.store.archive_session.source)
    read = source.read_into_at
    monkeypatch.setattr(source, "read_into_at", lambda *given: reads.append(1) or read(*given))
    array.read_many([(0, slice(y, y + 8), slice(x, x + 8)) for y in range(0, 24, 8) for x in range(0, 48, 8)])
    assert len(reads) == 1


@pytest.mark.filterwarnings("ignore")
def test_settings_of_zarr_hold(tmp_path: Path) -> None:
    array = ozx.open_array(written(tmp_path / "a.ozx", **LAYOUTS["zstd"]), "0")
    fortran = array.with_config({"order": "F"})
    assert fortran[:].flags.f_contiguous
    np.testing.assert_array_equal(fortran[:], array[:])


def test_an_array_sees_what_is_written_through_another_object(tmp_path: Path) -> None:
    with ozx.OzxStore(written(tmp_path / "a.ozx", **LAYOUTS["zstd"]), "a", sync=False) as store:
        array = opened_array(zarr.open_group(store)["0"])
        before = array[:]
        opened_array(zarr.open_group(store)["0"])[1, 5:9] = 9
        assert (array[1, 5:9] == 9).all()
        np.testing.assert_array_equal(array[2], before[2])


def test_kept_places_end_with_the_shape(tmp_path: Path) -> None:
    """A chunk that a smaller shape has deleted does not come back from a place that was known."""
    with ozx.open(written(tmp_path / "a.ozx", **LAYOUTS["zstd"])) as group:
        array = group["0"]
        array[:]
        for shape in ((1, 8, 8), SHAPE):
            metadata = dataclasses.replace(array.metadata, shape=shape)
            object.__setattr__(array.async_array, "metadata", metadata)  # as `resize` does it
            expected = np.full(SHAPE, 7, "u2")
            expected[:2, :30] = PIXELS[:2, :30]
            np.testing.assert_array_equal(array[...], expected[tuple(map(slice, shape))])


@pytest.mark.posix("an open file is not replaced there")
@pytest.mark.parametrize("layout", ["raw", "zstd", "shards"])
@pytest.mark.parametrize("mode", ["a", "w"])
def test_kept_places_end_with_the_file(tmp_path: Path, layout: str, mode: str) -> None:
    """While another program writes, the pixels are those of before; afterwards, they are an error, never others."""
    path, window = written(tmp_path / "a.ozx", **LAYOUTS[layout]), (0, slice(0, 8), slice(0, 16))
    array = ozx.open_array(path, "0")
    expected, unknown = array[window], ozx.open_array(path, "0")
    unknown.shape  # noqa: B018 (its chunks have no places yet)
    with ozx.OzxStore(path, mode, sync=False) as store:
        if mode == "w":
            zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
            zarr.create_array(store, name="0", shape=SHAPE, dtype="u2", **LAYOUTS[layout])
        opened_array(zarr.open_group(store)["0"])[:] = 9
        np.testing.assert_array_equal(array[window], expected)
    for each in (array, unknown):
        for _ in range(2):
            with pytest.raises(FormatError, match="changed"):
                each[window]
            with pytest.raises(FormatError, match="changed"):
                each.read_many([window, 1])
    assert (ozx.open_array(path, "0")[...] == 9).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["blosc", "lz4", "zlib", "bz2"])
def test_compressors_without_settings(tmp_path: Path, name: str) -> None:
    """All settings of numcodecs have defaults."""
    with writing(tmp_path / "a.ozx") as root:
        settings = {"chunks": CHUNK, "compressors": [{"name": f"numcodecs.{name}", "configuration": {}}]}
        opened_array(root.create_array("0", shape=SHAPE, dtype="u2", **settings))[...] = PIXELS
    np.testing.assert_array_equal(ozx.open_array(tmp_path / "a.ozx", "0")[1], PIXELS[1])
    np.testing.assert_array_equal(plain(tmp_path / "a.ozx")[...], PIXELS)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("kind", ["bool", "i1", ">u2", "u8", "f2", ">f8", "c8", "M8[ms]", "m8[s]"])
@pytest.mark.parametrize("shape", [(), (5,), (0, 3), (7, 9)], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_the_reader_alone_answers_for_plain_types(tmp_path: Path, kind: str, shape: tuple[int, ...]) -> None:
    pixels = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
    with writing(tmp_path / "a.ozx") as root:
        transpose = [TransposeCodec(order=tuple(reversed(range(len(shape)))))] if shape else None
        chunks = {"chunks": (4,) * len(shape), "filters": transpose}
        root.create_array("0", shape=shape, dtype=kind, **chunks)[...] = pixels
    array = ozx.open_array(tmp_path / "a.ozx", "0")
    selections = [..., (), *([0, -1, slice(1, None, 3), (..., slice(0, 2))] if all(shape) and shape else [])]
    for selection in selections:
        np.testing.assert_array_equal(array[selection], pixels[selection])
        np.testing.assert_array_equal(array.get_basic_selection(selection), pixels[selection])
    for found, selection in zip(array.read_many(selections), selections, strict=True):
        np.testing.assert_array_equal(found, pixels[selection])


@pytest.mark.parametrize("layout", ["raw", "zstd", "shards"])
def test_damage_is_an_error_in_windows_too(tmp_path: Path, layout: str) -> None:
    path = written(tmp_path / "a.ozx", **LAYOUTS[layout])
    damage(path, position_of(path, "0/c/0/0/0")[0] + 5)
    array = ozx.open_array(path, "0")
    window = (0, slice(0, 8), slice(0, 16)) if layout != "shards" else (slice(0, 2), slice(0, 16), slice(0, 32))
    with pytest.raises(FormatError, match="0/c/0/0/0") as raised:
        array[window]
    assert (raised.value.path, raised.value.rule in ("zip/crc", "zarr/chunk-data")) == (str(path), True)
    assert "ozx recover" in raised.value.hint
    with pytest.raises(FormatError, match="0/c/0/0/0"):
        array.read_many([window, (1, slice(0, 8), slice(0, 16))])


@pytest.mark.parametrize("selection", [1, (0, slice(0, 8), slice(0, 16)), (slice(0, 2), slice(0, 16), slice(0, 32))])
def test_pixels_are_freed_at_once(path: Path, selection: object) -> None:
    """What a read kept would stay until the next collection of garbage, however large."""
    array = ozx.open_array(path, "0")
    array[selection]
    assert_freed(lambda: array[selection])


@pytest.mark.parametrize("chunks", [None, (2, 8, 8)])
def test_raw_chunks_go_straight_into_the_pixels(tmp_path: Path, chunks, monkeypatch) -> None:
    monkeypatch.setattr("ozx.store.pixels.plan._LARGE", 1)
    layout = {"chunks": (2, 8, 50), "shards": (2, 16, 50)} if chunks is None else {"chunks": chunks}
    path = written(tmp_path / "a.ozx", **layout, compressors=None)
    array, expected = ozx.open_array(path, "0"), plain(path)[:]
    for selection in [..., 0, (slice(0, 2), slice(8, 16)), (slice(0, 2), slice(8, 16), slice(8, 16)), (2, 3, 4)]:
        np.testing.assert_array_equal(array[selection], expected[selection])
    damage(path, position_of(path, "0/c/0/0/0")[0] + 5)
    with pytest.raises(FormatError, match="0/c/0/0/0"):
        ozx.open_array(path, "0")[:2, :16]

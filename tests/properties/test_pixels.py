"""Random writes and reads of random arrays of ozx, against zarr-python on a MemoryStore.

`OZX_OPERATIONS=10000 pytest tests/properties/test_pixels.py` tries as many operations; `OZX_SEED=N` begins with another
array.
"""

import contextlib
import itertools
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.storage import MemoryStore

import ozx
from ozx.store.array import opened_array

OPERATIONS = int(os.environ.get("OZX_OPERATIONS", "180"))
PER_ARRAY = 12
FIRST = int(os.environ.get("OZX_SEED", "0")) or (random.randrange(1 << 40) if os.environ.get("OZX_RANDOM") else 0)
DTYPES = [
    *("bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"),
    *(">u2", ">i4", ">f8", ">M8[ms]"),
    *("M8[ms]", "m8[s]", "U3", "S4", "V3", [("a", "u2"), ("b", "f4")], "str"),
]
REFUSED = (None, (None, 0), (0, None), (..., 0, ...), 1.5, 99, (-99, 0), "a")  # mostly
WAYS = ("basic", "basic", "basic", "oindex", "vindex", "mask", "blocks", "fields", "other")


def make_dtype(draw: random.Random) -> tuple[Any, np.dtype[Any]]:
    given = draw.choice([*DTYPES[:18], *DTYPES])
    return (str, np.dtype("O")) if given == "str" else (np.dtype(given), np.dtype(given))


def make_pixels(draw: random.Random, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(draw.randrange(1 << 40))
    numbers = rng.integers(0, draw.choice([1, 2, 100]), shape)
    if dtype.kind == "O":
        pixels = np.array(numbers).astype(str).astype(object)
    elif dtype.names:
        pixels = np.zeros(shape, dtype)
        pixels["a"], pixels["b"] = numbers, numbers / 2
    elif dtype.kind == "V":
        pixels = np.asarray(numbers).astype("S3").astype(dtype)
    else:
        pixels = np.asarray(numbers).astype(dtype)
        if dtype.kind == "f" and draw.random() < 0.2 and pixels.size:
            pixels.flat[0] = draw.choice([np.nan, -0.0, np.inf])
    if pixels.ndim and draw.random() < 0.2:
        pixels = np.asfortranarray(pixels)
    if pixels.ndim and draw.random() < 0.1:
        pixels = np.repeat(pixels, 2, axis=-1)[..., ::2]
    return pixels


def make_fill(draw: random.Random, dtype: np.dtype[Any]) -> Any:
    if draw.random() < 0.1:
        return None
    if dtype.kind == "O":
        return draw.choice(["", "x"])
    if dtype.names or dtype.kind in "VS":
        return np.zeros((), dtype)[()]
    if dtype.kind == "f":
        return draw.choice([0, 1, np.nan, np.inf, -0.0])
    return make_pixels(draw, dtype, ())[()]


def make_layout(draw: random.Random) -> dict[str, Any]:
    count = draw.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])
    longest = (0, 40, 16, 9, 6)[count]
    shape = tuple(draw.choice([draw.randint(1, longest)] * 12 + [0]) for _ in range(count))
    chunks = tuple(draw.randint(1, max(1, min(7, length + 1))) for length in shape)
    given, dtype = make_dtype(draw)
    layout: dict[str, Any] = {"shape": shape, "chunks": chunks, "dtype": given, "fill_value": make_fill(draw, dtype)}
    order = draw.choice("CF") if given is not str else "C"  # zarr-python itself loses texts in Fortran's order
    layout["config"] = {"write_empty_chunks": draw.random() < 0.5, "order": order}
    is_plain = dtype.kind not in "OVS" and not dtype.names
    compressors: list[list[Any]] = [
        [],
        [ZstdCodec(level=1)],
        [GzipCodec(level=1)],
        [ZstdCodec(), Crc32cCodec()],
        [Crc32cCodec()],
    ]
    if is_plain:
        compressors.append([BloscCodec(cname="lz4", shuffle=draw.choice(["shuffle", "noshuffle", "bitshuffle"]))])
    layout["compressors"] = draw.choice(compressors) or None
    if is_plain and count and draw.random() < 0.3:
        layout["filters"] = [TransposeCodec(order=tuple(draw.sample(range(count), count)))]
    if is_plain and dtype.itemsize > 1 and draw.random() < 0.2:
        layout["serializer"] = BytesCodec(endian="big")
    if count and draw.random() < 0.6:
        shards = tuple(length * draw.randint(1, 3) for length in chunks)
        if is_plain and draw.random() < 0.3:
            nested = ShardingCodec(chunk_shape=chunks, index_location=draw.choice(["start", "end"]))
            layout |= {"chunks": shards, "serializer": nested, "compressors": None, "filters": None}
        else:
            layout["shards"] = shards
    layout["chunk_key_encoding"] = {"name": draw.choice(["default", "v2"]), "separator": draw.choice("/.")}
    return layout


def unsharded(layout: dict[str, Any]) -> dict[str, Any]:
    """Return a layout without shards: zarr-python 3.1 cannot write every selection, nor structured types, to shards."""
    chunks = layout.get("shards", layout["chunks"])
    plain = {name: value for name, value in layout.items() if name != "shards"}
    if isinstance(plain.get("serializer"), ShardingCodec):
        del plain["serializer"]
    return plain | {"chunks": chunks}


def make_slice(draw: random.Random, length: int, *, has_steps: bool) -> slice:
    """Return a slice: empty, reversed, beyond the end, counted from the end, or with a step."""
    bound = [None, *range(-length - 2, length + 3)]
    step = draw.choice([None, 1, 2, 3, 7]) if has_steps else None
    return slice(draw.choice(bound), draw.choice(bound), step)


def make_part(draw: random.Random, way: str, length: int, chunk: int) -> Any:
    if way == "blocks":
        blocks = -(-length // chunk)
        return draw.choice([draw.randrange(blocks), slice(0, draw.randint(1, blocks)), slice(None)])
    if way == "oindex" and draw.random() < 0.6:
        some = sorted(draw.choices(range(length), k=draw.randint(0, 6))) if length else []
        if draw.random() < 0.3:
            draw.shuffle(some)
        return draw.choice([np.array(some, "i8"), np.isin(np.arange(length), some)])
    if length and draw.random() < 0.3:
        return draw.randrange(-length, length)
    return make_slice(draw, length, has_steps=True)


def make_selection(draw: random.Random, way: str, array: Any) -> Any:
    shape = array.shape
    if way == "other":
        return draw.choice([*REFUSED, (0,) * (len(shape) + 1)])
    if way == "fields":
        return draw.choice(["a", "b", "c", ["a", "b"]]), make_selection(draw, "basic", array)
    if way == "mask":
        return np.random.default_rng(draw.randrange(1 << 40)).random(shape) < draw.choice([0, 0.1, 0.6, 1])
    if way == "vindex":
        size = draw.randint(0, 9)
        return tuple(np.array([draw.randrange(-length, length) for _ in range(size)], "i8") for length in shape)
    parts = [
        make_part(draw, way, length, chunk) for length, chunk in zip(shape, array.shards or array.chunks, strict=True)
    ]
    if way == "basic" and draw.random() < 0.2:
        at = draw.randint(0, len(parts))
        parts[at:] = [Ellipsis, *parts[at:][draw.randint(0, len(parts) - at) :]]
    return tuple(parts)


def view(array: Any, way: str) -> Any:
    return array if way in ("basic", "other") else getattr(array, way)


def read(array: Any, way: str, selection: Any) -> Any:
    if way == "mask":
        return array.get_mask_selection(selection)
    if way == "fields":
        return array.get_basic_selection(selection[1], fields=selection[0])
    return view(array, way)[selection]


def write(array: Any, way: str, selection: Any, value: Any) -> None:
    if way == "mask":
        array.set_mask_selection(selection, value)
    elif way == "fields":
        array.set_basic_selection(selection[1], value, fields=selection[0])
    else:
        view(array, way)[selection] = value


def attempt(call: Any, *arguments: Any) -> tuple[Any, str | None]:
    try:
        return call(*arguments), None
    except Exception as error:  # noqa: BLE001 (errors of any kind are compared)
        return None, f"{type(error).__name__}: {error}"


def bits(pixels: Any) -> Any:
    """Return what is compared: NaN is equal to itself, and -0.0 is not 0.0."""
    array = np.asarray(pixels)
    return (array.shape, str(array.dtype), array.tolist() if array.dtype.kind in "OT" else array.tobytes())


# What was done to the arrays in which zarr-python itself failed.
FAULTS: list[list[str]] = []


class FaultOfZarrError(Exception):
    """zarr-python itself fails in shards, on a MemoryStore as well: nothing is left to compare with."""


def check_errors(what: str, error: str | None, other: str | None, again: Any) -> None:
    """Check that zarr and ozx agree; `again` does the same with zarr's own pipeline, and with shards."""
    if error is None and other is not None and again()[1] is not None:
        raise FaultOfZarrError
    classes = [text and text.partition(":")[0] for text in (error, other)]
    if classes[0] != classes[1] and again()[1] == other:
        raise FaultOfZarrError
    assert classes[0] == classes[1], f"{what}: zarr: {error}; ozx: {other}"


def twin_of(array: Any, pixels: Any) -> Any:
    """Return an array on a MemoryStore with the same metadata and these pixels, for zarr's own pipeline."""
    twin = zarr.open_array(MemoryStore({"zarr.json": array.store.get_sync(f"{array.path}/zarr.json")}), mode="r+")
    with contextlib.suppress(Exception):
        twin[...] = pixels
    return twin


def operate(draw: random.Random, expected: Any, array: Any, *, writes: bool) -> str:
    """Do one thing to both arrays, and compare what they say; return its description."""
    if draw.random() < 0.1 and isinstance(array, ozx.Array):
        return read_many(draw, expected, array)
    if writes and array.shape and draw.random() < 0.08:
        return grow(draw, expected, array)
    way = draw.choice(WAYS)
    is_empty = 0 in array.shape or not array.shape
    if (way in ("vindex", "blocks", "mask") and is_empty) or (way == "fields" and not array.dtype.names):
        way = "basic"
    selection = make_selection(draw, way, array)
    what = f"{way} {selection!r}"
    before, error = attempt(read, expected, way, selection)
    found, other = attempt(read, array, way, selection)
    check_errors(f"reading {what}", error, other, lambda: attempt(read, twin_of(array, expected[...]), way, selection))
    if error is not None or not writes:
        assert error is not None or bits(found) == bits(before), f"reading {what}"
        return what
    dtype = np.dtype("O") if array.dtype.kind == "T" else np.asarray(before).dtype
    value = make_pixels(draw, dtype, draw.choice([np.shape(before), np.shape(before), ()]))
    if not np.shape(value) and draw.random() < 0.5:
        value = value[()]
    what = f"{what} = {value!r}"
    twin = twin_of(array, expected[...])
    _, error = attempt(write, expected, way, selection, value)
    _, other = attempt(write, array, way, selection, value)
    check_errors(f"writing {what}", error, other, lambda: attempt(write, twin, way, selection, value))
    if bits(array[...]) != bits(expected[...]):
        attempt(write, twin, way, selection, value)
        pixels, _ = attempt(lambda: twin[...])
        if bits(pixels) == bits(array[...]):
            raise FaultOfZarrError  # it writes the same with shards, and other pixels without
    assert bits(array[...]) == bits(expected[...]), f"after {what}"
    return what


def read_many(draw: random.Random, expected: Any, array: ozx.Array) -> str:
    """Read several selections at once, to new arrays or to a given one."""
    selections = [make_selection(draw, "basic", array) for _ in range(draw.randint(0, 4))]
    what, loop = f"read_many {selections!r}", [attempt(read, expected, "basic", one) for one in selections]
    if any(error is not None for _, error in loop):
        return what  # its errors are those of the selections, which are read one by one
    for found, (pixels, _) in zip(array.read_many(selections), loop, strict=True):
        assert bits(found) == bits(pixels), what
    if loop and array.dtype.kind not in "OT":
        out = np.empty((3, *np.shape(loop[0][0])), array.dtype)
        array.read_many(selections[:1] * 3, out)
        assert bits(out) == bits(np.array([loop[0][0]] * 3, array.dtype)), what
    return what


def grow(draw: random.Random, expected: Any, array: Any) -> str:
    """Make both arrays larger, by new pixels or by those of the fill value."""
    axis = draw.randrange(array.ndim)
    shape = tuple(length + (draw.randint(0, 5) if place == axis else 0) for place, length in enumerate(array.shape))
    if draw.random() < 0.5:
        expected.resize(shape)
        array.resize(shape)
        return f"resize {shape}"
    added = tuple(draw.randint(0, 5) if place == axis else length for place, length in enumerate(array.shape))
    pixels = make_pixels(draw, np.dtype("O") if array.dtype.kind == "T" else array.dtype, added)
    what, twin = f"append {pixels!r} to axis {axis}", twin_of(array, expected[...])
    _, error = attempt(expected.append, pixels, axis)
    _, other = attempt(array.append, pixels, axis)
    check_errors(what, error, other, lambda: attempt(twin.append, pixels, axis))
    return what


def opened_for_writing(draw: random.Random, store: ozx.OzxStore, config: Any) -> Any:
    """Return the array in a store, as one of ozx or as one of zarr-python with the pipeline of ozx."""
    with zarr.config.set({"codec_pipeline.path": "ozx.store.pixels.configured.StorePipeline"}):
        array = zarr.open_group(store, mode="r+")["0"].with_config(config)
    return opened_array(array) if draw.random() < 0.5 else array


def operate_all(
    draw: random.Random, expected: Any, array: Any, count: int, done: list[str], writes: float = 0.7
) -> None:
    """Do several things, and note each in `done`; `writes` is the share of those that write."""
    done.append(f"with {type(array)}:")
    done.extend(operate(draw, expected, array, writes=draw.random() < writes) for _ in range(count))


def try_array(draw: random.Random, path: Path, operations: int) -> None:
    """Do random things to a random array, in an archive and in memory, first in a new file, then in the same one.

    A reader of the first file never has pixels of the second one.
    """
    layout = make_layout(draw)
    done = [str({**layout})]
    expected = zarr.create_array(MemoryStore(), **unsharded(layout))
    expected = zarr.open_array(expected.store, mode="r+").with_config(layout["config"])  # metadata has no byte order
    try:
        with ozx.OzxStore(path, "w", sync=False) as store:
            root = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
            root.create_array("0", **layout)
            array = opened_for_writing(draw, store, layout["config"])
            operate_all(draw, expected, array, operations // 2, done)
        again, old = ozx.open(path)["0"], bits(expected[...])
        assert bits(again[...]) == old
        operate_all(draw, expected, again, operations // 4, done, writes=0)
        with ozx.OzxStore(path, "a", sync=False) as store:
            array = opened_for_writing(draw, store, layout["config"])
            operate_all(draw, expected, array, operations // 4, done)
            assert bits(again[...]) == old, "while another writes"
        found, error = attempt(lambda: bits(again[...]))
        assert found == old or "changed" in str(error), "after another has written"
        assert bits(ozx.open(path)["0"][...]) == bits(expected[...])
    except FaultOfZarrError:
        FAULTS.append(done)
    except AssertionError as error:
        raise AssertionError("\n".join([*done, str(error)])) from None


@pytest.mark.filterwarnings("ignore")
def test_random_pixels_are_those_of_zarr(tmp_path: Path) -> None:
    arrays = -(-OPERATIONS // PER_ARRAY)
    FAULTS.clear()
    for number in itertools.islice(itertools.count(FIRST), arrays):
        try:
            try_array(random.Random(number), tmp_path / "a.ozx", PER_ARRAY)
        except AssertionError as error:
            raise AssertionError(f"OZX_SEED={number} OZX_OPERATIONS=1\n{error}") from None
        (tmp_path / "a.ozx").unlink(missing_ok=True)
    assert len(FAULTS) <= max(5, arrays // 10), "most arrays are compared to the end"

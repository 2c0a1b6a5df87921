"""Hierarchies and archives for the contract suites, drawn by hypothesis, and their pixels as zarr-python reads them."""

import json
from dataclasses import dataclass, field
from typing import Any

import numcodecs
import numpy as np
import zarr
from cases.archive_builder import PADDING_FIELD, TIME_FIELD, ArchiveBuilder
from hierarchies import multiscales
from hypothesis import strategies as st
from stores import buffer, contents
from upgrades import quiet
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.storage import MemoryStore

NUMBERS = ["|b1", "|u1", "<u2", ">u2", "<i8", "<f2", "<f4", ">f8", "<c8", ">c16"]
OTHERS = ["<U3", ">U2", "|S2", "|V3", "<M8[us]", "<m8[10s]", "string"]
# What is beside the arrays; a server that cannot list does not give them.
EXTRA = ["notes/é.txt", "0/notes.txt", "OME/METADATA.ome.xml", "zzz", "0/c.txt", "0/c/readme"]
COMPRESSORS: list[Any] = [[], [ZstdCodec(level=1)], [GzipCodec(level=1)], [BloscCodec(cname="lz4")]]


@dataclass(frozen=True)
class Hierarchy:
    """A drawn hierarchy."""

    values: dict[str, bytes]  # the values of all keys
    extra: set[str]  # the keys that belong to no node
    axes: str
    zarr_format: int = 3

    def is_named(self, key: str) -> bool:
        """Return whether metadata name a key: others are not found on a server that cannot list."""
        return key not in self.extra and not key.startswith("tables/")


def pixels_of(values: dict[str, bytes], zarr_format: int = 3) -> dict[str, np.ndarray]:
    store = MemoryStore({key: buffer(data) for key, data in values.items()})
    ending = "zarr.json" if zarr_format == 3 else ".zarray"
    found = {}
    for key in values:
        if not key.endswith(ending) or (zarr_format == 3 and json.loads(values[key])["node_type"] == "group"):
            continue
        path = key.removesuffix(ending).strip("/")
        with quiet():
            found[path] = np.asarray(zarr.open_array(store, path=path, mode="r", zarr_format=zarr_format)[...])
    return found


def bits(pixels: np.ndarray) -> tuple[Any, ...]:
    """Return what is compared: payloads of NaN and signs of zeros count, the byte order of numbers does not."""
    if pixels.dtype.kind in "OTU":
        return pixels.shape, pixels.tolist()
    little = pixels.astype(pixels.dtype.newbyteorder("<"))
    return pixels.shape, str(little.dtype), little.tobytes()


@st.composite
def items(draw, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return pixels of few different values: NaNs with payloads, zeros of both signs, long runs of fill values."""
    random = np.random.default_rng(draw(st.integers(0, 99)))
    if dtype in OTHERS:
        times = {"<M8[us]": ["1970-01-01", "2026-11-24", "NaT"], "<m8[10s]": [0, -7, "NaT"]}
        kind = dtype if dtype in times else "S3" if dtype == "|V3" else "U3"
        kinds = np.array(times.get(dtype, ["", "a", "b\0c"]), kind)
        pixels = np.asarray(kinds[random.integers(0, len(kinds), shape)])
        return pixels.astype(object if dtype == "string" else dtype)
    if dtype[1] not in "fc":
        return random.integers(0, draw(st.sampled_from([2, 100])), shape).astype(dtype)
    real = np.dtype(dtype.replace("c8", "f4").replace("c16", "f8"))
    size = real.itemsize
    quiet_nan = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8 << 48}[size]
    patterns = np.array([0, 1 << (8 * size - 1), quiet_nan, quiet_nan | 1, 7], f"{dtype[0]}u{size}".replace("|", "<"))
    parts = 2 if dtype[1] == "c" else 1
    wide = (*shape[:-1], shape[-1] * parts) if shape else (parts,)
    return patterns[random.integers(0, draw(st.sampled_from([2, 5])), wide)].view(dtype).reshape(shape)


@st.composite
def arrays(draw, shape: tuple[int, ...], dtypes: list[str]) -> tuple[np.ndarray, dict[str, Any]]:
    """Draw pixels, and the arguments of `zarr.create_array`."""
    dtype = draw(st.sampled_from(dtypes))
    pixels = draw(items(dtype, shape))
    chunks = tuple(draw(st.integers(1, min(5, length + 1))) for length in shape)
    options: dict[str, Any] = {"chunks": chunks, "dtype": dtype if dtype == "string" else pixels.dtype}
    options["fill_value"] = draw(st.sampled_from([0, 1])) if dtype in NUMBERS else np.zeros((), pixels.dtype)[()]
    if dtype == "string":
        options["fill_value"] = ""
    elif dtype in NUMBERS and pixels.dtype.itemsize > 1:
        options["serializer"] = BytesCodec(endian="big" if dtype[0] == ">" else "little")
    options["compressors"] = [*draw(st.sampled_from(COMPRESSORS)), *draw(st.sampled_from([[], [Crc32cCodec()]]))]
    if shape and dtype in NUMBERS and draw(st.integers(0, 4)) == 0:
        options["filters"] = [TransposeCodec(order=tuple(draw(st.permutations(range(len(shape))))))]
    shards = tuple(length * draw(st.integers(1, 3)) for length in chunks)
    form = draw(st.sampled_from(["chunks", "chunks", "shards", "start", "nested"]))
    form = form if shape and dtype != "|V3" else "chunks"  # zarr-python 3.1 has no shards of such items
    if form == "shards":
        options["shards"] = shards
    elif form != "chunks" and dtype in NUMBERS and "filters" not in options:
        inner = [options.pop("serializer", BytesCodec()), *options.pop("compressors")]
        sharding = ShardingCodec(chunk_shape=chunks, codecs=inner, index_location="start" if form == "start" else "end")
        if form == "nested":
            sharding = ShardingCodec(chunk_shape=shards, codecs=[sharding], index_location="start")
            shards = tuple(2 * length for length in shards)
        options |= {"chunks": shards, "serializer": sharding, "compressors": None}
    encoding = {"name": draw(st.sampled_from(["default", "v2"])), "separator": draw(st.sampled_from("/."))}
    options |= {"chunk_key_encoding": encoding, "config": {"write_empty_chunks": draw(st.booleans())}}
    return pixels, options


def image_metadata(axes: str, levels: int, version: str = "0.5") -> dict[str, Any]:
    levels = map(str, range(levels))
    return {"ome": {"version": version, "multiscales": multiscales(axes, *levels, halved="yx", name="drawn")}}


@st.composite
def hierarchies(draw, *, dtypes=NUMBERS, others=True, most=11) -> Hierarchy:
    """Draw an image, and beside it an array without names for its axes, and files that belong to no node."""
    axes = draw(st.sampled_from(["yx", "yx", "zyx", "cyx", "tczyx"]))
    shape = tuple(draw(st.integers(1, most if axis in "yx" else 3)) for axis in axes)
    levels = draw(st.integers(1, 2))
    store = MemoryStore()
    pixels, options = draw(arrays(shape, dtypes))
    with quiet():
        root = zarr.create_group(store, zarr_format=3, attributes=image_metadata(axes, levels))
        for level in range(levels):
            part = pixels[tuple(slice(None, None, 2 if level and axis in "yx" else 1) for axis in axes)]
            root.create_array(str(level), shape=part.shape, dimension_names=list(axes), **options)[...] = part
        if others and draw(st.booleans()):
            other = tuple(draw(st.lists(st.integers(0, 6), max_size=2)))
            pixels, options = draw(arrays(other, [*NUMBERS, *OTHERS]))
            root.create_group("tables").create_array("a", shape=other, **options)[...] = pixels
    values = contents(store)
    chunks = sorted(key for key in values if not key.endswith("zarr.json"))
    for key in draw(st.lists(st.sampled_from(chunks or ["none"]), unique=True, max_size=2)):
        values.pop(key, None)
    extra = draw(st.sets(st.sampled_from(EXTRA), max_size=3)) if others else set()
    values |= {key: draw(st.sampled_from([b"", b"text", b"PK\3\4 by chance", bytes(70_000)])) for key in sorted(extra)}
    return Hierarchy(values, extra, axes)


V2 = [
    {},
    {"compressors": numcodecs.Zlib(1)},
    {"compressors": numcodecs.BZ2(1)},
    {"compressors": numcodecs.Blosc()},
    {"compressors": numcodecs.LZ4(), "filters": [numcodecs.Delta("<i4")]},
    {"filters": [numcodecs.Shuffle(4)], "compressors": numcodecs.Zlib()},
]


@st.composite
def old_hierarchies(draw) -> Hierarchy:
    """Draw an image of OME-Zarr 0.4, which is Zarr v2."""
    shape = (draw(st.integers(1, 11)), draw(st.integers(1, 11)))
    dtype = draw(st.sampled_from(["<i4", "<i4", ">f8", "|b1"]))
    options = draw(st.sampled_from(V2 if dtype == "<i4" else V2[:4]))
    keys = {"name": "v2", "separator": draw(st.sampled_from("/."))}
    store, multiscale = MemoryStore(), image_metadata("yx", 1)["ome"]["multiscales"][0]
    with quiet():
        root = zarr.create_group(store, zarr_format=2, attributes={"multiscales": [multiscale | {"version": "0.4"}]})
        root.create_array(
            "0", shape=shape, chunks=(4, 3), dtype=dtype, chunk_key_encoding=keys, order=draw(st.sampled_from("CF")),
            fill_value=draw(st.sampled_from([None, 0])), **{"compressors": None, "filters": None, **options},
        )[...] = draw(items(dtype, shape))  # fmt: skip
    return Hierarchy(contents(store), set(), "yx", 2)


@dataclass(frozen=True)
class Form:
    """How an archive differs from those of ozx: what is done to some of its entries, and their order."""

    changes: list[tuple[int, str]] = field(default_factory=list)
    order: str = "own"
    zip64: bool = True

    def build(self, values: dict[str, bytes]) -> bytes:
        names = list(values)
        if self.order == "reversed":
            names.reverse()
        builder = ArchiveBuilder()
        for name in names:
            builder.add(name, values[name])
        if not self.zip64:
            builder.classic()
        for number, change in self.changes:
            CHANGES[change](builder, names[number % len(names)])
        if self.order == "shuffled":
            builder.with_(file_order=[*reversed(builder.names())])
        return builder.build()


CHANGES = {
    "deflate": lambda builder, name: builder.deflate(name),
    "descriptor": lambda builder, name: builder.stream(name),
    "descriptor without signature": lambda builder, name: builder.stream(name, signature=False),
    "padding": lambda builder, name: builder.set(name, local={"extra": PADDING_FIELD}),
    "times": lambda builder, name: builder.set(name, local={"extra": TIME_FIELD}),
    "long": lambda builder, name: builder.set(name, local={"extra": b"\xfe\xca" + b"\x88\x13" + bytes(5000)}),
    "bytes before": lambda builder, name: builder.set(name, before=b"x" * 11),
}
forms = st.builds(
    Form,
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(sorted(CHANGES))), max_size=4),
    st.sampled_from(["own", "reversed", "shuffled"]),
    st.booleans(),
)

"""Rules about the codecs of an array: their order, their settings, and nested shards (Zarr core 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from ozx.validation.nodes.facts import ParsedNode
from ozx.validation.nodes.place import JsonPlace
from ozx.validation.report import Finding
from ozx.validation.wording import TENSORSTORE, ZARR_PYTHON, shown
from ozx.zarr.array import ArrayMetadata
from ozx.zarr.codecs import SHARDING, NamedExtension, parse_named
from ozx.zarr.json_reading import as_lengths

# The kind and the settings of each codec in the Zarr specifications.

#: ``array`` (array to array), ``serializer`` (array to bytes) or ``bytes`` (bytes to bytes).
CodecKind = Literal["array", "serializer", "bytes"]


#: The valid values of a setting in words, whether a value is one of them, and whether the setting is required.
_Setting = tuple[str, Callable[[Any], bool], bool]


def _one_of(*values: str, is_required: bool = True) -> _Setting:
    return " or ".join(values), lambda value: isinstance(value, str) and value in values, is_required


def _integer(low: int, high: int | None = None) -> _Setting:
    expected = f"an integer from {low}" + ("" if high is None else f" to {high}")
    return expected, lambda value: type(value) is int and low <= value and (high is None or value <= high), True


# A setting that accepts any value, because another rule checks it.
_ANYTHING: _Setting = "", lambda _: True, True
_FLAG: _Setting = "true or false", lambda value: isinstance(value, bool), False

#: The kind of each codec by its name, its specification with the version, and its settings.
CODECS: dict[str, tuple[CodecKind, str, dict[str, _Setting]]] = {
    "transpose": ("array", "transpose codec 1.0", {"order": _ANYTHING}),
    # "endian: Required for data types for which endianness is applicable." `check_codecs` knows these types.
    "bytes": ("serializer", "bytes codec 1.0", {"endian": _one_of("little", "big", is_required=False)}),
    "sharding_indexed": (
        "serializer",
        "sharding codec 1.0",
        {
            "chunk_shape": _ANYTHING,
            "codecs": _ANYTHING,
            "index_codecs": _ANYTHING,
            "index_location": _one_of("start", "end", is_required=False),
        },
    ),
    "vlen-bytes": ("serializer", "vlen-bytes codec", {}),
    "vlen-utf8": ("serializer", "vlen-utf8 codec", {}),
    "blosc": (
        "bytes",
        "blosc codec 1.0",
        {
            "cname": _one_of("blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"),
            "clevel": _integer(0, 9),
            "shuffle": _one_of("noshuffle", "shuffle", "bitshuffle"),
            # "Required unless shuffle is "noshuffle", in which case the value is ignored." See `check_codecs`.
            "typesize": ("a positive integer", lambda value: type(value) is int and value > 0, False),
            "blocksize": _integer(0),
        },
    ),
    "crc32c": ("bytes", "crc32c codec 1.0", {}),
    "gzip": ("bytes", "gzip codec 1.0", {"level": _integer(0, 9)}),
    "zstd": ("bytes", "zstd codec", {"level": _integer(-131072, 22), "checksum": _FLAG}),
}


# A sharding codec inside another is legal; no writer nests them deeper than two.
_DEEPEST = 8
# Codecs with output of a fixed size.
_FIXED_SIZE = frozenset(("bytes", "crc32c", "transpose"))


def check_codecs(node: ParsedNode, array: ArrayMetadata) -> Iterator[Finding]:
    """Yield findings about the codecs of an array."""
    stored = array.chunks if array.shards is None else array.shards
    yield from _check_chain(node, JsonPlace(node.key, "/codecs"), node.document.get("codecs"), stored, array.item_size)


def _check_chain(
    node: ParsedNode, place: JsonPlace, value: Any, shape: tuple[int, ...] | None, item_size: int | None
) -> Iterator[Finding]:
    """Check the chain `value` at `place`; its input has this shape and these bytes per item."""
    # Core 3.1, "codecs": "Because codecs MUST contain an array -> bytes codec, the list cannot be empty".
    if not isinstance(value, list) or not value:
        yield place.finding("zarr/codecs", f"expected an array of at least one codec; found {shown(value)}")
        return
    # A codec without a name has a finding of `zarr/extension-definition`; the order of the chain cannot be checked.
    codecs = [parse_named(item) for item in value]
    named = [codec for codec in codecs if codec is not None]
    if len(named) == len(codecs):
        yield from _check_order(place, named)
    for index, codec in enumerate(codecs):
        if codec is None:
            continue
        if codec.name in CODECS:
            yield from _check_settings(node, place / index, codec, shape, item_size)
        if codec.name == "transpose":
            shape = _transposed(shape, codec)
        if codec.name == SHARDING:
            yield from _check_sharding(node, place / index, codec, shape, item_size)
            if index + 1 < len(codecs):
                message = f"{TENSORSTORE} refuses codecs after {SHARDING}; no reader can read parts of such a shard"
                yield (place / (index + 1)).finding("zarr/reader-refuses", message)


def _check_order(place: JsonPlace, codecs: Sequence[NamedExtension]) -> Iterator[Finding]:
    # Core 3.1, "Codecs": "zero or more array -> array codecs; followed by exactly one array -> bytes codec; followed by
    # zero or more bytes -> bytes codecs." An unknown codec may be of any kind.
    kinds = [CODECS[codec.name][0] if codec.name in CODECS else None for codec in codecs]
    serializers = [index for index, kind in enumerate(kinds) if kind == "serializer"]
    if len(serializers) > 1:
        names = " and ".join(codecs[index].name for index in serializers[:2])
        message = f"expected exactly one array -> bytes codec; found {names}"
        yield (place / serializers[1]).finding("zarr/codec-order", message)
        return
    if not serializers:
        known = [kind for kind in kinds if kind is not None]
        if len(known) == len(kinds):
            names = ", ".join(codec.name for codec in codecs[:5])
            yield place.finding("zarr/codec-order", f"expected an array -> bytes codec, such as bytes; found {names}")
            return
        # An unknown codec after every array -> array codec and before every bytes -> bytes codec may be the right one.
        last_array = max((index for index, kind in enumerate(kinds) if kind == "array"), default=-1)
        first_bytes = min((index for index, kind in enumerate(kinds) if kind == "bytes"), default=len(kinds))
        if not any(kind is None and last_array < index < first_bytes for index, kind in enumerate(kinds)):
            message = "expected an array -> bytes codec before every bytes -> bytes codec; found none"
            yield place.finding("zarr/codec-order", message)
        return
    middle = serializers[0]
    for index, kind in enumerate(kinds):
        if (kind == "array" and index > middle) or (kind == "bytes" and index < middle):
            side, what = ("after", "array -> array") if kind == "array" else ("before", "bytes -> bytes")
            message = f"the {what} codec {codecs[index].name} is {side} {codecs[middle].name}, the array -> bytes codec"
            yield (place / index).finding("zarr/codec-order", message)


def _check_settings(
    node: ParsedNode,
    place: JsonPlace,
    codec: NamedExtension,
    shape: tuple[int, ...] | None,
    item_size: int | None,
) -> Iterator[Finding]:
    (_, document, settings), found = CODECS[codec.name], codec.configuration
    for name, (expected, fits, is_required) in settings.items():
        if name not in found:
            if is_required or _is_needed(name, codec, node, item_size):
                message = f"expected the setting {name!r} of {codec.name} ({document}); it is missing"
                yield place.finding("zarr/codec-configuration", message)
        elif not fits(found[name]):
            message = f"expected {expected} for {name!r} of {codec.name}; found {shown(found[name])}"
            yield place.below("configuration", name).finding("zarr/codec-configuration", message)
    for name in sorted(found.keys() - settings.keys()):
        message = f"{ZARR_PYTHON} and {TENSORSTORE} refuse settings they do not know; found {shown(name)}"
        yield place.below("configuration", name).finding("zarr/reader-refuses", message)
    if codec.name == "transpose" and "order" in found:
        # transpose codec 1.0: "order: … must be a permutation of 0, 1, …, n-1".
        order, ndim = as_lengths(found["order"]), None if shape is None else len(shape)
        if order is None or sorted(order) != list(range(len(order) if ndim is None else ndim)):
            message = f"expected an order that names each dimension once; found {shown(found['order'])}"
            yield place.below("configuration", "order").finding("zarr/codec-configuration", message)


def _transposed(shape: tuple[int, ...] | None, codec: NamedExtension) -> tuple[int, ...] | None:
    order = as_lengths(codec.configuration.get("order"))
    if shape is None or order is None or sorted(order) != list(range(len(shape))):
        return None
    return tuple(shape[axis] for axis in order)


def _is_needed(name: str, codec: NamedExtension, node: ParsedNode, item_size: int | None) -> bool:
    """Return whether a codec setting is required for items of this size."""
    if name == "endian":  # raw bits have no byte order
        data_type = node.array.data_type if node.array is not None else None
        return (item_size or 1) > 1 and not (data_type or "").startswith("r")
    return name == "typesize" and codec.configuration.get("shuffle") in ("shuffle", "bitshuffle")


def _check_sharding(
    node: ParsedNode,
    place: JsonPlace,
    codec: NamedExtension,
    shape: tuple[int, ...] | None,
    item_size: int | None,
) -> Iterator[Finding]:
    found, settings = codec.configuration, place / "configuration"
    inner = as_lengths(found.get("chunk_shape"))
    if "chunk_shape" in found:
        # sharding codec 1.0, "chunk_shape": "An array of integers specifying the shape of the inner chunks … The
        # length of the chunk_shape array must match the number of dimensions of the shard shape", "Each integer must
        # by divisible by the chunk_shape".
        fault = _chunk_shape_fault(found["chunk_shape"], inner, shape)
        if fault is not None:
            yield (settings / "chunk_shape").finding("zarr/sharding", fault)
    if sum(step == "configuration" for step in place.steps) >= _DEEPEST:
        yield place.finding("zarr/sharding", f"shards are nested deeper than {_DEEPEST} times")
        return
    if "codecs" in found:
        yield from _check_chain(node, settings / "codecs", found["codecs"], inner, item_size)
    if "index_codecs" in found:
        # The index is an array of uint64, one dimension more than the shard.
        index_shape, index_place = None if inner is None else (*inner, 2), settings / "index_codecs"
        yield from _check_chain(node, index_place, found["index_codecs"], index_shape, 8)
        yield from _check_index_codecs(index_place, found["index_codecs"])


def _chunk_shape_fault(value: Any, inner: tuple[int, ...] | None, shape: tuple[int, ...] | None) -> str | None:
    if inner is None:
        return f"expected a chunk_shape, an array of lengths; found {shown(value)}"
    if 0 in inner:
        return f"expected inner chunks of lengths greater than zero; found {shown(value)}"
    if shape is None:
        return None
    if len(inner) != len(shape):
        return f"expected inner chunks of {len(shape)} lengths, as many as the shard has; found {len(inner)}"
    if any(whole % part for whole, part in zip(shape, inner, strict=True)):
        return f"expected inner chunks that divide the shard, {shown(list(shape))}; found {shown(value)}"
    return None


def _check_index_codecs(place: JsonPlace, value: Any) -> Iterator[Finding]:
    # sharding codec 1.0, "index_codecs": "The codecs MUST have a fixed-size encoded representation".
    for position, codec in enumerate(map(parse_named, value if isinstance(value, list) else [])):
        if codec is not None and codec.name in CODECS and codec.name not in _FIXED_SIZE:
            message = f"expected codecs with output of fixed size for the index of a shard; found {codec.name}"
            yield (place / position).finding("zarr/sharding", message)

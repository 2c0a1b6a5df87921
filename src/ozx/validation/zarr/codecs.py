"""Rules about the codecs of an array: their order, their settings, and nested shards (Zarr core 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ozx.validation.nodes.document import NodeDocument
from ozx.validation.report import Finding
from ozx.validation.wording import TENSORSTORE, ZARR_PYTHON, pointer, shown
from ozx.zarr.array import ArrayMetadata
from ozx.zarr.codecs import SHARDING, NamedConfiguration, parse_named
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


@dataclass(frozen=True, slots=True)
class _Chain:
    """A chain of codecs: its position in the document and its input."""

    node: NodeDocument
    # JSON pointer to the chain.
    pointer: str
    shape: tuple[int, ...] | None
    item_size: int | None
    depth: int = 0

    def finding(self, rule: str, message: str, *place: str | int) -> Finding:
        return self.node.finding(rule, message, self.pointer + pointer(*place))


def check_codecs(node: NodeDocument, array: ArrayMetadata) -> Iterator[Finding]:
    """Yield findings about the codecs of an array."""
    stored = array.chunks if array.shards is None else array.shards
    chain = _Chain(node, "/codecs", stored, array.item_size)
    yield from _check_chain(chain, node.document.get("codecs"))


def _check_chain(chain: _Chain, value: Any) -> Iterator[Finding]:
    # Core 3.1, "codecs": "Because codecs MUST contain an array -> bytes codec, the list cannot be empty".
    if not isinstance(value, list) or not value:
        yield chain.finding("zarr/codecs", f"expected an array of at least one codec; found {shown(value)}")
        return
    # A codec without a name has a finding of `zarr/extension-definition`; the order of the chain cannot be checked.
    codecs = [parse_named(item) for item in value]
    named = [codec for codec in codecs if codec is not None]
    if len(named) == len(codecs):
        yield from _check_order(chain, named)
    for index, codec in enumerate(codecs):
        if codec is None:
            continue
        if codec.name in CODECS:
            yield from _check_settings(chain, index, codec)
        if codec.name == "transpose":
            chain = replace(chain, shape=_transposed(chain.shape, codec))
        if codec.name == SHARDING:
            yield from _check_sharding(chain, index, codec)
            if index + 1 < len(codecs):
                message = f"{TENSORSTORE} refuses codecs after {SHARDING}; no reader can read parts of such a shard"
                yield chain.finding("zarr/reader-refuses", message, index + 1)


def _check_order(chain: _Chain, codecs: Sequence[NamedConfiguration]) -> Iterator[Finding]:
    # Core 3.1, "Codecs": "zero or more array -> array codecs; followed by exactly one array -> bytes codec; followed by
    # zero or more bytes -> bytes codecs." An unknown codec may be of any kind.
    kinds = [CODECS[codec.name][0] if codec.name in CODECS else None for codec in codecs]
    serializers = [index for index, kind in enumerate(kinds) if kind == "serializer"]
    if len(serializers) > 1:
        names = " and ".join(codecs[index].name for index in serializers[:2])
        message = f"expected exactly one array -> bytes codec; found {names}"
        yield chain.finding("zarr/codec-order", message, serializers[1])
        return
    if not serializers:
        known = [kind for kind in kinds if kind is not None]
        if len(known) == len(kinds):
            names = ", ".join(codec.name for codec in codecs[:5])
            yield chain.finding("zarr/codec-order", f"expected an array -> bytes codec, such as bytes; found {names}")
            return
        # An unknown codec after every array -> array codec and before every bytes -> bytes codec may be the right one.
        last_array = max((index for index, kind in enumerate(kinds) if kind == "array"), default=-1)
        first_bytes = min((index for index, kind in enumerate(kinds) if kind == "bytes"), default=len(kinds))
        if not any(kind is None and last_array < index < first_bytes for index, kind in enumerate(kinds)):
            message = "expected an array -> bytes codec before every bytes -> bytes codec; found none"
            yield chain.finding("zarr/codec-order", message)
        return
    middle = serializers[0]
    for index, kind in enumerate(kinds):
        if (kind == "array" and index > middle) or (kind == "bytes" and index < middle):
            side, what = ("after", "array -> array") if kind == "array" else ("before", "bytes -> bytes")
            message = f"the {what} codec {codecs[index].name} is {side} {codecs[middle].name}, the array -> bytes codec"
            yield chain.finding("zarr/codec-order", message, index)


def _check_settings(chain: _Chain, index: int, codec: NamedConfiguration) -> Iterator[Finding]:
    (_, document, settings), found = CODECS[codec.name], codec.configuration
    for name, (expected, fits, is_required) in settings.items():
        if name not in found:
            if is_required or _is_needed(name, codec, chain):
                message = f"expected the setting {name!r} of {codec.name} ({document}); it is missing"
                yield chain.finding("zarr/codec-configuration", message, index)
        elif not fits(found[name]):
            message = f"expected {expected} for {name!r} of {codec.name}; found {shown(found[name])}"
            yield chain.finding("zarr/codec-configuration", message, index, "configuration", name)
    for name in sorted(found.keys() - settings.keys()):
        message = f"{ZARR_PYTHON} and {TENSORSTORE} refuse settings they do not know; found {shown(name)}"
        yield chain.finding("zarr/reader-refuses", message, index, "configuration", name)
    if codec.name == "transpose" and "order" in found:
        # transpose codec 1.0: "order: … must be a permutation of 0, 1, …, n-1".
        order, ndim = as_lengths(found["order"]), None if chain.shape is None else len(chain.shape)
        if order is None or sorted(order) != list(range(len(order) if ndim is None else ndim)):
            message = f"expected an order that names each dimension once; found {shown(found['order'])}"
            yield chain.finding("zarr/codec-configuration", message, index, "configuration", "order")


def _transposed(shape: tuple[int, ...] | None, codec: NamedConfiguration) -> tuple[int, ...] | None:
    order = as_lengths(codec.configuration.get("order"))
    if shape is None or order is None or sorted(order) != list(range(len(shape))):
        return None
    return tuple(shape[axis] for axis in order)


def _is_needed(name: str, codec: NamedConfiguration, chain: _Chain) -> bool:
    """Return whether a codec setting is required for this chain."""
    if name == "endian":  # raw bits have no byte order
        data_type = chain.node.array.data_type if chain.node.array is not None else None
        return (chain.item_size or 1) > 1 and not (data_type or "").startswith("r")
    return name == "typesize" and codec.configuration.get("shuffle") in ("shuffle", "bitshuffle")


def _check_sharding(chain: _Chain, index: int, codec: NamedConfiguration) -> Iterator[Finding]:
    found, place = codec.configuration, (index, "configuration")
    inner = as_lengths(found.get("chunk_shape"))
    if "chunk_shape" in found:
        # sharding codec 1.0, "chunk_shape": "An array of integers specifying the shape of the inner chunks … The
        # length of the chunk_shape array must match the number of dimensions of the shard shape", "Each integer must
        # by divisible by the chunk_shape".
        fault = _chunk_shape_fault(found["chunk_shape"], inner, chain.shape)
        if fault is not None:
            yield chain.finding("zarr/sharding", fault, *place, "chunk_shape")
    if chain.depth >= _DEEPEST:
        yield chain.finding("zarr/sharding", f"shards are nested deeper than {_DEEPEST} times", index)
        return
    if "codecs" in found:
        below = chain.pointer + pointer(*place, "codecs")
        yield from _check_chain(_Chain(chain.node, below, inner, chain.item_size, chain.depth + 1), found["codecs"])
    if "index_codecs" in found:
        below = chain.pointer + pointer(*place, "index_codecs")
        # The index is an array of uint64, one dimension more than the shard.
        shape = None if inner is None else (*inner, 2)
        yield from _check_chain(_Chain(chain.node, below, shape, 8, chain.depth + 1), found["index_codecs"])
        yield from _check_index_codecs(chain, index, found["index_codecs"])


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


def _check_index_codecs(chain: _Chain, index: int, value: Any) -> Iterator[Finding]:
    # sharding codec 1.0, "index_codecs": "The codecs MUST have a fixed-size encoded representation".
    for position, codec in enumerate(map(parse_named, value if isinstance(value, list) else [])):
        if codec is not None and codec.name in CODECS and codec.name not in _FIXED_SIZE:
            message = f"expected codecs with output of fixed size for the index of a shard; found {codec.name}"
            yield chain.finding("zarr/sharding", message, index, "configuration", "index_codecs", position)

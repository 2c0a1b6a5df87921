"""The kind and the settings of each codec in the Zarr specifications."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

CodecKind = Literal["array", "serializer", "bytes"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a codec, with its valid values."""

    expected: str
    fits: Callable[[Any], bool]
    is_required: bool = True


@dataclass(frozen=True, slots=True)
class CodecSettings:
    """The kind and the settings of one codec."""

    # ``array`` (array to array), ``serializer`` (array to bytes) or ``bytes`` (bytes to bytes).
    kind: CodecKind
    # The specification, and its version.
    document: str
    settings: Mapping[str, Setting] = field(default_factory=dict)


def _one_of(*values: str, is_required: bool = True) -> Setting:
    return Setting(" or ".join(values), lambda value: isinstance(value, str) and value in values, is_required)


def _integer(low: int, high: int | None = None) -> Setting:
    expected = f"an integer from {low}" + ("" if high is None else f" to {high}")
    return Setting(expected, lambda value: type(value) is int and low <= value and (high is None or value <= high))


def _anything(*, is_required: bool = True) -> Setting:
    """Return a setting that accepts any value, because another rule checks it."""
    return Setting("", lambda _: True, is_required)


_FLAG = Setting("true or false", lambda value: isinstance(value, bool), is_required=False)

#: Kind and settings of each codec, by its name.
CODECS: dict[str, CodecSettings] = {
    "transpose": CodecSettings("array", "transpose codec 1.0", {"order": _anything()}),
    # "endian: Required for data types for which endianness is applicable." `check_codecs` knows these types.
    "bytes": CodecSettings("serializer", "bytes codec 1.0", {"endian": _one_of("little", "big", is_required=False)}),
    "sharding_indexed": CodecSettings(
        "serializer",
        "sharding codec 1.0",
        {
            "chunk_shape": _anything(),
            "codecs": _anything(),
            "index_codecs": _anything(),
            "index_location": _one_of("start", "end", is_required=False),
        },
    ),
    "vlen-bytes": CodecSettings("serializer", "vlen-bytes codec"),
    "vlen-utf8": CodecSettings("serializer", "vlen-utf8 codec"),
    "blosc": CodecSettings(
        "bytes",
        "blosc codec 1.0",
        {
            "cname": _one_of("blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"),
            "clevel": _integer(0, 9),
            "shuffle": _one_of("noshuffle", "shuffle", "bitshuffle"),
            # "Required unless shuffle is "noshuffle", in which case the value is ignored." See `check_codecs`.
            "typesize": Setting(
                "a positive integer", lambda value: type(value) is int and value > 0, is_required=False
            ),
            "blocksize": _integer(0),
        },
    ),
    "crc32c": CodecSettings("bytes", "crc32c codec 1.0"),
    "gzip": CodecSettings("bytes", "gzip codec 1.0", {"level": _integer(0, 9)}),
    "zstd": CodecSettings("bytes", "zstd codec", {"level": _integer(-131072, 22), "checksum": _FLAG}),
}

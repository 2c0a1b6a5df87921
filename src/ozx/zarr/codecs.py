"""The codecs of an array: names and settings, from the outermost to the innermost, and checksums at their end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from ozx.errors import UsageError
from ozx.zarr.json_reading import as_lengths, as_list, as_object

#: The codec that stores many inner chunks in one object, the shard.
SHARDING = "sharding_indexed"

# A sharding codec inside a sharding codec is legal; no writer nests them deeper than two.
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class NamedExtension:
    """A codec, data type, chunk grid or chunk key encoding: a name and its settings."""

    name: str
    configuration: dict[str, Any]
    must_understand: bool = True


def parse_named(value: Any) -> NamedExtension | None:
    """Return name and settings from an object or a plain name; None for any other value.

    Zarr core 3.1, "Extension definition": an object with ``name`` and optional ``configuration`` and
    ``must_understand``, or the name alone.

    Examples
    --------
    >>> parse_named("crc32c")
    NamedExtension(name='crc32c', configuration={}, must_understand=True)
    >>> parse_named({"configuration": {}}) is None
    True
    """
    if isinstance(value, str):
        return NamedExtension(value, {}) if value else None
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str) or not name:
        return None
    return NamedExtension(name, as_object(value.get("configuration")), value.get("must_understand") is not False)


def parse_codecs(value: Any) -> tuple[NamedExtension, ...]:
    """Return the codecs of a chain; items without a name are skipped."""
    return tuple(codec for codec in map(parse_named, as_list(value)) if codec is not None)


def codec_names(codecs: tuple[NamedExtension, ...]) -> tuple[str, ...]:
    """Return the names of all codecs in order; the codecs inside a shard follow the sharding codec."""
    return tuple(_names(codecs, _DEEPEST))


def inner_chunks(codecs: tuple[NamedExtension, ...]) -> tuple[int, ...] | None:
    """Return the shape of the innermost chunks if the codecs include a sharding codec, else None.

    Sharding codec 1.0, "Configuration parameters": ``chunk_shape``.
    """
    shape = None
    for _ in range(_DEEPEST):
        sharding = next((codec for codec in codecs if codec.name == SHARDING), None)
        if sharding is None:
            break
        shape = as_lengths(sharding.configuration.get("chunk_shape"))
        codecs = parse_codecs(sharding.configuration.get("codecs"))
    return shape


def _names(codecs: tuple[NamedExtension, ...], depth: int) -> list[str]:
    names = []
    for codec in codecs:
        names.append(codec.name)
        if codec.name == SHARDING and depth:
            names += _names(parse_codecs(codec.configuration.get("codecs")), depth - 1)
    return names


# c-blosc treats larger items as single bytes (blosc.h, BLOSC_MAX_TYPESIZE).
_LARGEST_TYPE = 255


def blosc_codec(compressor: str, level: int, shuffle: str, item_size: int, block_size: int = 0) -> dict[str, Any]:
    """Return the codec ``blosc`` with this compressor inside of it, for items of `item_size` bytes."""
    typesize = item_size if item_size <= _LARGEST_TYPE else 1
    settings = {"typesize": typesize, "cname": compressor, "clevel": level, "shuffle": shuffle, "blocksize": block_size}
    return {"name": "blosc", "configuration": settings}


# Checksums of encoded chunks: the codec ``crc32c`` at the end of the codec chain.

#: What to do with the checksums of chunks.
ChecksumOption = Literal["add", "keep", "drop"]

#: Length of the checksum behind a chunk (crc32c codec 1.0: "the 4-byte CRC32C checksum, little-endian").
CHECKSUM_BYTES = 4

_CRC32C = "crc32c"


def parse_checksum_option(value: str | None) -> ChecksumOption | None:
    """Parse a checksum option: ``add``, ``keep``, ``drop`` or None; with None, ozx chooses for each array."""
    if value is not None and value not in get_args(ChecksumOption):
        raise UsageError(f"expected add, keep or drop for the checksums of chunks; got {value!r}")
    return cast("ChecksumOption | None", value)


def ends_in_checksum(codecs: Sequence[Any]) -> bool:
    """Return whether the last codec of a chain is ``crc32c``."""
    last = parse_named(codecs[-1]) if codecs else None
    return last is not None and last.name == _CRC32C


def change_checksum(codecs: Sequence[Any], option: ChecksumOption) -> list[Any]:
    """Return the codec chain with or without ``crc32c`` at its end; never adds a second ``crc32c``.

    Examples
    --------
    >>> change_checksum(["bytes"], "add")
    ['bytes', {'name': 'crc32c'}]
    >>> change_checksum(["bytes", "crc32c"], "add"), change_checksum(["bytes", "crc32c"], "drop")
    (['bytes', 'crc32c'], ['bytes'])
    """
    if option == "add" and not ends_in_checksum(codecs):
        return [*codecs, {"name": _CRC32C}]
    if option == "drop" and ends_in_checksum(codecs):
        return list(codecs[:-1])
    return list(codecs)

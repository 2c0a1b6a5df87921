"""Choice of chunk lengths and compressors for existing arrays: the requests, and the new metadata.

Shards are chosen in `ozx.ome.relayout.shard_choice`, the layout of new images in `ozx.images.writing.new_array_layout`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ozx.errors import UnsupportedError, UsageError
from ozx.ome.relayout.rechunking import check_axes, parse_axis_lengths, requested_axes
from ozx.ome.relayout.shard_choice import ShardArray
from ozx.zarr.array import item_size
from ozx.zarr.codecs import SHARDING, blosc_codec, parse_codecs, parse_named
from ozx.zarr.json_reading import Document, as_list
from ozx.zarr.layout import Lengths, relayout_document

_Codec = dict[str, Any]

# Array→bytes codecs in the chains that zarr-python 3.1.6 writes; a chain has "exactly one array→bytes codec".
_REGISTERED_SERIALIZERS = frozenset(("bytes", "vlen-bytes", "vlen-utf8"))
_SERIALIZERS = _REGISTERED_SERIALIZERS | {SHARDING, "numcodecs.pcodec", "numcodecs.zfpy"}

# Lossless codecs; "bytes" and "transpose" only for items of fixed size. zarr-python 3.1.6 scrambles transposed arrays
# of text.
_EXACT_CODECS = frozenset(("blosc", "bytes", "crc32c", "gzip", "transpose", "zstd"))
_EXACT_TYPE = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)")

# Lowest, highest and default level.
_LEVELS = {"zstd": (-131_072, 22, 3), "gzip": (0, 9, 6), "blosc": (0, 9, 5)}
_BLOSC_NAMES = ("lz4", "lz4hc", "blosclz", "zstd", "zlib")
_SPELLINGS = ("none", "zstd", "gzip", *(f"blosc-{name}" for name in _BLOSC_NAMES))
# The limit of blosc (blosc.h, BLOSC_MAX_BUFFERSIZE); readers also hold a decoded chunk in memory.
_LARGEST_CHUNK = (1 << 31) - 1 - 16


@dataclass(frozen=True, slots=True)
class CodecChoice:
    """A requested compressor."""

    # Its name in Zarr v3, or ``none``.
    name: Literal["none", "zstd", "gzip", "blosc"]
    level: int = 0
    # The compressor inside of blosc; else empty.
    inside: str = ""

    def codecs(self, size: int | None) -> list[_Codec]:
        """Return the requested compressor as a list of at most one codec, for items of `size` bytes.

        Blosc shuffles by the item size; it does not shuffle items of variable size (None).
        """
        if self.name == "none":
            return []
        if self.name == "zstd":
            return [{"name": "zstd", "configuration": {"level": self.level, "checksum": False}}]
        if self.name == "gzip":
            return [{"name": "gzip", "configuration": {"level": self.level}}]
        codec = blosc_codec(self.inside, self.level, "noshuffle" if size is None else "shuffle", size or 1)
        if size is not None and codec["configuration"]["typesize"] == 1:  # single bytes can be shuffled by bits only
            codec["configuration"]["shuffle"] = "bitshuffle"
        return [codec]


def parse_codec_choice(text: str) -> CodecChoice:
    """Parse a compressor: ``none``, ``zstd:3``, ``gzip:6`` or ``blosc-lz4:5``; the level is optional."""
    match = re.fullmatch(r"\s*([a-z0-9-]+?)(?::(-?[0-9]{1,9}))?\s*", text) if isinstance(text, str) else None
    if match is None or match[1] not in _SPELLINGS:
        raise UsageError(f"expected one of the codecs {', '.join(_SPELLINGS)}, with a level as in zstd:3; got {text!r}")
    spelling, level = match[1], match[2]
    if spelling == "none":
        if level is not None:
            raise UsageError(f"expected no level after the codec 'none'; got {text!r}")
        return CodecChoice("none")
    name: Literal["zstd", "gzip", "blosc"] = "zstd" if spelling == "zstd" else "gzip" if spelling == "gzip" else "blosc"
    lowest, highest, usual = _LEVELS[name]
    number = usual if level is None else int(level)
    if not lowest <= number <= highest:
        raise UsageError(f"expected a level of {spelling} from {lowest} to {highest}; got {number}")
    return CodecChoice(name, number, spelling.removeprefix("blosc-") if name == "blosc" else "")


def parse_chunk_lengths(value: str | Mapping[str, int]) -> dict[str, int]:
    """Return the requested chunk lengths by axis, from text or a mapping."""
    lengths = parse_axis_lengths(value)
    if lengths is None:
        raise UsageError(f"expected chunk lengths in pixels as in y=512,x=512; got {value!r}")
    return lengths


def choose_chunks(arrays: Mapping[str, ShardArray], lengths: Mapping[str, int]) -> dict[str, Lengths]:
    """Return the new chunk lengths of each array; axes without a requested length keep their current length.

    A requested length is cut to the length of the array; the key of a dimension without a name is its number.
    """
    check_axes(lengths, [array.names for array in arrays.values()])
    chosen = {}
    for path, array in arrays.items():
        layout = array.layout
        axes = requested_axes(lengths, array.names)
        chunks = tuple(
            own if axis is None else max(1, min(lengths[axis], whole))
            for axis, own, whole in zip(axes, layout.chunks, layout.shape, strict=True)
        )
        size = math.prod(chunks) * (layout.item_size or 1)
        if size > _LARGEST_CHUNK and chunks != layout.chunks:
            raise UsageError(
                f"{path or 'the root'}: expected chunks of less than 2 GiB; {'×'.join(map(str, chunks))} pixels "
                f"are {size:,} bytes",
                hint="Choose smaller chunks.",
            )
        chosen[path] = chunks
    return chosen


def transcoded_document(
    document: Document, *, chunks: Lengths | None = None, codec: CodecChoice | None = None, keeps_order: bool = True
) -> Document:
    """Return an array's ``zarr.json`` with other chunk lengths or another compressor, and without shards.

    None for `chunks` or `codec` keeps the current ones.

    The requested compressor replaces all present ones. Checksums and the order of bytes stay, and with `keeps_order`
    the order of dimensions.
    Array-to-array codecs that Zarr v3 does not register are dropped with the compressor: pixels are stored as decoded,
    even if the codec was lossy.
    """
    plain = relayout_document(document, None)
    data_type = parse_named(plain.get("data_type"))
    size = None if data_type is None else item_size(data_type)
    chain = _flatten(plain["codecs"])
    if codec is not None:
        chain = _compress(chain, codec, size)
        chain = chain if keeps_order else [step for step in chain if step["name"] != "transpose"]
    lengths = plain["chunk_grid"]["configuration"]["chunk_shape"] if chunks is None else list(chunks)
    grid = {"name": "regular", "configuration": {"chunk_shape": lengths}}
    return relayout_document({**plain, "chunk_grid": grid, "codecs": chain}, None)


def needs_transcoding(document: Document, transcoded: Document) -> bool:
    """Return whether a change from `document` to `transcoded` requires decoding and encoding the chunks.

    Other shards, and a checksum at the end of each chunk, need neither: `ozx.flow.chunks.reshard.iter_resharded` moves
    encoded chunks, and adds or removes the checksum.
    """
    first, second = (relayout_document(each, None, "drop") for each in (document, transcoded))
    return (first["chunk_grid"], first["codecs"]) != (second["chunk_grid"], second["codecs"])


def is_exact(document: Document) -> bool:
    """Return whether an array's codecs are known to be lossless.

    The codecs bytes, transpose, blosc, gzip, zstd and crc32c are lossless for core numeric types. With other codecs or
    types, pixels have to be decoded and compared.

    Examples
    --------
    >>> is_exact({"data_type": "uint16", "codecs": [{"name": "transpose"}, "bytes", "crc32c"]})
    True
    >>> is_exact({"data_type": "string", "codecs": ["vlen-utf8"]})
    False
    """
    data_type = parse_named(document.get("data_type"))
    codecs = _flatten(as_list(document.get("codecs")))
    return (
        data_type is not None
        and _EXACT_TYPE.fullmatch(data_type.name) is not None
        and all(codec is not None and codec.name in _EXACT_CODECS for codec in map(parse_named, codecs))
    )


def _flatten(codecs: list[Any]) -> list[Any]:
    """Return the codecs of the innermost chunks, without sharding codecs and other codecs of shards."""
    while (sharding := next((named for named in parse_codecs(codecs) if named.name == SHARDING), None)) is not None:
        codecs = as_list(sharding.configuration.get("codecs"))
    return codecs


def _compress(chain: list[Any], codec: CodecChoice, size: int | None) -> list[Any]:
    names = ["" if named is None else named.name for named in map(parse_named, chain)]
    place = next((place for place, name in enumerate(names) if name in _SERIALIZERS), None)
    if place is None:
        raise UnsupportedError(
            f"expected a codec that converts an array to bytes, such as the codec bytes; found {', '.join(names)}",
            hint="Keep the current chunk lengths.",
        )
    arranging = [step for step, name in zip(chain[:place], names, strict=False) if name == "transpose"]
    serializer = chain[place]
    if names[place] not in _REGISTERED_SERIALIZERS:
        # Zarr core 3.1, "bytes codec": endian is for items of several bytes.
        serializer = {"name": "bytes"} if size == 1 else {"name": "bytes", "configuration": {"endian": "little"}}
    checksums = [step for step, name in zip(chain[place:], names[place:], strict=True) if name == "crc32c"]
    return [*arranging, serializer, *codec.codecs(size), *checksums[:1]]

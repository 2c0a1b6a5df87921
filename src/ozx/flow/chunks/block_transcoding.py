"""Transcode the chunks of one block, in a thread or in another process.

zarr-python decodes and encodes plain bytes here; it reads no files.
"""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ozx.errors import ResourceError, UnsupportedError
from ozx.flow.decoding.bounded import decoding_reason
from ozx.flow.decoding.zarr_errors import check_codecs_installed, missing_codec, words_of
from ozx.hierarchy.json.reading import Document
from ozx.hierarchy.keys import METADATA
from ozx.hierarchy.relayout.layout_choice import understands_relayout
from ozx.hierarchy.relayout.shard_choice import is_exact
from ozx.hierarchy.zarr.chunk_keys import ChunkKeys, parse_chunk_keys
from ozx.hierarchy.zarr.codecs import parse_codecs
from ozx.hierarchy.zarr.layout import relayout_document, with_checksum
from ozx.hierarchy.zarr.normalisation import DECODING_POINTS, normalise_document
from ozx.hierarchy.zarr_v2.arrays import parse_v2_layout

if TYPE_CHECKING:
    import zarr

    from ozx.flow.decoding.chunk_codecs import ChunkCodec

Lengths = tuple[int, ...]

# zarr-python counts chunks with floating-point numbers, which are exact up to this number.
_LONGEST = 1 << 53
_FIELDS_OF_V2 = ("zarr_format", "shape", "chunks", "dtype", "compressor", "filters", "order", "dimension_separator")
_GZIP = ("gzip", "numcodecs.gzip")


@dataclass(frozen=True, slots=True)
class Transcoding:
    """The decoder and the encoder of an array, picklable for other processes."""

    old: Any  # zarr-python's metadata of the old and the new document, without shards
    new: Any
    old_chunks: Lengths  # lengths of chunks in pixels
    new_chunks: Lengths
    old_keys: ChunkKeys  # the key encoding of the old chunks
    new_codecs: tuple[str, ...]  # names of the codecs of new chunks
    # Whether every block is decoded again and compared, see `ozx.hierarchy.relayout.shard_choice.is_exact`.
    is_checked: bool
    old_codec: ChunkCodec | None = None  # the codecs of a chunk as functions; None if only zarr-python has these codecs
    new_codec: ChunkCodec | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A block of pixels that is transcoded in one task."""

    box: tuple[slice, ...]  # the region of the pixels
    chunks: Mapping[Lengths, bytes]  # the stored old chunks of the block by their coordinates
    missing: tuple[Lengths, ...] = ()  # coordinates of the block's old chunks that are not stored


class UndecodableError(Exception):
    """Error for a chunk that cannot be decoded; `args` contains the chunk's coordinates and the reason."""


class InexactError(Exception):
    """Error for encoded bytes that do not decode to the original values; `args` may contain the reason."""


def readable_document(document: Document, path: str) -> Document:
    """Return a ``zarr.json`` in a form that zarr-python accepts; leave out attributes and dimension names."""
    from ozx.flow.decoding.codec_support import zarr_understands  # noqa: PLC0415 (loads zarr, half a second)

    plain = {**document, "attributes": {}}
    plain.pop("dimension_names", None)

    def understands(point: str, value: Any) -> bool:
        # If ozx can move chunks under an extension, zarr-python can decode these chunks, provided that it has the
        # codecs.
        is_handled = point not in DECODING_POINTS and understands_relayout(point, value)
        return is_handled or zarr_understands(point, value)

    readable: Document = json.loads(normalise_document(json.dumps(plain).encode(), path, understands))
    return readable


def open_transcoding(old: Document, new: Document, path: str) -> Transcoding:
    """Return the decoder and encoder that convert an array from one ``zarr.json`` document to another."""
    from ozx.flow.decoding.chunk_codecs import compile_metadata  # noqa: PLC0415 (loads zarr, half a second)
    from ozx.flow.decoding.codec_support import zarr_understands  # noqa: PLC0415

    where = path or "the root"
    plain = relayout_document(new, None)
    codecs = parse_codecs(plain["codecs"])
    names = tuple(codec.name for codec in codecs)
    for codec, name in zip(plain["codecs"], names, strict=True):
        # Optional codecs, too: readers that have the codec would expect chunks encoded by it.
        if not zarr_understands("codecs", codec):
            raise UnsupportedError(
                f"{where}: expected codecs that zarr-python supports; found {name!r}",
                hint="Choose another codec.",
            )
    if any(name in _GZIP for name in names[:-1]) and names[-1] != "crc32c":
        # gzip stores the time; ozx can remove it only if gzip is the last codec, or only crc32c follows.
        raise UnsupportedError(f"{where}: expected gzip as the last codec; found {', '.join(names)}")
    if old.get("zarr_format") == 2:
        layout = parse_v2_layout(old, path)
        kept = {field: old[field] for field in _FIELDS_OF_V2 if field in old}
        document, keys = {**kept, "chunks": list(layout.chunks), "fill_value": None}, layout.keys
    else:
        document = relayout_document(readable_document(old, path), None)
        keys = parse_chunk_keys(document["chunk_key_encoding"], where)
    old_metadata, new_metadata = parse_metadata(document, where), parse_metadata(readable_document(plain, path), where)
    return Transcoding(
        old=old_metadata,
        new=new_metadata,
        old_chunks=tuple(old_metadata.chunks),
        new_chunks=tuple(new_metadata.chunks),
        old_keys=keys,
        new_codecs=names,
        is_checked=not is_exact(plain),
        old_codec=compile_metadata(old_metadata),
        new_codec=compile_metadata(new_metadata),
    )


def transcode_block(transcoding: Transcoding, block: Block) -> list[tuple[Lengths, bytes]]:
    """Return the new chunks of a block with their coordinates; omit chunks that hold only fill values.

    Bits are compared, so that nothing is lost: minus zero and NaNs with another payload do not count as fill values.
    """
    values = _decode(transcoding, block)
    chunks = [
        (place, inside)
        for place, inside in _iter_new_chunks(transcoding, block)
        if not _is_filled(np.asarray(values[inside], values.dtype), transcoding.new.fill_value)
    ]
    if not chunks:
        return []
    if transcoding.new_codec is not None and not transcoding.is_checked:
        encoded = [
            (place, _encode_chunk(transcoding, transcoding.new_codec, values[inside])) for place, inside in chunks
        ]
        return [(place, _without_time(data, transcoding.new_codecs)) for place, data in encoded]
    stored = _encode(transcoding, block, values)
    encode = parse_chunk_keys(transcoding.new.chunk_key_encoding.to_dict(), "").encode
    return [(place, _without_time(stored[encode(place)].to_bytes(), transcoding.new_codecs)) for place, _ in chunks]


def _encode_chunk(transcoding: Transcoding, codec: ChunkCodec, pixels: NDArray[Any]) -> bytes:
    """Return an encoded chunk; fill pixels beyond the array's border with the fill value."""
    if pixels.shape != codec.shape:
        inside = pixels
        pixels = np.full(codec.shape, transcoding.new.fill_value, inside.dtype)
        pixels[tuple(slice(0, length) for length in inside.shape)] = inside
    try:
        return bytes(codec.encode(pixels))
    except (MemoryError, ResourceError, UnsupportedError):
        raise
    except Exception as error:  # noqa: BLE001 (codecs may raise any exception)
        raise InexactError(f"{type(error).__name__}: {error}") from None


def _encode(transcoding: Transcoding, block: Block, values: NDArray[Any]) -> dict[str, Any]:
    """Return a block's new encoded chunks, indexed by key; raise `InexactError` if they do not decode to `values`."""
    stored: dict[str, Any] = {}
    target = open_decoded(transcoding.new, stored)
    try:
        target[block.box] = values
        is_kept = not transcoding.is_checked or _is_same(np.asarray(target[block.box], values.dtype), values)
    except (MemoryError, ResourceError, UnsupportedError):
        raise
    except Exception as error:  # noqa: BLE001 (codecs may raise any exception)
        raise InexactError(f"{type(error).__name__}: {error}") from None
    if not is_kept:
        raise InexactError
    return stored


def _decode(transcoding: Transcoding, block: Block) -> NDArray[Any]:
    """Return the pixels of a block; raise `UndecodableError` if a chunk cannot be decoded."""
    values = _decode_by_codec(transcoding.old_codec, transcoding, block)
    if values is None:
        values = _decode_by_zarr(transcoding, block)
    for place in block.missing:
        values[_inside(place, transcoding.old_chunks, block.box)] = transcoding.new.fill_value
    return values


def _decode_by_codec(codec: ChunkCodec | None, transcoding: Transcoding, block: Block) -> NDArray[Any] | None:
    """Return the pixels of a block (undefined for missing chunks); None if only zarr-python can decode the block."""
    if codec is None:
        return None
    values = np.empty([part.stop - part.start for part in block.box], transcoding.old.dtype.to_native_dtype())
    try:
        for place, data in block.chunks.items():
            target = values[_inside(place, transcoding.old_chunks, block.box)]
            chunk = codec.decode_bounded(memoryview(data))
            starts = zip(place, transcoding.old_chunks, block.box, target.shape, strict=True)
            begins = [(max(0, part.start - at * length), extent) for at, length, part, extent in starts]
            target[...] = chunk[tuple(slice(begin, begin + extent) for begin, extent in begins)]
    except Exception:  # noqa: BLE001 (codecs may raise any exception)
        return None
    return values


def _decode_by_zarr(transcoding: Transcoding, block: Block) -> NDArray[Any]:
    from zarr.core.buffer import default_buffer_prototype  # noqa: PLC0415 (see open_transcoding)

    from_bytes = default_buffer_prototype().buffer.from_bytes
    stored = {transcoding.old_keys.encode(place): from_bytes(data) for place, data in block.chunks.items()}
    source = open_decoded(transcoding.old, stored)
    try:
        # For text in an array without dimensions, zarr returns a str; numpy alone would choose a type of its length.
        values = np.asarray(source[block.box], source.dtype)
    except (MemoryError, ResourceError, UnsupportedError):
        raise
    except Exception as error:  # noqa: BLE001 (codecs may raise any exception)
        for place in block.chunks:
            _try_chunk(source, transcoding, place)
        raise UndecodableError(next(iter(block.chunks)), decoding_reason(error)) from None
    return values


def _try_chunk(source: zarr.Array[Any], transcoding: Transcoding, place: Lengths) -> None:
    """Raise `UndecodableError` if a chunk cannot be decoded."""
    box = tuple(slice(at * length, (at + 1) * length) for at, length in zip(place, transcoding.old_chunks, strict=True))
    try:
        source[box]
    except (MemoryError, ResourceError, UnsupportedError):
        raise
    except Exception as error:  # noqa: BLE001 (codecs may raise any exception)
        raise UndecodableError(place, decoding_reason(error)) from None


def _iter_new_chunks(transcoding: Transcoding, block: Block) -> Iterator[tuple[Lengths, tuple[slice, ...]]]:
    """Yield the coordinates of each new chunk of a block, and the chunk's slices in the block."""
    lengths = transcoding.new_chunks
    ranges = [
        range(box.start // length, -(-box.stop // length)) for box, length in zip(block.box, lengths, strict=True)
    ]
    for place in itertools.product(*ranges):
        yield place, _inside(place, lengths, block.box)


def _inside(place: Lengths, lengths: Lengths, block: tuple[slice, ...]) -> tuple[slice, ...]:
    """Return the part of a block that a chunk covers, as slices."""
    return tuple(
        slice(max(0, at * length - box.start), min((at + 1) * length, box.stop) - box.start)
        for at, length, box in zip(place, lengths, block, strict=True)
    )


def _is_filled(values: NDArray[Any], fill: Any) -> bool:
    filled = np.asarray(fill, values.dtype)
    # The first pixel decides for most chunks.
    first = np.asarray(values[(slice(0, 1),) * values.ndim], values.dtype)
    if not _is_same(first, filled):
        return False
    return _is_same(values, filled)


def _is_same(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Return whether two arrays have equal bits; the second array may be a single value."""
    return bool((_bits(first) == _bits(np.asarray(second, first.dtype))).all())


def _bits(values: NDArray[Any]) -> NDArray[Any]:
    size = values.dtype.itemsize
    if values.dtype.kind in "OTUS":  # text: equal values have equal bits
        return values
    return values.view(f"u{size}" if size in (1, 2, 4, 8) else f"V{size}")


def _without_time(data: bytes, codecs: tuple[str, ...]) -> bytes:
    """Return an encoded chunk with the time in its gzip header set to zero.

    RFC 1952, "Member header and trailer": MTIME is bytes 4 to 7; 0 means no time.
    """
    if codecs[-1] in _GZIP:
        return data[:4] + bytes(4) + data[8:]
    if len(codecs) > 1 and codecs[-2] in _GZIP:  # a crc32c follows
        return with_checksum(data[:4] + bytes(4) + data[8:-4])
    return data


def open_decoded(metadata: Any, stored: dict[str, Any]) -> zarr.Array[Any]:
    """Return a zarr array that reads stored values from a dictionary; a value larger than a chunk raises an error."""
    import zarr  # noqa: PLC0415 (see open_transcoding)
    from zarr.storage import MemoryStore, StorePath  # noqa: PLC0415

    from ozx.flow.decoding.bounded_arrays import bound_array  # noqa: PLC0415 (see open_transcoding)

    # ozx itself finds the chunks that hold only fill values, because zarr treats all NaNs as equal.
    opened: zarr.Array[Any] = bound_array(
        zarr.Array(zarr.AsyncArray(metadata, StorePath(MemoryStore(stored)), config={"write_empty_chunks": True}))
    )
    return opened


def parse_metadata(document: Document, where: str) -> Any:
    """Return zarr-python's metadata of an array."""
    import zarr  # noqa: PLC0415 (see open_transcoding)
    from zarr.core.buffer import default_buffer_prototype  # noqa: PLC0415
    from zarr.storage import MemoryStore  # noqa: PLC0415

    lengths = document.get("shape")
    if isinstance(lengths, list) and any(type(length) is int and length > _LONGEST for length in lengths):
        raise UnsupportedError(f"{where}: expected at most 2**53 pixels along each dimension; found more")
    version: Literal[2, 3] = 2 if document.get("zarr_format") == 2 else 3
    data = default_buffer_prototype().buffer.from_bytes(json.dumps(document).encode())
    try:
        # zarr-python warns of unregistered extensions; ozx has already reported them.
        with warnings.catch_warnings(action="ignore"):
            store = MemoryStore({".zarray" if version == 2 else METADATA: data})
            metadata = zarr.open_array(store, mode="r", zarr_format=version).metadata
    except Exception as error:  # noqa: BLE001 (zarr-python may raise any exception for an unexpected document)
        missing = missing_codec(error, where)
        message = f"{where}: expected an array that zarr-python can open; its error: {words_of(error)}"
        raise missing or UnsupportedError(message) from None
    check_codecs_installed(metadata, where)
    return metadata

"""Transcode the chunks of one block, in a thread or in another process; no file is read here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.codecs.bounded import decoding_reason
from ozx.codecs.chunk_codecs import checksum, same_bits
from ozx.codecs.pixel_codec import PixelCodec, open_codec
from ozx.errors import ResourceError, UnsupportedError
from ozx.ome.relayout.codec_choice import is_exact
from ozx.zarr.codecs import parse_codecs
from ozx.zarr.json_reading import Document
from ozx.zarr.layout import relayout_document

Lengths = tuple[int, ...]

_GZIP = ("gzip", "numcodecs.gzip")


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A block of pixels that is transcoded in one task."""

    box: tuple[slice, ...]  # the region of the pixels
    spans: tuple[Mapping[int, slice], ...]  # the pixels of old chunks along each dimension, by coordinate
    chunks: Mapping[Lengths, bytes]  # the stored old chunks of the block by their coordinates
    missing: tuple[Lengths, ...] = ()  # coordinates of the block's old chunks that are not stored


class UndecodableError(Exception):
    """Error for a chunk that cannot be decoded; `args` contains the chunk's coordinates and the reason."""


#: Returns the new chunks of a block with their coordinates; omits chunks that hold only fill values. It can be pickled.
Transcode = Callable[[StoredBlock], list[tuple[Lengths, bytes]]]


def open_transcoding(old: Document, new: Document, path: str) -> Transcode:
    """Return the function that converts the blocks of an array from one ``zarr.json`` document to another."""
    from ozx.codecs.codec_support import zarr_understands  # noqa: PLC0415 (loads zarr, half a second)

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
    decoder, encoder = open_codec(old, path), open_codec(plain, path)
    return partial(_transcode, decoder, encoder, names, path, is_checked=not is_exact(plain))


def _transcode(
    old: PixelCodec, new: PixelCodec, names: tuple[str, ...], path: str, block: StoredBlock, *, is_checked: bool
) -> list[tuple[Lengths, bytes]]:
    """Return the new chunks of a block; raise `UnsupportedError` if a chunk does not decode to its pixels.

    `names` are those of the new codecs. With `is_checked`, every chunk is decoded again and compared.
    """
    values = _decode(old, block, new.fill_value)
    places, insides = zip(*_iter_new_chunks(new.shape, block), strict=True)
    pieces = [np.asarray(values[inside], values.dtype) for inside in insides]
    try:
        encoded = new.encode(pieces)
        is_kept = not is_checked or _is_kept(new, encoded, pieces)
    except (MemoryError, ResourceError, UnsupportedError):
        raise
    except Exception as error:  # noqa: BLE001 (codecs may raise any exception)
        raise _inexact(names, path, f" ({type(error).__name__}: {error})") from None
    if not is_kept:
        raise _inexact(names, path)
    found = zip(places, encoded, strict=True)
    return [(place, _without_time(data, names)) for place, data in found if data is not None]


def _inexact(names: tuple[str, ...], path: str, reason: str = "") -> UnsupportedError:
    return UnsupportedError(
        f"{path or 'the root'}: expected codecs that keep every value; the chain {', '.join(names)} changes "
        f"values{reason}",
        hint="Keep the chunk shape and the codec: the chunks are then copied without decoding."
        if "transpose" in names
        else "Choose another codec to replace this chain.",
    )


def _is_kept(codec: PixelCodec, encoded: list[bytes | None], pieces: list[NDArray[Any]]) -> bool:
    """Return whether encoded chunks decode to the same bits."""
    kept = [(data, pixels) for data, pixels in zip(encoded, pieces, strict=True) if data is not None]
    decoded = zip(codec.iter_decoded([data for data, _ in kept]), kept, strict=True)
    return all(
        same_bits(np.asarray(found[tuple(map(slice, pixels.shape))], pixels.dtype), pixels)
        for found, (_, pixels) in decoded
    )


def _decode(codec: PixelCodec, block: StoredBlock, fill_value: Any) -> NDArray[Any]:
    """Return the pixels of a block; raise `UndecodableError` if a chunk cannot be decoded."""
    values = np.empty([part.stop - part.start for part in block.box], codec.dtype)
    for shape, places in _by_shape(block):
        chunks = codec.of_shape(shape).iter_decoded([block.chunks[place] for place in places])
        for place in places:
            try:
                chunk = next(chunks)
            except (MemoryError, ResourceError, UnsupportedError):
                raise
            except Exception as error:  # noqa: BLE001 (codecs may raise any exception)
                raise UndecodableError(place, decoding_reason(error)) from None
            pixels = _pixels(block, place)
            values[_inside(pixels, block.box)] = chunk[_inside(pixels, block.box, is_in_chunk=True)]
    for place in block.missing:
        values[_inside(_pixels(block, place), block.box)] = fill_value
    return values


def _by_shape(block: StoredBlock) -> Iterable[tuple[Lengths, list[Lengths]]]:
    """Return the coordinates of a block's stored chunks by their lengths, which a rectilinear grid has several of."""
    found: dict[Lengths, list[Lengths]] = {}
    for place in block.chunks:
        shape = tuple(pixels.stop - pixels.start for pixels in _pixels(block, place))
        found.setdefault(shape, []).append(place)
    return found.items()


def _pixels(block: StoredBlock, place: Lengths) -> tuple[slice, ...]:
    return tuple(span[at] for span, at in zip(block.spans, place, strict=True))


def _iter_new_chunks(lengths: Lengths, block: StoredBlock) -> Iterator[tuple[Lengths, tuple[slice, ...]]]:
    """Yield the coordinates of each new chunk of a block, and the chunk's slices in the block."""
    ranges = [
        range(box.start // length, -(-box.stop // length)) for box, length in zip(block.box, lengths, strict=True)
    ]
    for place in itertools.product(*ranges):
        chunk = tuple(slice(at * length, (at + 1) * length) for at, length in zip(place, lengths, strict=True))
        yield place, _inside(chunk, block.box)


def _inside(chunk: tuple[slice, ...], block: tuple[slice, ...], *, is_in_chunk: bool = False) -> tuple[slice, ...]:
    """Return the part of a block that a chunk covers as slices of the block, or as slices of the chunk."""
    parts = []
    for pixels, box in zip(chunk, block, strict=True):
        origin = pixels.start if is_in_chunk else box.start
        parts.append(slice(max(pixels.start, box.start) - origin, min(pixels.stop, box.stop) - origin))
    return tuple(parts)


def _without_time(data: bytes, codecs: tuple[str, ...]) -> bytes:
    """Return an encoded chunk with the time in its gzip header set to zero.

    RFC 1952, "Member header and trailer": MTIME is bytes 4 to 7; 0 means no time.
    """
    if codecs[-1] in _GZIP:
        return data[:4] + bytes(4) + data[8:]
    if len(codecs) > 1 and codecs[-2] in _GZIP:  # a crc32c follows
        data = data[:4] + bytes(4) + data[8:-4]
        return data + checksum(data)
    return data

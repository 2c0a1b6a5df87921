"""Read the stored values of an array, also zlib streams as gzip; group the keys of a hierarchy by array."""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import filterfalse, groupby
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ozx.errors import FormatError, UnsupportedError
from ozx.flow.entry import LazyPart, Part, read_part
from ozx.flow.read_ahead import place_of
from ozx.flow.sources.source import Source
from ozx.zarr.keys import is_metadata_key, paths_above
from ozx.zarr.layout import ArrayLayout

_NONE: NDArray[np.int64] = np.empty(0, np.int64)
# RFC 1950: 2 bytes of header and 4 of Adler-32; RFC 1952: 10 of header, CRC-32 and size.
_LONGER = (10 + 8) - (2 + 4)


@dataclass(frozen=True, slots=True)
class StoredChunks:
    """The stored values (shards or chunks) of one array, indexed by number.

    The number is the position in the grid of the values in C order.

    `parts` returns the undecoded values of several numbers. It may create the bytes of a value when they are read, if
    each part knows its length. Unsharded chunks that go into one new shard are requested together. For a sharded array,
    `parts` returns `ozx.flow.entry.Span` objects, because single chunks of a shard are read.
    """

    numbers: NDArray[np.int64]  # the numbers of the stored values, ascending
    name: Callable[[int], str]  # returns the key of a value, for messages
    parts: Callable[[Sequence[int]], list[Part]]


def chunks_of_source(source: Source, path: str, layout: ArrayLayout, numbers: NDArray[np.int64]) -> StoredChunks:
    """Return the stored values of the array at `path` in a source; its chunk keys are those of `layout`."""
    prefix, encode = f"{path}/" if path else "", layout.keys.encode

    def keys(numbers: Sequence[int]) -> list[str]:
        return [prefix + encode(place) for place in places_of(numbers, layout.stored_grid)]

    return StoredChunks(numbers, lambda number: keys([number])[0], lambda numbers: source.parts(keys(numbers)))


def as_gzip(stored: StoredChunks) -> StoredChunks:
    """Return the stored values of an array of zlib streams; each is converted to gzip when it is read."""

    def parts(numbers: Sequence[int]) -> list[Part]:
        found = zip(numbers, stored.parts(numbers), strict=True)
        return [_reframed(stored.name(number), part) for number, part in found]

    return replace(stored, parts=parts)


def _reframed(key: str, part: Part) -> Part:
    """Return a zlib stream as gzip, converted when it is read."""
    # An empty chunk is corrupt; it stays empty, so that the fault is noticed.
    length = part.length and part.length + _LONGER
    place = partial(place_of, part, partial(_reframed, key))
    return LazyPart(length, partial(_iter_reframed, key, part, length), place)


def _iter_reframed(key: str, part: Part, length: int) -> Iterator[bytes]:
    try:
        data = zlib_to_gzip(read_part(part))
    except FormatError as error:
        raise FormatError(f"{key}: {error.message}", rule=error.rule, hint=error.hint) from None
    if len(data) != length:
        raise FormatError(
            f"{key}: expected one zlib stream; found {length - len(data):,} bytes after its end",
            rule="zarr/chunk-data",
            hint="Repack with a codec, which decodes the chunks.",
        )
    yield data


@dataclass(slots=True)
class KeyGroup:
    """Consecutive keys that belong to one array, or to no array."""

    path: str | None  # path of the array; None for keys of no array
    # The numbers of the array's stored values, ascending.
    numbers: NDArray[np.int64] = field(default_factory=lambda: _NONE)
    # Chunk keys outside of the array's grid, left over after the array was shrunk; readers ignore these chunks.
    outside: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # keys that are no chunk keys


def iter_key_groups(keys: Iterable[str], layouts: Mapping[str, ArrayLayout]) -> Iterator[KeyGroup]:
    """Yield the data keys of a hierarchy in order, grouped by array; skip metadata keys.

    `keys`: all keys in hierarchy order, so that those of an array are adjacent.
    """

    @lru_cache(maxsize=1)  # most keys are in the folder of the key before
    def find_array(folder: str) -> str | None:
        return next((path for path in (folder, *paths_above(folder)) if path in layouts), None)

    data_keys = filterfalse(is_metadata_key, keys)
    for path, those in groupby(data_keys, lambda key: find_array(key.rpartition("/")[0])):
        yield _group(path, those, None if path is None else layouts[path])


def places_of(numbers: Sequence[int] | NDArray[np.int64], grid: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the coordinates of chunks in a grid from their numbers."""
    if not grid:
        return [()] * len(numbers)
    columns = np.unravel_index(np.asarray(numbers, np.int64), grid)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different numbers, ascending, without `numpy.unique`: it loads `numpy.ma`, which takes 20 to 80 ms."""
    ordered = np.sort(numbers)
    is_repeated = np.zeros(len(ordered), bool)
    is_repeated[1:] = ordered[1:] == ordered[:-1]
    return ordered[~is_repeated].astype(np.int64, copy=False)


def _group(path: str | None, keys: Iterable[str], layout: ArrayLayout | None) -> KeyGroup:
    if layout is None:
        return KeyGroup(path, others=list(keys))
    group, numbers = KeyGroup(path), array("q")
    grid, decode, start = layout.stored_grid, layout.keys.decode, len(path) + 1 if path else 0
    for key in keys:
        place = decode(key[start:], len(grid))
        if place is None:
            group.others.append(key)
            continue
        number = 0
        for position, length in zip(place, grid, strict=True):
            if position >= length:
                group.outside.append(key)
                break
            number = number * length + position
        else:
            numbers.append(number)
    group.numbers = np.sort(np.array(numbers, np.int64))
    return group


fast_zlib: ModuleType = zlib
try:
    from isal import isal_zlib
except ImportError:  # no wheel for this machine: zlib has the same functions, slower
    pass
else:
    fast_zlib = isal_zlib

# Deflate, no optional field, no time, no statement on effort (XFL) and file system (OS): the same bytes everywhere.
_GZIP_HEADER = b"\x1f\x8b\x08\x00" + bytes(4) + b"\x00\xff"
_HAS_DICTIONARY = 0x20
_CHECKSUM_LENGTH = 4
# Limits the output of one step: inflated data are at most 1,032 times as long.
_SLICE = 1 << 16


def zlib_to_gzip(data: bytes | memoryview) -> bytes:
    """Return a gzip member with the same deflate stream as a zlib stream.

    The stream is inflated once to compute the CRC-32 and the length for gzip, and to check the stream by its Adler-32.
    Bytes behind the stream are dropped: readers of zlib ignore them, readers of gzip do not.
    """
    view = memoryview(data)
    _check_header(view)
    decoder = fast_zlib.decompressobj()
    crc, size = 0, 0
    start = 0
    try:
        while start < len(view) and not decoder.eof:
            block = decoder.decompress(view[start : start + _SLICE])
            crc, size = fast_zlib.crc32(block, crc), size + len(block)
            start += _SLICE
    except fast_zlib.error as error:
        raise FormatError(f"expected a chunk compressed by zlib; it is damaged: {error}") from None
    if not decoder.eof:
        raise FormatError(f"expected a chunk compressed by zlib; it is truncated after {len(view):,} bytes")
    end = min(start, len(view)) - len(decoder.unused_data) - _CHECKSUM_LENGTH
    return b"".join((_GZIP_HEADER, view[2:end], struct.pack("<2I", crc, size & 0xFFFFFFFF)))


def _check_header(view: memoryview) -> None:
    # RFC 1950, 2.2: method 8 is deflate; the two bytes are a multiple of 31.
    if len(view) < 2 or view[0] & 0x0F != 8 or view[0] >> 4 > 7 or int.from_bytes(view[:2], "big") % 31:
        raise FormatError(f"expected a chunk compressed by zlib; it begins with 0x{bytes(view[:2]).hex()}")
    if view[1] & _HAS_DICTIONARY:
        raise UnsupportedError(
            "the zlib chunk has a preset dictionary, which gzip does not support",
            hint="Compress the array without the dictionary.",
        )

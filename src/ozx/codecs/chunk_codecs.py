"""Encode and decode chunks in any thread, for codec chains that do not need zarr-python.

The same pixels give the same bytes. This module does not load zarr.
"""

from __future__ import annotations

import threading
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import prod
from typing import Any

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from ozx.codecs.bounded import BOUNDED, OversizeError, check_blosc_header, decompress
from ozx.codecs.bounded_filters import largest_stored
from ozx.errors import FormatError, UnsupportedError
from ozx.zarr.codecs import CHECKSUM_BYTES, SHARDING, NamedExtension, parse_named
from ozx.zarr.layout import IndexFormat, parse_index_format

# Booleans, numbers and times: types whose values are stored directly as bytes.
_PLAIN_KINDS = frozenset("biufcmM")
#: Decoding or encoding a larger chunk alone takes no longer than with others.
SMALL_CHUNK = 1 << 16
#: Bytes of pixels of small chunks that are decoded by one call or copied at once; they stay in the processor's cache.
TOGETHER = 1 << 18
# The effort of decoding a byte: copying, blosc; other compressors need more.
_EFFORTS = {"": 2, "blosc": 5}
#: The only order of zarr-python before 3.4, and the default since then.
MORTON = "morton"
#: The numbers of c-blosc for the names of shuffles.
BLOSC_SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
_TEXT_KINDS = "OTUS"
# RFC 1952, "Member header and trailer": XFL of the slowest and the fastest compression; OS 255 is unknown.
_GZIP_SPEEDS, _UNKNOWN_SYSTEM = {9: 2, 1: 4}, 255

Lengths = tuple[int, ...]
Allocate = Callable[[int], NDArray[np.uint8]]


@dataclass(frozen=True, slots=True)
class ChunkCodec:
    """The decoder and encoder of chunks of one shape."""

    shape: Lengths  # the shape of the decoded chunk
    dtype: np.dtype[Any]  # the data type with the byte order in which it is stored
    order: Lengths  # the axes of the chunk in the order in which they are stored
    # The configuration of the compressor, as for `decompress_into`; None if the chunks are not compressed.
    compressor: dict[str, Any] | None = None
    checksums_inside: int = 0  # numbers of CRC-32C checksums that are added before and after compression
    checksums_outside: int = 0
    # Function that compresses as zarr-python would; None if the chunks are not compressed.
    encoder: Callable[[memoryview], Any] | None = field(default=None, compare=False)
    size: int = field(init=False)  # length of the decoded chunk in bytes
    # The position of each axis of the chunk in the order in which the axes are stored.
    inverse: Lengths = field(init=False)
    is_transposed: bool = field(init=False)
    stored_shape: Lengths = field(init=False)
    most_stored: int = field(init=False)  # the maximal length of the stored chunk
    effort: int = field(init=False)  # the time to decode a chunk, very roughly, in units of 0.1 ns
    is_joinable: bool = field(init=False)  # whether a chunk is a small frame of zstd, and may be decoded with others

    def __post_init__(self) -> None:
        object.__setattr__(self, "inverse", tuple(int(axis) for axis in np.argsort(self.order)))
        object.__setattr__(self, "is_transposed", self.inverse != tuple(range(len(self.shape))))
        object.__setattr__(self, "stored_shape", tuple(self.shape[axis] for axis in self.order))
        object.__setattr__(self, "size", prod(self.shape) * self.dtype.itemsize)
        object.__setattr__(self, "most_stored", largest_stored(self.size))
        name = self.compressor["id"] if self.compressor else ""
        object.__setattr__(self, "effort", self.size * _EFFORTS.get(name, 25))
        is_small = 0 < self.size <= SMALL_CHUNK and not self.checksums_inside
        object.__setattr__(self, "is_joinable", name == "zstd" and is_small)

    @property
    def is_raw(self) -> bool:
        """Whether the stored bytes are the uncompressed pixels."""
        return self.compressor is None and not self.checksums_outside

    def decode_into(self, data: memoryview, target: NDArray[Any]) -> None:
        """Decode a chunk into `target`, an array of the chunk's shape."""
        stored_view = target.transpose(self.order) if self.is_transposed else target
        is_exact = not self.checksums_inside and target.dtype == self.dtype
        if self.compressor and is_exact and stored_view.flags.c_contiguous:
            decompress_into(self.compressor, self.without_checksums(data), stored_view.reshape(-1).view(np.uint8))
        else:
            stored_view[...] = self._decode_stored(data)

    def put(self, inside: tuple[slice, ...] | None, target: NDArray[Any], data: memoryview) -> None:
        """Decode a chunk, and copy its part `inside`, or the whole chunk, to the target."""
        if inside is None:
            self.decode_into(data, target)
        else:
            target[...] = self.decode(data)[inside]

    def decode(self, data: memoryview) -> NDArray[Any]:
        """Return a decoded chunk; it is valid until this thread decodes another chunk."""
        pixels = self._decode_stored(data)
        return pixels.transpose(self.inverse) if self.is_transposed else pixels

    def decode_bounded(self, data: memoryview) -> NDArray[Any]:
        """Decode a chunk after checking the length of its stored bytes."""
        if len(data) > self.most_stored:
            raise ValueError(f"expected at most {self.most_stored:,} bytes; it has {len(data):,}")
        return self.decode(data)

    def encode(self, pixels: NDArray[Any], allocate: Allocate) -> memoryview:
        """Return an encoded chunk; without a compressor it may share memory with `pixels`, or be from `allocate`."""
        stored = pixels.transpose(self.order)
        if stored.flags.c_contiguous and stored.dtype == self.dtype:
            return self.encode_stored(stored.reshape(-1).view(np.uint8).data)
        octets = allocate(self.size)
        octets.view(self.dtype).reshape(self.stored_shape)[...] = stored
        return self.encode_stored(octets.data)  # which keeps this array, not only its memory

    def encode_stored(self, data: memoryview) -> memoryview:
        """Encode a chunk whose pixels have the stored order and byte order."""
        for _ in range(self.checksums_inside):
            data = memoryview(b"".join((data, checksum(data))))
        if self.encoder is not None:
            data = memoryview(self.encoder(data)).cast("B")
        for _ in range(self.checksums_outside):
            data = memoryview(b"".join((data, checksum(data))))
        return data

    def encode_unless_filled(
        self, pixels: NDArray[Any], fill_value: Any, allocate: Allocate | None = None
    ) -> memoryview | None:
        """Return an encoded chunk; None if every pixel has the bits of the fill value, as minus zero has not.

        `pixels` may end at the edge of the array. Without a compressor, the result is a view of memory from `allocate`;
        by default it is valid until this thread encodes or decodes another chunk.
        """
        pixels = pixels.transpose(self.order) if self.is_transposed else pixels
        is_plain = self.encoder is None
        length = self.size + (CHECKSUM_BYTES * self.checksums_outside if is_plain else 0)
        memory = allocate if is_plain and allocate is not None else scratch
        is_whole = pixels.shape == self.stored_shape
        is_ready = is_whole and pixels.dtype == self.dtype and pixels.flags.c_contiguous
        if is_ready and length == self.size and memory is scratch:
            octets = pixels.reshape(-1).view(np.uint8)
        else:
            octets = memory(length)
            chunk = octets[: self.size].view(self.dtype).reshape(self.stored_shape)
            if not is_whole:
                chunk[...] = fill_value
            chunk[tuple(map(slice, pixels.shape))] = pixels
        fill = np.asarray(fill_value, self.dtype.newbyteorder("=")).astype(self.dtype)
        if is_filled(octets[: self.size].view(self.dtype), fill):
            return None
        if not is_plain:
            return self.encode_stored(octets.data)
        for end in range(self.size, length, CHECKSUM_BYTES):
            octets[end : end + CHECKSUM_BYTES] = np.frombuffer(checksum(octets[:end]), np.uint8)
        return octets.data

    def encode_all_unless_filled(self, pixels: NDArray[Any], fill_value: Any) -> Iterator[bytes | None]:
        """Yield what `encode_unless_filled` returns for each chunk of an array of whole chunks, in C order.

        Many small chunks are copied at once, because numpy needs as long for each copy as for 10 KB.
        """
        grid = self.grid_of(pixels)
        *rows, length = grid.shape[: pixels.ndim]
        count = max(1, TOGETHER // self.size)
        for row, first in product(np.ndindex(*rows), range(0, length, count)):
            part = grid[row][first : first + count]
            octets = scratch(len(part) * self.size)
            chunks = octets.view(self.dtype).reshape(part.shape)
            chunks[...] = part
            missing = filled_chunks(chunks, fill_value)
            # A list, since the caller may use this thread's scratch memory between two chunks.
            yield from [
                None if is_missing else bytes(self.encode_stored(octets.data[start : start + self.size]))
                for start, is_missing in zip(range(0, octets.size, self.size), missing, strict=True)
            ]

    def grid_of(self, pixels: NDArray[Any]) -> NDArray[Any]:
        """Return a view of whole chunks: the axes of their grid, then those of a stored chunk."""
        counts = [length // part for length, part in zip(pixels.shape, self.shape, strict=True)]
        parts = pixels.reshape([length for pair in zip(counts, self.shape, strict=True) for length in pair])
        return parts.transpose([2 * axis for axis in range(pixels.ndim)] + [2 * axis + 1 for axis in self.order])

    def _decode_stored(self, data: memoryview) -> NDArray[Any]:
        """Decode a chunk without transposing its axes back."""
        if self.checksums_outside:
            data = self.without_checksums(data)
        if self.compressor is not None:
            decoded = scratch(self.size + CHECKSUM_BYTES * self.checksums_inside)
            decompress_into(self.compressor, data, decoded)
            if not self.checksums_inside:
                return decoded.view(self.dtype).reshape(self.stored_shape)
            data = _without_checksums(decoded.data, self.checksums_inside)
        if len(data) != self.size:
            raise ValueError(f"expected {self.size:,} bytes; found {len(data):,}")
        return np.frombuffer(data, self.dtype).reshape(self.stored_shape)

    def without_checksums(self, data: memoryview) -> memoryview:
        """Return the stored bytes of a chunk without the checksums at their end, which are verified."""
        return _without_checksums(data, self.checksums_outside) if self.checksums_outside else data


@dataclass(frozen=True, slots=True, eq=False)
class ShardCodec:
    """The layout of shards of one shape, with the codec of the inner chunks; hashed by identity, which is quick."""

    shape: Lengths  # the shape of the decoded shard
    grid: Lengths  # number of inner chunks along each axis
    inner: ChunkCodec | ShardCodec  # the codec of its inner chunks
    index: IndexFormat  # the format of its index
    write_order: str = MORTON  # the order of inner chunks in a new shard, as zarr-python names it
    size: int = field(init=False)  # length of the decoded shard in bytes
    most_stored: int = field(init=False)  # the maximal length of the stored shard
    effort: int = field(init=False)  # the time to decode a shard

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", prod(self.grid) * self.inner.size)
        object.__setattr__(self, "most_stored", largest_stored(self.size, is_shard=True))
        object.__setattr__(self, "effort", prod(self.grid) * self.inner.effort)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type of the stored pixels."""
        return self.inner.dtype


def codec_document(codec: Any) -> Any:
    """Return the metadata of a codec of zarr-python, with the order of inner chunks that zarr-python 3.4 keeps."""
    document = codec.to_dict()
    if not hasattr(codec, "subchunk_write_order"):
        return document
    inside = {"codecs": [codec_document(inner) for inner in codec.codecs], "write_order": codec.subchunk_write_order}
    return {**document, "configuration": {**document["configuration"], **inside}}


def compile_codecs(codecs: Sequence[Any], shape: Lengths, dtype: np.dtype[Any]) -> ChunkCodec | ShardCodec | None:
    """Return the codec for a chain of codecs as in metadata, or None if only zarr-python can decode the chain."""
    named = [parse_named(codec) for codec in codecs]
    if dtype.kind not in _PLAIN_KINDS or None in named:
        return None
    chain = [codec for codec in named if codec is not None]
    if len(chain) == 1 and chain[0].name == SHARDING:
        return _compile_shard(chain[0].configuration, shape, dtype)
    return _compile_chunk(chain, shape, dtype)


def compile_v2(
    compressor: dict[str, Any] | None, filters: Any, order: str, shape: Lengths, dtype: np.dtype[Any]
) -> ChunkCodec | None:
    """Return the decoder of an array of Zarr v2, or None if only zarr-python can decode the chunks."""
    if dtype.kind not in _PLAIN_KINDS or filters or (compressor is not None and compressor["id"] not in BOUNDED):
        return None
    axes = tuple(range(len(shape)))
    return ChunkCodec(tuple(shape), dtype, axes[::-1] if order == "F" else axes, compressor)


def _compile_shard(configuration: dict[str, Any], shape: Lengths, dtype: np.dtype[Any]) -> ShardCodec | None:
    inner_shape = tuple(configuration["chunk_shape"])
    inner = compile_codecs(configuration["codecs"], inner_shape, dtype)
    if inner is None or any(outer % length for outer, length in zip(shape, inner_shape, strict=True)):
        return None
    try:
        form = parse_index_format({**configuration, "index_codecs": list(configuration["index_codecs"])}, "")
    except (FormatError, UnsupportedError):
        return None
    grid = tuple(outer // length for outer, length in zip(shape, inner_shape, strict=True))
    return ShardCodec(tuple(shape), grid, inner, form, configuration.get("write_order", MORTON))


def _compile_chunk(codecs: Sequence[NamedExtension], shape: Lengths, dtype: np.dtype[Any]) -> ChunkCodec | None:
    order = tuple(range(len(shape)))
    stored: np.dtype[Any] | None = None
    compressor: dict[str, Any] | None = None
    inside = outside = 0
    for codec in codecs:
        name = codec.name.removeprefix("numcodecs.")
        if codec.name == "transpose" and stored is None:
            order = tuple(order[axis] for axis in codec.configuration["order"])
        elif codec.name == "bytes" and stored is None:
            stored = dtype.newbyteorder(codec.configuration.get("endian") or "=")
        elif name in BOUNDED and stored is not None and compressor is None:
            compressor = {**codec.configuration, "id": name}
        elif codec.name == "crc32c" and stored is not None:
            inside, outside = (inside + 1, outside) if compressor is None else (inside, outside + 1)
        else:
            return None
    if stored is None:
        return None
    if compressor is None:
        return ChunkCodec(tuple(shape), stored, order, None, 0, inside)
    return ChunkCodec(tuple(shape), stored, order, compressor, inside, outside, _encoder(compressor))


def decompress_into(config: dict[str, Any], data: memoryview, out: NDArray[np.uint8]) -> None:
    """Fill `out` with the decoded data; write nothing beyond its end."""
    import imagecodecs  # noqa: PLC0415 (15 ms)

    codecs: Any = imagecodecs  # its type hints omit arrays and views
    name = config["id"]
    if name == "zstd" and len(data):
        try:
            length = codecs.zstd_decode(data, out=out).size
        except RuntimeError as error:
            if "too small" in str(error):
                raise OversizeError(f"expected {out.size:,} bytes; the data decode to more") from error
            raise ValueError(f"damaged zstd data: {error}") from error
    elif name == "blosc":
        try:
            check_blosc_header(data, out.size)
            length = codecs.blosc_decode(data, out=out, numthreads=1).size
        except (RuntimeError, EOFError) as error:
            raise ValueError(f"damaged blosc data: {error}") from error
    else:
        found = decompress(config, data, out.size)
        length = len(found)
        out[:length] = np.frombuffer(found, np.uint8)
    if length != out.size:
        raise ValueError(f"expected {out.size:,} bytes; the data decode to {length:,}")


def _encoder(config: dict[str, Any]) -> Callable[[memoryview], Any]:
    settings = dict(config)
    if config["id"] == "zstd" and not settings.get("checksum"):
        return partial(_encode_zstd, level=settings.get("level", 0))
    if config["id"] == "gzip":
        return partial(_encode_gzip_like_python, level=settings.get("level", 1))
    import numcodecs  # noqa: PLC0415 (0.1 s)

    if "shuffle" in settings and config["id"] == "blosc":
        settings["shuffle"] = BLOSC_SHUFFLES.get(str(settings["shuffle"]), settings["shuffle"])
    found = numcodecs.get_codec(settings)
    return partial(_encode_blosc, found, settings.get("typesize")) if config["id"] == "blosc" else found.encode


def _encode_blosc(codec: Any, typesize: int | None, data: memoryview) -> Any:
    """Compress as ``codec.encode`` does, without its steps around, which take as long for small chunks."""
    from numcodecs import blosc  # noqa: PLC0415 (0.1 s)

    if len(data) > codec.max_buffer_size:
        return codec.encode(data)  # raises its error
    return blosc.compress(data, codec.cname.encode(), codec.clevel, codec.shuffle, codec.blocksize, typesize)


def _encode_zstd(data: memoryview, level: int) -> Any:
    """Compress to the same bytes as numcodecs, in three quarters of the time."""
    import imagecodecs  # noqa: PLC0415 (15 ms)

    codecs: Any = imagecodecs  # its type hints omit arrays and views
    return codecs.zstd_encode(data, level=level)


def encode_gzip(data: memoryview, level: int) -> bytes:
    """Return a gzip file; zlib writes MTIME 0, "no time stamp is available" (RFC 1952)."""
    compressor = zlib.compressobj(level, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


def _encode_gzip_like_python(data: memoryview, level: int) -> bytes:
    """Return a gzip file with the header that Python, and so numcodecs, writes on every system."""
    found = encode_gzip(data, level)
    return found[:8] + bytes((_GZIP_SPEEDS.get(level, 0), _UNKNOWN_SYSTEM)) + found[10:]


def is_filled(values: NDArray[Any], fill: NDArray[Any]) -> bool:
    """Return whether every value has the bits of `fill`, a single value of the same type."""
    # The first value decides for most chunks.
    if not same_bits(np.asarray(values[(slice(0, 1),) * values.ndim], values.dtype), fill):
        return False
    return same_bits(values, fill)


def same_bits(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Return whether two arrays of a type have equal bits; the second array may be a single value."""
    return bool((_bits(first) == _bits(second)).all())


def _bits(values: NDArray[Any]) -> NDArray[Any]:
    size = values.dtype.itemsize
    if values.dtype.kind in _TEXT_KINDS:  # equal texts have equal bits
        return values
    return values.view(f"u{size}" if size in (1, 2, 4, 8) else f"V{size}")


def filled_chunks(chunks: NDArray[Any], fill_value: Any) -> list[bool]:
    """Return for each chunk of an array of chunks whether every pixel has the bits of the fill value."""
    fill = np.asarray(fill_value, chunks.dtype.newbyteorder("=")).astype(chunks.dtype)
    firsts, bits, size = chunks.reshape(len(chunks), -1)[:, 0].tobytes(), fill.tobytes(), chunks.dtype.itemsize
    if bits not in firsts:
        return [False] * len(chunks)
    return [
        firsts[number * size : number * size + size] == bits and is_filled(chunk, fill)
        for number, chunk in enumerate(chunks)
    ]


def checksum(data: Any) -> bytes:
    """Return the four bytes of the Zarr codec ``crc32c`` for some data."""
    return int(google_crc32c.value(np.frombuffer(data, np.uint8))).to_bytes(CHECKSUM_BYTES, "little")


def _without_checksums(data: memoryview, count: int) -> memoryview:
    """Return the data without `count` trailing checksums, each over all bytes before it (Zarr codec ``crc32c``)."""
    for _ in range(count):
        data, stored = data[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
        if checksum(data) != stored:
            raise ValueError("its CRC-32C differs from the stored CRC-32C")
    return data


# Memory for chunks that is used again, because new memory pages cost as much time as copying or decoding.

# A larger buffer is given back to the system after its use.
_LARGEST_KEPT = 4 << 20
# The least length of a buffer of encoded chunks that is used again, and the most bytes that wait for it, by length.
_SMALLEST_KEPT, _MOST_FREE = 1 << 16, 32 << 20

_kept = threading.local()
_free: dict[int, deque[NDArray[np.uint8]]] = {
    1 << bits: deque(maxlen=_MOST_FREE >> bits)
    for bits in range(_SMALLEST_KEPT.bit_length() - 1, _LARGEST_KEPT.bit_length())
}


def scratch(size: int) -> NDArray[np.uint8]:
    """Return a buffer that this thread reuses for each chunk."""
    buffer: NDArray[np.uint8] | None = getattr(_kept, "buffer", None)
    if buffer is None or buffer.size < size:
        buffer = np.empty(size, np.uint8)
        _kept.buffer = buffer if size <= _LARGEST_KEPT else None
    return buffer[:size]


def take_buffer(size: int) -> NDArray[np.uint8]:
    """Return a buffer that is used again once nothing refers to it; memory views of it keep it."""
    length = max(_SMALLEST_KEPT, 1 << (size - 1).bit_length())
    free = _free.get(length)
    if free is None:
        return np.empty(size, np.uint8)
    try:
        buffer = free.pop()
    except IndexError:
        buffer = np.empty(length, np.uint8)
    part = buffer[:size]
    weakref.finalize(part, free.append, buffer).atexit = False
    return part

"""Encode and decode chunks in threads, for codec chains that do not need zarr-python."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any

import google_crc32c
import numcodecs
import numpy as np
from numpy.typing import NDArray
from zarr.abc.codec import Codec
from zarr.codecs import BytesCodec, Crc32cCodec, ShardingCodec, TransposeCodec

from ozx.errors import FormatError, UnsupportedError
from ozx.flow.decoding.bounded import OversizeError, check_blosc_header, decompress
from ozx.flow.decoding.bounded_arrays import BoundedCompressor, BoundedPipeline
from ozx.flow.decoding.bounded_filters import largest_stored
from ozx.hierarchy.zarr.codecs import CHECKSUM_BYTES
from ozx.hierarchy.zarr.layout import IndexFormat, parse_index_format

# Booleans, numbers and times: types whose values are stored directly as bytes.
_PLAIN_KINDS = frozenset("biufcmM")
# A larger buffer is given back to the system after each chunk.
_LARGEST_KEPT = 4 << 20
# The effort of decoding a byte: copying, blosc; other compressors need more.
_EFFORTS = {"": 2, "blosc": 5}
#: The only order of zarr-python before 3.4, and the default since then.
MORTON = "morton"
_BLOSC_SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}

Lengths = tuple[int, ...]


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "inverse", tuple(int(axis) for axis in np.argsort(self.order)))
        object.__setattr__(self, "is_transposed", self.inverse != tuple(range(len(self.shape))))
        object.__setattr__(self, "stored_shape", tuple(self.shape[axis] for axis in self.order))
        object.__setattr__(self, "size", prod(self.shape) * self.dtype.itemsize)
        object.__setattr__(self, "most_stored", largest_stored(self.size))
        name = self.compressor["id"] if self.compressor else ""
        object.__setattr__(self, "effort", self.size * _EFFORTS.get(name, 25))

    @property
    def is_raw(self) -> bool:
        """Whether the stored bytes are the uncompressed pixels."""
        return self.compressor is None and not self.checksums_outside

    def decode_into(self, data: memoryview, target: NDArray[Any]) -> None:
        """Decode a chunk into `target`, an array of the chunk's shape."""
        stored_view = target.transpose(self.order) if self.is_transposed else target
        is_exact = not self.checksums_inside and target.dtype == self.dtype
        if self.compressor and is_exact and stored_view.flags.c_contiguous:
            decompress_into(self.compressor, self._checked(data), stored_view.reshape(-1).view(np.uint8))
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

    def encode(self, pixels: NDArray[Any]) -> memoryview:
        """Return an encoded chunk; without a compressor the result may share memory with `pixels`."""
        stored = np.ascontiguousarray(pixels.transpose(self.order), self.dtype).reshape(-1).view(np.uint8)
        return self.encode_stored(stored.data)

    def encode_stored(self, data: memoryview) -> memoryview:
        """Encode a chunk whose pixels have the stored order and byte order."""
        if self.checksums_inside:
            data = _with_checksums(data, self.checksums_inside)
        if self.encoder is not None:
            data = memoryview(self.encoder(data)).cast("B")
        return _with_checksums(data, self.checksums_outside) if self.checksums_outside else data

    def _decode_stored(self, data: memoryview) -> NDArray[Any]:
        """Decode a chunk without transposing its axes back."""
        if self.checksums_outside:
            data = self._checked(data)
        if self.compressor is not None:
            decoded = _scratch(self.size + CHECKSUM_BYTES * self.checksums_inside)
            decompress_into(self.compressor, data, decoded)
            if not self.checksums_inside:
                return decoded.view(self.dtype).reshape(self.stored_shape)
            data = _without_checksums(decoded.data, self.checksums_inside)
        if len(data) != self.size:
            raise ValueError(f"expected {self.size:,} bytes; found {len(data):,}")
        return np.frombuffer(data, self.dtype).reshape(self.stored_shape)

    def _checked(self, data: memoryview) -> memoryview:
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


class ArrayCodecs:
    """The codecs of one array, compiled once for each chunk shape."""

    def __init__(self, codecs: Sequence[Codec]) -> None:
        self._codecs = codecs
        self._compiled: dict[Lengths, ChunkCodec | ShardCodec | None] = {}

    def find(self, shape: Lengths, data_type: Any) -> ChunkCodec | ShardCodec | None:
        """Return the codec for chunks of a shape and a zarr data type; None if only zarr-python can decode them."""
        if shape not in self._compiled:
            self._compiled[shape] = compile_codecs(self._codecs, shape, data_type.to_native_dtype())
        return self._compiled[shape]


def compile_codecs(codecs: Sequence[Codec], shape: Lengths, dtype: np.dtype[Any]) -> ChunkCodec | ShardCodec | None:
    """Return the codec for a chain of codecs, or None if only zarr-python can decode the chain."""
    if dtype.kind not in _PLAIN_KINDS:
        return None
    if len(codecs) == 1 and isinstance(codecs[0], ShardingCodec):
        return _compile_shard(codecs[0], shape, dtype)
    return _compile_chunk(codecs, shape, dtype)


def compile_metadata(metadata: Any) -> ChunkCodec | None:
    """Return the codec of an unsharded array from its zarr metadata; None if only zarr-python can decode the chunks."""
    codecs = tuple(BoundedPipeline.from_metadata(metadata))
    codec = compile_codecs(codecs, tuple(metadata.chunks), metadata.dtype.to_native_dtype())
    return codec if isinstance(codec, ChunkCodec) else None


def _compile_shard(codec: ShardingCodec, shape: Lengths, dtype: np.dtype[Any]) -> ShardCodec | None:
    inner_shape = tuple(codec.chunk_shape)
    inner = compile_codecs(tuple(codec.codecs), inner_shape, dtype)
    if inner is None or any(outer % length for outer, length in zip(shape, inner_shape, strict=True)):
        return None
    configuration = {
        "index_codecs": [part.to_dict() for part in codec.index_codecs],
        "index_location": _text(codec.index_location),
    }
    try:
        form = parse_index_format(configuration, "")
    except (FormatError, UnsupportedError):
        return None
    grid = tuple(outer // length for outer, length in zip(shape, inner_shape, strict=True))
    return ShardCodec(tuple(shape), grid, inner, form, getattr(codec, "subchunk_write_order", MORTON))


def _compile_chunk(codecs: Sequence[Codec], shape: Lengths, dtype: np.dtype[Any]) -> ChunkCodec | None:
    order = tuple(range(len(shape)))
    stored: np.dtype[Any] | None = None
    compressor: dict[str, Any] | None = None
    encoder: Callable[[memoryview], Any] | None = None
    inside = outside = 0
    for codec in codecs:
        if isinstance(codec, TransposeCodec) and stored is None:
            order = tuple(order[axis] for axis in codec.order)
        elif isinstance(codec, BytesCodec) and stored is None:
            stored = dtype if codec.endian is None else dtype.newbyteorder(_text(codec.endian))
        elif isinstance(codec, BoundedCompressor) and stored is not None and compressor is None:
            compressor, encoder = dict(codec.config), _encoder(codec)
        elif isinstance(codec, Crc32cCodec) and stored is not None:
            inside, outside = (inside + 1, outside) if compressor is None else (inside, outside + 1)
        else:
            return None
    if stored is None:
        return None
    if compressor is None:
        inside, outside = 0, inside
    return ChunkCodec(tuple(shape), stored, order, compressor, inside, outside, encoder)


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


def _encoder(codec: BoundedCompressor) -> Callable[[memoryview], Any]:
    settings = dict(codec.to_dict().get("configuration", {}))
    if codec.config["id"] == "zstd" and not settings.get("checksum"):
        return partial(_encode_zstd, level=settings.get("level", 0))
    if "shuffle" in settings and codec.config["id"] == "blosc":
        settings["shuffle"] = _BLOSC_SHUFFLES.get(str(settings["shuffle"]), settings["shuffle"])
    found = numcodecs.get_codec({**settings, "id": codec.config["id"]})
    return partial(_encode_blosc, found, settings.get("typesize")) if codec.config["id"] == "blosc" else found.encode


def _encode_blosc(codec: Any, typesize: int | None, data: memoryview) -> Any:
    """Compress as ``codec.encode`` does, without its steps around, which take as long for small chunks."""
    if len(data) > codec.max_buffer_size:
        return codec.encode(data)  # raises its error
    return numcodecs.blosc.compress(data, codec.cname.encode(), codec.clevel, codec.shuffle, codec.blocksize, typesize)


def _encode_zstd(data: memoryview, level: int) -> Any:
    """Compress to the same bytes as numcodecs, in three quarters of the time."""
    import imagecodecs  # noqa: PLC0415 (15 ms)

    codecs: Any = imagecodecs  # its type hints omit arrays and views
    return codecs.zstd_encode(data, level=level)


def _text(value: Any) -> Any:
    """Return the value of an enumeration member (older zarr-python uses enumerations), or a string unchanged."""
    return getattr(value, "value", value)


def _without_checksums(data: memoryview, count: int) -> memoryview:
    """Return the data without `count` trailing checksums, each over all bytes before it (Zarr codec ``crc32c``)."""
    for _ in range(count):
        data, checksum = data[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
        if google_crc32c.value(np.frombuffer(data, np.uint8)) != int.from_bytes(checksum, "little"):
            raise ValueError("its CRC-32C differs from the stored CRC-32C")
    return data


def _with_checksums(data: memoryview, count: int) -> memoryview:
    """Return the data with `count` checksums appended, each computed over all bytes before it."""
    for _ in range(count):
        checksum = int(google_crc32c.value(np.frombuffer(data, np.uint8)))
        data = memoryview(b"".join((data, checksum.to_bytes(CHECKSUM_BYTES, "little"))))
    return data


_kept = threading.local()


def _scratch(size: int) -> NDArray[np.uint8]:
    """Return a buffer that this thread reuses for each chunk, because new memory pages cost more time than decoding."""
    buffer: NDArray[np.uint8] | None = getattr(_kept, "buffer", None)
    if buffer is None or buffer.size < size:
        buffer = np.empty(size, np.uint8)
        _kept.buffer = buffer if size <= _LARGEST_KEPT else None
    return buffer[:size]

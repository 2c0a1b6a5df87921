"""Make zarr-python limit the decoded size of an array's chunks to the size that the metadata declare.

The array gets a codec pipeline that computes the maximal size after each codec. The pipeline limits the length of
stored chunks, the output of compressors, the number of strings in a chunk, and the bytes decoded at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, Self
from weakref import WeakKeyDictionary

import zarr
from zarr.abc.codec import ArrayBytesCodec, BytesBytesCodec, Codec
from zarr.abc.store import Store
from zarr.codecs import ShardingCodec
from zarr.codecs._v2 import V2Codec
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer, NDBuffer
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.core.config import config
from zarr.storage import StorePath, WrapperStore

from ozx.codecs.bounded import BOUNDED, OversizeError, UndecodableChunkError, decompress
from ozx.codecs.bounded_filters import (
    CHECKSUMS,
    SAME_SIZE,
    bounded_filters,
    check_count,
    check_item_sizes,
    decoded_size,
    largest_stored,
)
from ozx.codecs.zarr_errors import missing_codec
from ozx.errors import OzxError, ResourceError
from ozx.zarr.codecs import CHECKSUM_BYTES

# Bytes decoded at once, unless a single chunk is larger.
_DECODED_AT_ONCE = 96 << 20
_VARIABLE_LENGTH = ("vlen-utf8", "vlen-bytes")
# Errors that do not come from damaged chunks: errors of the disk, and errors that already have their own message.
_PASSED_ON = (OzxError, OSError)


def bound_array(array: Any, pipeline: type[BoundedPipeline] | None = None) -> Any:
    """Limit the decoded size of a zarr array's chunks in place, and return the array; return other objects unchanged.

    Metadata and written chunks stay the same.
    """
    if isinstance(array, zarr.Array):
        inner: Any = array.async_array if hasattr(array, "async_array") else array._async_array  # noqa: SLF001
        kind = pipeline or BoundedPipeline
        if not isinstance(inner.codec_pipeline, kind):
            object.__setattr__(inner, "codec_pipeline", kind.from_metadata(inner.metadata))
    return array


class BoundedPipeline(BatchedCodecPipeline):
    """zarr's codec pipeline with size limits; each chunk is decoded separately, so that errors can name the chunk."""

    @classmethod
    def from_codecs(cls, codecs: Iterable[Codec], *, batch_size: int | None = None) -> Self:
        """Return a pipeline of codecs with size limits."""
        del batch_size
        return super().from_codecs(_bounded_codecs(tuple(codecs)), batch_size=1)

    @classmethod
    def from_metadata(cls, metadata: Any) -> Self:
        """Return the pipeline for an array with this metadata."""
        if metadata.zarr_format == 2:
            filters, compressor = bounded_filters(
                metadata.filters, metadata.compressor, metadata.dtype.to_native_dtype(), prod(metadata.chunks)
            )
            return cls.from_codecs([V2Codec(filters=filters, compressor=compressor)])
        return cls.from_codecs(metadata.codecs)

    async def read(self, batch_info: Iterable[Any], out: NDBuffer, drop_axes: tuple[int, ...] = ()) -> Any:
        """Read and decode chunks, several at a time; errors name the chunk."""
        items = list(batch_info)
        results: list[Any] = [None] * len(items)
        numbers = iter(range(len(items)))

        async def work() -> None:
            for number in numbers:  # each worker takes the next number
                results[number] = await self._read_one(items[number], out, drop_axes)

        await asyncio.gather(*(work() for _ in range(min(config.get("async.concurrency"), len(items)))))
        # zarr-python 3.4 returns the missing chunks, 3.1 nothing.
        return tuple(part for found in results for part in found or ())

    async def _read_one(self, item: Any, out: NDBuffer, drop_axes: tuple[int, ...]) -> Any:
        getter, spec = item[0], item[1]
        try:
            for codec in self.array_array_codecs:
                check_item_sizes(getattr(codec, "codec_config", {}), spec.dtype.to_native_dtype())
            await _check_stored(getter, spec, is_sharded=self._is_sharded)
            if self._is_sharded:  # its inner chunks wait for memory one by one
                return await self.read_batch([item], out, drop_axes)
            async with _memory_for(_decoded_size(spec)):
                return await self.read_batch([item], out, drop_axes)
        except _PASSED_ON:
            raise
        except Exception as error:  # noqa: BLE001 (codecs may raise any exception)
            cause = _first_of(error)
            if isinstance(cause, _PASSED_ON):
                raise cause from cause.__cause__
            if isinstance(cause, MemoryError):
                raise _without_room(getter, spec) from cause
            if out.dtype.names != spec.dtype.to_native_dtype().names:  # zarr-python cannot read fields of pixels
                raise cause from None
            raise _named(cause, getter) from cause

    @property
    def _is_sharded(self) -> bool:
        return isinstance(self.array_bytes_codec, ShardingCodec)


class _BoundedShardingCodec(ShardingCodec):
    """The sharding codec with size limits for inner chunks."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # zarr-python 3.1 caches two methods by a specification that has no hash if the data type is structured (#3054).
        for method in ("_get_index_chunk_spec", "_get_chunks_per_shard"):
            vars(self).pop(method, None)

    @property
    def codec_pipeline(self) -> Any:
        return BoundedPipeline.from_codecs(self.codecs)


@dataclass(frozen=True)
class _WrappedCodec:
    """A codec of zarr-python, whose decoding a subclass limits."""

    codec: Any
    is_fixed_size = False

    def to_dict(self) -> Any:
        return self.codec.to_dict()

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        return int(self.codec.compute_encoded_size(input_byte_length, chunk_spec))

    async def _encode_single(self, chunk_data: Any, chunk_spec: ArraySpec) -> Buffer | None:
        found: Buffer | None = await self.codec._encode_single(chunk_data, chunk_spec)  # noqa: SLF001 (zarr's own way)
        return found


@dataclass(frozen=True)
class _BoundedTextCodec(_WrappedCodec, ArrayBytesCodec):
    """A codec for variable-length strings; it checks the number of strings before it allocates memory."""

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        check_count(chunk_data.as_array_like(), prod(chunk_spec.shape))
        found: NDBuffer = await self.codec._decode_single(chunk_data, chunk_spec)  # noqa: SLF001 (zarr's own way)
        return found


@dataclass(frozen=True)
class _BoundedBytesCodec(_WrappedCodec, BytesBytesCodec):
    """A compressor with a limit on the decompressed size; the codecs before the compressor determine the limit."""

    config: Mapping[str, Any]
    serializer: str
    before: tuple[str, ...]

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        return await asyncio.to_thread(self._decode, chunk_data, chunk_spec)

    def _decode(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        found = decompress(self.config, chunk_data.as_numpy_array().data, self._limit(chunk_spec))
        return chunk_spec.prototype.buffer.from_bytes(found)

    def _limit(self, spec: ArraySpec) -> int:
        size = decoded = _decoded_size(spec)
        if self.serializer not in ("bytes", *_VARIABLE_LENGTH):
            size = largest_stored(decoded)
        for name in self.before:
            if name in CHECKSUMS:
                size += CHECKSUM_BYTES
            elif name not in SAME_SIZE:  # doubled once: else 100 compressors would have no limit
                size = max(size, largest_stored(decoded))
        return size


# Of each event loop: the sizes of the chunks that are being decoded, and the turns of those that wait.
_DECODING: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[list[int], deque[asyncio.Future[None]]]] = (
    WeakKeyDictionary()
)


@asynccontextmanager
async def _memory_for(size: int) -> AsyncIterator[None]:
    """Wait until the chunks that are decoded at the same time leave room for one that decodes to `size` bytes."""
    loop = asyncio.get_running_loop()
    sizes, waiting = _DECODING.setdefault(loop, ([], deque()))
    while sizes and sum(sizes) + size > _DECODED_AT_ONCE:
        turn = loop.create_future()
        waiting.append(turn)
        await turn
    sizes.append(size)
    try:
        yield
    finally:
        sizes.remove(size)
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)


def _bounded_codecs(codecs: tuple[Codec, ...]) -> tuple[Codec, ...]:
    """Return an array's codecs, with compressors, shards and string codecs replaced by size-limited versions."""
    found: list[Codec] = []
    serializer = ""
    before: list[str] = []
    for codec in codecs:
        if isinstance(codec, V2Codec):
            return codecs  # its filters are bounded already
        name = _name(codec)
        is_ours = isinstance(codec, (_BoundedBytesCodec, _BoundedShardingCodec, _BoundedTextCodec))
        if isinstance(codec, ArrayBytesCodec):
            serializer = name
        if is_ours:
            found.append(codec)
        elif isinstance(codec, ShardingCodec):
            # zarr-python 3.4 has an order of inner chunks.
            order = {name: getattr(codec, name) for name in ("subchunk_write_order",) if hasattr(codec, name)}
            found.append(
                _BoundedShardingCodec(
                    chunk_shape=codec.chunk_shape,
                    codecs=_bounded_codecs(tuple(codec.codecs)),
                    index_codecs=codec.index_codecs,
                    index_location=codec.index_location,
                    **order,
                )
            )
        elif name in _VARIABLE_LENGTH:
            found.append(_BoundedTextCodec(codec))
        elif isinstance(codec, BytesBytesCodec) and name in BOUNDED:
            config = {**getattr(codec, "codec_config", {}), "id": name}
            found.append(_BoundedBytesCodec(codec, config, serializer, tuple(before)))
        else:
            found.append(codec)
        if isinstance(codec, BytesBytesCodec):
            before.append(name)
    return tuple(found)


def _name(codec: Codec) -> str:
    """Return a codec's name, without the prefix that zarr gives the codecs of numcodecs."""
    return str(codec.to_dict()["name"]).removeprefix("numcodecs.")


def _decoded_size(spec: ArraySpec) -> int:
    return decoded_size(spec.dtype.to_native_dtype(), prod(spec.shape))


async def _check_stored(getter: Any, spec: ArraySpec, *, is_sharded: bool) -> None:
    """Raise `OversizeError` before reading if a stored value is too long for a chunk."""
    if not isinstance(getter, StorePath) or not _knows_lengths(getter.store):
        return
    try:
        length = await getter.store.getsize(getter.path)
    except FileNotFoundError:
        return
    most = largest_stored(_decoded_size(spec), is_shard=is_sharded)
    if length > most:
        raise OversizeError(f"expected at most {most:,} bytes for its pixels; it has {length:,}")


def _knows_lengths(store: Store) -> bool:
    """Return whether a store can return the length of a value without reading the value."""
    while isinstance(store, WrapperStore):
        store = store._store  # noqa: SLF001 (zarr's own way)
    return getattr(type(store), "getsize", Store.getsize) is not Store.getsize


def _first_of(error: Exception) -> Exception:
    """Return the first exception of a group: zarr 3.4 reads the chunks of a shard in a group of tasks."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _named(error: Exception, getter: Any) -> Exception:
    reason = str(error).partition("\n")[0] or type(error).__name__
    if isinstance(getter, StorePath):
        return missing_codec(error, getter.path) or UndecodableChunkError(getter.path, reason)
    # An inner chunk has no path: the shard's reader prepends that of the shard.
    place = getattr(getter, "chunk_coords", None)
    return error if place is None else ValueError(f"inner chunk {list(place)}: {reason}")


def _without_room(getter: Any, spec: ArraySpec) -> Exception:
    if not isinstance(getter, StorePath):
        return MemoryError()
    return ResourceError(
        f"{getter.path}: not enough memory for a chunk that decodes to {_decoded_size(spec):,} bytes",
        hint="Use a machine with more memory.",
    )

"""Write the pixels of one request: encode chunks in threads, and write each value once, in the order of the request."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ozx.codecs.bounded import UndecodableChunkError
from ozx.codecs.chunk_codecs import ChunkCodec, ShardCodec
from ozx.errors import OzxError
from ozx.store.pixels.blocks import in_batches, submit
from ozx.store.pixels.encoding import Background, ChangedShard, Encoded, Selection, encode_chunk, listed
from ozx.store.pixels.plan import NotPlannedError
from ozx.store.pixels.selections import BoundingBox, bounding_box, covers, is_basic
from ozx.store.writing import WriteSession

# Bytes of pixels that one thread encodes at a time, so that the hand-over costs little.
_BATCH = 1 << 20
# Chunks with less effort are encoded by one thread at a time: two would wait for Python's lock longer than they work.
_QUICK = 400_000
# Bytes of pixels that wait to be written.
_AHEAD = 8 << 20
# A new shard with at least this many bytes of pixels is written while its chunks are encoded, and are still in the
# processor's cache.
LARGE_SHARD = 4 << 20


class ChangedChunk(NamedTuple):
    """A chunk that a selection changes, wholly or in part."""

    key: str
    codec: ChunkCodec | ShardCodec | None
    background: Background
    selection: Selection  # in the chunk
    wanted: Selection  # in the new pixels
    is_complete: bool  # whether all pixels of the chunk that are inside the array change


class WritePlan:
    """The chunks of one selection, and their new pixels, which lack the axes `drop_axes`."""

    def __init__(
        self,
        session: WriteSession,
        changes: Sequence[ChangedChunk],
        value: NDArray[Any],
        drop_axes: tuple[int, ...] = (),
    ) -> None:
        self._session = session
        self._value = value
        self._drop_axes = drop_axes
        self._plan = [(change, *self._plan_value(change)) for change in changes]

    def write(self) -> None:
        """Encode the chunks, and write each value once, in the order of the request."""
        with closing(_encoded(self._iter_jobs())) as done:  # closing ends the threads' work after an error
            for (key, shard, appended), group in groupby(done, itemgetter(0)):
                _store(self._session, key, shard, appended, (chunks for _, chunks in group))

    def _plan_value(self, change: ChangedChunk) -> tuple[ChunkCodec | ShardCodec, BoundingBox | None]:
        """Return the codec of a value, and the bounding box of the selection; None if the box is not needed.

        A shard needs the box if the selection has index arrays or steps, or if the new pixels lack axes.
        """
        codec, selection = change.codec, change.selection
        if codec is None or self._value.dtype.kind != codec.dtype.kind:
            raise NotPlannedError
        if isinstance(codec, ChunkCodec) or (is_basic(selection) and not self._drop_axes):
            return codec, None
        is_plain = isinstance(selection, tuple) and isinstance(codec.inner, ChunkCodec)
        box = bounding_box(selection, codec.shape, codec.inner.shape) if is_plain else None
        if box is None:
            raise NotPlannedError
        return codec, box

    def _iter_jobs(self) -> Iterator[_Job]:
        alone, together = threading.Lock(), nullcontext()
        for change, codec, box in self._plan:
            key = change.key
            selection, pixels = self._change(change, codec)
            if not pixels.size:  # as a[3:1] = value, which changes nothing
                continue
            # "Complete" are all pixels inside the array's shape; zarr-python keeps those beyond it in shards.
            is_whole = covers(selection, codec.shape) if isinstance(codec, ShardCodec) else change.is_complete
            stored = None if is_whole else self._session.read(key)
            view = None if stored is None else memoryview(stored)
            if isinstance(codec, ShardCodec):
                with _named(key):
                    shard = ChangedShard(codec, view, selection if box is None else box, pixels, change.background, key)
                is_large = codec.size >= LARGE_SHARD and codec.index.location == "end"
                is_new = is_large and self._session.size(key) is None
                value: _Value = (key, shard, codec.size if is_new else 0)
                step = max(1, _BATCH // codec.inner.size)
                turn = alone if codec.inner.effort < _QUICK else together
                for first in range(0, len(shard), step):
                    last = min(first + step, len(shard))
                    size = (last - first) * codec.inner.size
                    yield value, partial(shard.encode, first, last), size, turn
            else:
                inside = None if covers(selection, codec.shape) else selection
                encode = partial(_encode_alone, codec, view, inside, pixels, change.background)
                yield (key, None, 0), encode, codec.size, alone if codec.effort < _QUICK else together

    def _change(self, change: ChangedChunk, codec: ChunkCodec | ShardCodec) -> tuple[Selection, NDArray[Any]]:
        """Return the changed part of a chunk, as slices of all axes if possible, and its new pixels."""
        selection, wanted = change.selection, change.wanted
        pixels = self._value[wanted] if self._value.shape else self._value
        if self._drop_axes and self._value.shape:
            axes = range(len(codec.shape))
            pixels = pixels[tuple(None if axis in self._drop_axes else slice(None) for axis in axes)]
        if self._drop_axes or not is_basic(selection):
            return selection, pixels
        box = tuple(
            _forwards(*part.indices(length)[:2]) if isinstance(part, slice) else slice(int(part), int(part) + 1)
            for part, length in zip(selection, codec.shape, strict=True)
        )
        if self._value.shape:
            pixels = pixels[tuple(slice(None) if isinstance(part, slice) else None for part in selection)]
        return box, np.broadcast_to(pixels, tuple(part.stop - part.start for part in box))


def _forwards(start: int, stop: int) -> slice:
    """Return a slice whose end is not before its start: ``a[3:1]`` is empty."""
    return slice(start, max(start, stop))


# A chunk (None) or a shard to store as a value: its key; and the size of a large new shard, which is stored at the end
# of the file, chunk by chunk, else 0.
_Value = tuple[str, ChangedShard | None, int]


# The value that contains the chunks to encode in one thread, how to encode them, the bytes of the decoded chunks, and
# what is held meanwhile.
_Job = tuple[_Value, Callable[[], Encoded], int, AbstractContextManager[Any]]
_Done = tuple[_Value, Encoded]


def _encode_alone(*edit: Any) -> Encoded:
    return listed([encode_chunk(*edit)])


def _store(
    session: WriteSession, key: str, shard: ChangedShard | None, appended: int, chunks: Iterable[Encoded]
) -> None:
    """Store the encoded chunks of a value; delete the value if there are none."""
    if shard is not None and appended:
        session.append(key, shard.iter_pieces(chunks), appended)
        return
    parts = [piece for _, pieces in chunks for piece in pieces] if shard is None else shard.parts(chunks)
    if parts:
        session.set(key, *parts)
    else:
        session.delete(key)


def _encoded(jobs: Iterator[_Job]) -> Generator[_Done]:
    """Encode the chunks of jobs in threads; yield them with the value that contains them, in the order of the jobs."""
    pending: deque[tuple[int, Future[list[_Done]]]] = deque()
    ahead = 0
    try:
        batches = in_batches(jobs, itemgetter(2), _BATCH)
        first = list(itertools.islice(batches, 2))
        if len(first) == 1:  # a hand-over takes longer
            yield from _encode_all(first[0])
            return
        for batch in itertools.chain(first, batches):
            size = sum(length for _, _, length, _ in batch)
            while pending and ahead + size > _AHEAD:
                done, future = pending.popleft()
                ahead -= done
                yield from future.result()
            pending.append((size, submit(partial(_encode_all, batch))))
            ahead += size
        while pending:
            yield from pending.popleft()[1].result()
    finally:
        for _, future in pending:
            if not future.cancel():
                future.exception()


def _encode_all(batch: list[_Job]) -> list[_Done]:
    found = []
    for value, encode, _, turn in batch:
        with turn, _named(value[0]):
            found.append((value, encode()))
    return found


@contextmanager
def _named(key: str) -> Iterator[None]:
    """Add the name of a value to a decoding error."""
    try:
        yield
    except OzxError:
        raise
    except ValueError as error:
        raise UndecodableChunkError(key, str(error)) from error

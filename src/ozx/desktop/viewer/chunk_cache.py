"""Cache decoded chunks, because neighbouring tiles usually need the same chunks."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.store.lazy_views import LevelSlice, met_tiles
from ozx.store.reading_price import Price, check_price, price_of

# The most work for which a person looking at a picture waits.
_MOST = Price(chunks=20_000, decoded=8 << 30, chunk=1 << 30)


class ChunkCache:
    """A cache of the most recently decoded chunks: up to `capacity` bytes, but at least one chunk."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._chunks: OrderedDict[tuple[str, tuple[int, ...]], NDArray[Any]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        self._being_decoded: dict[tuple[str, tuple[int, ...]], threading.Lock] = {}
        #: Number of chunks decoded so far.
        self.decoded = 0

    def read(self, source: LevelSlice, index: Sequence[range]) -> NDArray[Any]:
        """Return the part of `source` at `index`, which has one ascending range per dimension."""
        wanted = tuple(slice(part.start, part.stop, part.step) for part in index)
        price = price_of(source.array, wanted)
        check_price(price, _MOST, f"{source.path}: this part", "Use a lower resolution, if the image has one.")
        if price.chunk > self._capacity:
            return source[wanted]
        out = np.empty([len(part) for part in index], source.dtype)
        met = [met_tiles(part, length) for part, length in zip(index, source.chunks, strict=True)]
        for pieces in itertools.product(*met):
            chunk = self._chunk(source, tuple(number for number, _, _ in pieces))
            out[tuple(target for _, _, target in pieces)] = chunk[tuple(inside for _, inside, _ in pieces)]
        return out

    def _chunk(self, source: LevelSlice, numbers: tuple[int, ...]) -> NDArray[Any]:
        key = (source.path, numbers)
        with self._lock:
            if key in self._chunks:
                self._chunks.move_to_end(key)
                return self._chunks[key]
            turn = self._being_decoded.setdefault(key, threading.Lock())
        with turn:  # other requests for this chunk wait for it
            with self._lock:
                if key in self._chunks:
                    return self._chunks[key]
            try:
                chunk = source[
                    tuple(slice(n * length, (n + 1) * length) for n, length in zip(numbers, source.chunks, strict=True))
                ]
                self._keep(key, chunk)
            finally:
                with self._lock:
                    self._being_decoded.pop(key, None)
        return chunk

    def _keep(self, key: tuple[str, tuple[int, ...]], chunk: NDArray[Any]) -> None:
        with self._lock:
            self.decoded += 1
            self._chunks[key] = chunk
            self._size += chunk.nbytes
            while self._size > self._capacity and len(self._chunks) > 1:
                self._size -= self._chunks.popitem(last=False)[1].nbytes

"""A cache of decoded strips and tiles; each is removed when all its pixels have been used."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any

from numpy.typing import NDArray


class SegmentCache:
    """A thread-safe cache of arrays by key: an array in the cache is not computed again.

    `budget` limits the bytes in the cache. Above this limit, the oldest arrays are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> cache, made = SegmentCache(1 << 20), []
    >>> for _ in range(2):
    ...     array = cache.get("strip", lambda: (made.append("strip"), np.zeros(10))[1], used=5, whole=10)
    >>> made, cache.size
    (['strip'], 0)
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._arrays: OrderedDict[Hashable, Future[NDArray[Any]]] = OrderedDict()
        self._missing: dict[Hashable, int] = {}
        #: Number of bytes in the cache.
        self.size = 0

    def get(self, key: Hashable, make: Callable[[], NDArray[Any]], *, used: int, whole: int) -> NDArray[Any]:
        """Return the array for `key`; call `make` to compute a missing array.

        `used`, `whole`: number of pixels that this call uses, and number of all pixels of the array. An array without
        unused pixels is dropped.
        """
        if used >= whole:
            return make()
        with self._lock:
            future = self._arrays.get(key)
            is_mine = future is None
            if future is None:
                future = self._arrays[key] = Future()
                self._missing[key] = whole
        if is_mine:
            try:
                array = make()
            except BaseException as error:
                with self._lock:
                    self._drop(key)
                future.set_exception(error)
                raise
            with self._lock:
                future.set_result(array)
                self.size += array.nbytes
        array = future.result()
        with self._lock:
            self._count(key, future, used)
        return array

    def _count(self, key: Hashable, future: Future[NDArray[Any]], used: int) -> None:
        if self._arrays.get(key) is future:
            self._missing[key] -= used
            if self._missing[key] <= 0:
                self._drop(key)
        while self.size > self._budget:
            oldest = next((name for name, kept in self._arrays.items() if kept.done()), None)
            if oldest is None:
                return
            self._drop(oldest)

    def _drop(self, key: Hashable) -> None:
        future = self._arrays.pop(key, None)
        self._missing.pop(key, None)
        if future is not None and future.done() and future.exception() is None:
            self.size -= future.result().nbytes

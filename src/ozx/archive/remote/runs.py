"""Reading of many values of one remote file with few requests."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

_BLOCK = 32 << 20
_MOST_HELD = 4
# A read of this length is a request of its own.
_LONG = 8 << 20
# How often a block is requested, because other reads have displaced it; after that, reads of it are exact.
_MOST_FETCHES = 3


class Runs:
    """Reader of the short reads of one file, by requests for blocks of 32 MiB; thread-safe.

    The first read in a block requests only its own bytes, the second read requests the block: a few values that lie far
    apart stay cheap. At most four blocks are held, those that were read last.
    """

    def __init__(self, fetch: Callable[[int, int], bytes]) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._held: OrderedDict[int, Future[bytes]] = OrderedDict()
        self._reads: Counter[int] = Counter()  # by block: one read, then the number of requests for the block

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer bytes at the end of the file."""
        if length >= _LONG:
            return self._fetch(offset, length)
        found = []
        while length > 0:
            block, start = divmod(offset, _BLOCK)
            taken = min(length, _BLOCK - start)
            data = self._block(block)
            found.append(self._fetch(offset, taken) if data is None else data[start : start + taken])
            offset, length = offset + taken, length - taken
        return found[0] if len(found) == 1 else b"".join(found)

    def _block(self, block: int) -> bytes | None:
        """Return the bytes of a block; None for the first read in the block, and if the block was displaced often."""
        with self._lock:
            held = self._held.get(block)
            if held is None:
                self._reads[block] += 1
                if not 1 < self._reads[block] <= _MOST_FETCHES + 1:
                    return None
                own = self._held[block] = Future()
                if len(self._held) > _MOST_HELD:
                    self._held.popitem(last=False)
            else:
                self._held.move_to_end(block)
        if held is not None:
            return held.result()
        try:
            own.set_result(self._fetch(block * _BLOCK, _BLOCK))
        except BaseException as error:
            own.set_exception(error)
            with self._lock:
                self._held.pop(block, None)
            raise
        return own.result()

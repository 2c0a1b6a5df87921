"""Define the interface of a readable hierarchy: a directory, an archive, or a wrapper that changes keys or values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from ozx.flow.entry import Entry, Part


class Source(Protocol):
    """The interface of a readable hierarchy: keys, and values that are read on request.

    A source can have a million keys: to visit all of them cheaply, iterate over `iter_keys` once.
    """

    @property
    def name(self) -> str:
        """The name of the hierarchy, for messages."""

    def __contains__(self, key: str) -> bool:
        """Return whether the key exists."""

    def iter_keys(self) -> Iterator[str]:
        """Yield all keys in archive order: metadata breadth-first, then data node by node."""

    def size(self, key: str) -> int:
        """Return the length in bytes of the value of a key."""

    def read(self, key: str) -> bytes:
        """Return the whole value of a key, verified as far as possible."""

    def part(self, key: str, offset: int = 0, length: int | None = None) -> Part:
        """Return a `Part` that reads a span of a value and checks that the value has not changed."""

    def parts(self, keys: Sequence[str]) -> list[Part]:
        """Return a `Part` for each key, which reads the whole value; for a shard, it is an `ozx.flow.entry.Span`."""

    def entry(self, key: str) -> Entry:
        """Return the value of a key as an entry with the same key, for copying.

        `FormatError`: The value is an archive itself (``rfc9/not-embedded``).
        """


class StoredDocuments(Mapping[str, bytes]):
    """A mapping from keys to metadata documents that are read on request."""

    def __init__(self, keys: Iterable[str], read: Callable[[str], bytes]) -> None:
        self._keys = dict.fromkeys(keys)
        self._read = read

    def __getitem__(self, key: str) -> bytes:
        if key not in self._keys:
            raise KeyError(key)
        return self._read(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

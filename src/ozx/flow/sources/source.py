"""A hierarchy to read, whatever it is in: a directory, an archive, or either of them under other keys.

Whoever changes keys or values wraps a source in another: its keys are then those of the hierarchy that is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from ozx.flow.entry import Entry, Part

__all__ = ["Source", "StoredValues"]


class Source(Protocol):
    """The keys of a hierarchy and their values, which are not read before they are asked for.

    A source is cheap with a million keys: whoever needs something of each goes through `iter_keys` once.
    """

    @property
    def name(self) -> str:
        """What messages call it: its path."""

    def __len__(self) -> int:
        """Return the number of keys."""

    def __contains__(self, key: str) -> bool:
        """Tell whether there is such a key."""

    def iter_keys(self) -> Iterator[str]:
        """Yield all keys in the order an archive is written in: metadata breadth-first, then data node by node."""

    def size(self, key: str) -> int:
        """Return the length of a value in bytes."""

    def read(self, key: str) -> bytes:
        """Return a value, as it is for metadata: whole, and checked as far as it can be.

        Raises
        ------
        KeyError
            There is no such key.
        FormatError
            The value is damaged, or not what it was when it was read before (``zip/changed``).
        """

    def part(self, key: str, offset: int = 0, length: int | None = None) -> Part:
        """Return a span of a value, which is read later and checked then not to have changed since now."""

    def parts(self, keys: Sequence[str]) -> list[Part]:
        """Return the whole values of many keys, each as `part` does.

        Those of keys whose values are divided, as shards are, can be: they are `ozx.flow.entry.Span`.
        """

    def entry(self, key: str) -> Entry:
        """Return a value as an entry of the same key, for whoever copies it as it is.

        Raises
        ------
        FormatError
            The value is an archive itself (``rfc9/not-embedded``).
        """

    def crc32(self, key: str) -> int | None:
        """Return the CRC-32 of a value where it is known without reading it."""


class StoredValues(Mapping[str, bytes]):
    """Values by key, read on request.

    Parameters
    ----------
    keys
        The keys in their order.
    read
        Returns the value of a key.

    Examples
    --------
    >>> values = StoredValues(["b", "a"], str.encode)
    >>> list(values), values["a"], "c" in values
    (['b', 'a'], b'a', False)
    """

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

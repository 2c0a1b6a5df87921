"""Keep keys sorted, to find the keys with a prefix without visiting all keys."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

# The code point after '/': every key below "a/" sorts before "a0".
_AFTER_SLASH = chr(ord("/") + 1)


class SortedKeys:
    """A sorted set of keys with queries by prefix."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = sorted(set(keys))

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: str) -> bool:
        position = bisect_left(self._keys, key)
        return position < len(self._keys) and self._keys[position] == key

    def add(self, key: str) -> None:
        """Add `key`, which must be new."""
        insort(self._keys, key)

    def remove(self, key: str) -> None:
        """Remove `key`, which must be in the set."""
        del self._keys[bisect_left(self._keys, key)]

    def below(self, prefix: str) -> list[str]:
        """Return the keys that begin with `prefix`, in order."""
        first = bisect_left(self._keys, prefix)
        last = bisect_right(self._keys, prefix, first, key=lambda key: key[: len(prefix)])
        return self._keys[first:last]

    def children(self, folder: str) -> Iterator[str]:
        """Yield the names of keys and folders directly below `folder`, each once.

        If `folder` is empty, it is the root.
        """
        prefix = folder.rstrip("/") + "/" if folder.rstrip("/") else ""
        keys = self._keys
        position = bisect_left(keys, prefix)
        while position < len(keys) and keys[position].startswith(prefix):
            child, slash, _ = keys[position][len(prefix) :].partition("/")
            if not slash:
                yield child
                position += 1
                continue
            if keys[bisect_left(keys, prefix + child)] != prefix + child:  # else a key itself, already yielded
                yield child
            # Skip the other keys of the folder.
            position = bisect_left(keys, prefix + child + _AFTER_SLASH, position)

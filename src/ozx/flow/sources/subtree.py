"""What is below one node of a source, as a source of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ozx.flow.entry import Entry, Part
from ozx.flow.sources.source import Source

__all__ = ["Subtree"]


class Subtree:
    """A node of a `Source`, and what is below it, as a hierarchy whose root it is.

    Parameters
    ----------
    source
        The hierarchy around it.
    node
        Path of the node; the root's is empty.
    """

    def __init__(self, source: Source, node: str) -> None:
        self._source = source
        self._prefix = f"{node}/" if node else ""

    @property
    def name(self) -> str:
        """What messages call it: the path of the hierarchy around it, and the node."""
        return f"{self._source.name}/{self._prefix}".rstrip("/") if self._prefix else self._source.name

    def __len__(self) -> int:
        return sum(1 for _ in self.iter_keys()) if self._prefix else len(self._source)

    def __contains__(self, key: str) -> bool:
        return self._prefix + key in self._source

    def iter_keys(self) -> Iterator[str]:
        """Yield the keys, relative to the node, in the order of the source: that of an archive of them, too."""
        prefix, length = self._prefix, len(self._prefix)
        if not prefix:
            return self._source.iter_keys()
        return (key[length:] for key in self._source.iter_keys() if key.startswith(prefix))

    def size(self, key: str) -> int:
        """Return the length of a value."""
        return self._source.size(self._prefix + key)

    def read(self, key: str) -> bytes:
        """Return a value."""
        return self._source.read(self._prefix + key)

    def part(self, key: str, offset: int = 0, length: int | None = None) -> Part:
        """Return a value, or a span of it, which is read later."""
        return self._source.part(self._prefix + key, offset, length)

    def parts(self, keys: Sequence[str]) -> list[Part]:
        """Return whole values, which can be divided."""
        prefix = self._prefix
        return self._source.parts([prefix + key for key in keys] if prefix else keys)

    def entry(self, key: str) -> Entry:
        """Return a value as an entry of the key relative to the node."""
        return Entry(key, self._source.entry(self._prefix + key).parts)

    def crc32(self, key: str) -> int | None:
        """Return the CRC-32 of a value where it is known without reading it."""
        return self._source.crc32(self._prefix + key)

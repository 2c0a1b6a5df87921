"""Notes about many nodes, one sentence for each kind."""

from __future__ import annotations

__all__ = ["NoteCollector", "tell"]


class NoteCollector:
    """Notes on nodes; equal notes on many nodes become one sentence.

    Examples
    --------
    >>> notes = NoteCollector()
    >>> for path in ("", "labels/cells", "labels/nuclei"):
    ...     notes.add(path, "no unit")
    >>> notes.sentences()
    ('the root and 2 more: no unit',)
    """

    def __init__(self) -> None:
        # Note to the first node's path and the number of nodes.
        self._found: dict[str, tuple[str, int]] = {}

    def add(self, path: str, note: str) -> None:
        """Add a note on the node at `path`, which is empty for the root."""
        first, count = self._found.get(note, (path, 0))
        self._found[note] = first, count + 1

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence for each note, in the order of arrival."""
        return tuple(tell(first, count, note) for note, (first, count) in self._found.items())


def tell(first: str, count: int, note: str) -> str:
    """Return a note on `count` nodes as a sentence that names the first of them."""
    return f"{first or 'the root'}{f' and {count - 1:,} more' if count > 1 else ''}: {note}"

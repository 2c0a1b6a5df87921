"""Notes about the nodes of a hierarchy; equal notes become one sentence."""

from __future__ import annotations


class NoteCollector:
    """Collector of notes about nodes; the same note about many nodes becomes one sentence.

    Examples
    --------
    >>> notes = NoteCollector()
    >>> for path in ("", "labels/cells", "labels/nuclei"):
    ...     notes.add(path, "no unit")
    >>> notes.sentences()
    ('the root and 2 more: no unit',)
    """

    def __init__(self) -> None:
        # By note: the path of the first node, and the number of nodes.
        self._found: dict[str, tuple[str, int]] = {}

    def add(self, path: str, note: str) -> None:
        """Add a note about the node at `path`; the root's path is empty."""
        first, count = self._found.get(note, (path, 0))
        self._found[note] = first, count + 1

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence for each distinct note, in the order of addition."""
        return tuple(tell(first, count, note) for note, (first, count) in self._found.items())


def tell(first: str, count: int, note: str) -> str:
    """Return a note about `count` nodes as one sentence that names the first node."""
    return f"{first or 'the root'}{f' and {count - 1:,} more' if count > 1 else ''}: {note}"

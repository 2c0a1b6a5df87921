"""Which nodes stand above which, by their paths alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ozx.hierarchy.keys import breadth_first

__all__ = ["missing_groups", "top_nodes"]


def top_nodes(paths: Iterable[str]) -> list[str]:
    """Return the nodes that no other stands above, breadth-first; of one hierarchy that is its root.

    Examples
    --------
    >>> top_nodes(["a/0", "a", "b/0"]), top_nodes(["", "a"])
    (['a', 'b/0'], [''])
    """
    nodes = set(paths)
    return sorted((path for path in nodes if nodes.isdisjoint(_above(path))), key=_order)


def missing_groups(paths: Iterable[str]) -> list[str]:
    """Return the folders above nodes that are no nodes themselves, breadth-first.

    Zarr core 3.1 has no implicit groups: what stands below such a folder is not reached from the root.

    Examples
    --------
    >>> missing_groups(["", "labels/cells", "A/1/0"])
    ['A', 'labels', 'A/1']
    """
    nodes = set(paths)
    return sorted({folder for path in nodes for folder in _above(path)} - nodes, key=_order)


def _above(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


def _order(path: str) -> tuple[int, tuple[str, ...]]:
    return breadth_first(path) if path else (0, ())

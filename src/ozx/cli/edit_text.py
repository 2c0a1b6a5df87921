"""The changes of an edit as lines; images with the same changes share a paragraph."""

from __future__ import annotations

from collections.abc import Iterable

from ozx.cli.output import one_line
from ozx.hierarchy.edit.differences import Difference

__all__ = ["describe_differences"]

_TO = "→"
_NOTHING = "(none)"
_MOST_NODES = 3


def describe_differences(differences: Iterable[Difference]) -> list[str]:
    """Return the differences group by group; groups with the same ones share a paragraph."""
    by_node: dict[str, list[Difference]] = {}
    for difference in differences:
        by_node.setdefault(difference.node, []).append(difference)
    by_text: dict[tuple[str, ...], list[str]] = {}
    for node, found in by_node.items():
        by_text.setdefault(tuple(_lines(found)), []).append(node)
    lines = []
    for text, nodes in by_text.items():
        more = len(nodes) - _MOST_NODES
        named = ", ".join(one_line(node) or "root" for node in nodes[:_MOST_NODES])
        lines += [f"{named}{f' and {more:,} more' if more > 0 else ''}", *text]
    return lines


def _lines(differences: list[Difference]) -> list[str]:
    width = max(len(difference.what) for difference in differences)
    return [
        f"  {one_line(found.what):<{width}}  {_value(found.old)} {_TO} {_value(found.new)}"
        f"{f' {one_line(found.unit)}' if found.unit else ''}"
        for found in differences
    ]


def _value(value: float | str | None) -> str:
    if value is None:
        return _NOTHING
    return one_line(value) if isinstance(value, str) else f"{value:.10g}"

"""Draw the tree of a hierarchy as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ozx.cli.output import one_line
from ozx.hierarchy.entry_order import component_order
from ozx.operations.info import NodeSummary

_MOST_LINES = 14
_DEEPEST = 10
_MORE = "…"


@dataclass(slots=True)
class _Branch:
    node_type: str | None = "missing"
    children: dict[str, _Branch] = field(default_factory=dict)


def draw_tree(nodes: Sequence[NodeSummary], width: int) -> list[str]:
    """Return the nodes below the root as indented lines of at most `width` characters.

    Groups end in a slash; the arrays of a group share a line. A long tree is abbreviated: the first sub-group of each
    group is drawn, the others are counted.

    Examples
    --------
    >>> from ozx.operations.info import NodeSummary
    >>> nodes = [NodeSummary("", "group"), NodeSummary("0", "array"), NodeSummary("1", "array")]
    >>> draw_tree([*nodes, NodeSummary("labels", "group"), NodeSummary("labels/cells", "group")], 80)
    ['0  1', 'labels/', '  cells/']
    """
    root = _Branch()
    for node in nodes:
        branch = root
        for name in node.path.split("/") if node.path else ():
            branch = branch.children.setdefault(name, _Branch())
        branch.node_type = node.node_type
    most = len(nodes) if len(nodes) <= _MOST_LINES * 4 else 1
    lines = _draw(root, 0, most)
    if len(lines) > _MOST_LINES:
        lines = _draw(root, 0, 1)
    return [line if len(line) <= width else line[: width - 1] + _MORE for line in lines]


def _draw(branch: _Branch, depth: int, most: int) -> list[str]:
    indent, lines = "  " * depth, []
    names = sorted(branch.children, key=component_order)
    arrays = [name for name in names if branch.children[name].node_type == "array"]
    groups = [name for name in names if branch.children[name].node_type != "array"]
    if len(arrays) > _MOST_LINES:
        shown = f"{one_line(arrays[0])}  {one_line(arrays[1])}  {_MORE}  {one_line(arrays[-1])}"
        lines.append(f"{indent}{shown}  ({len(arrays):,} arrays)")
    elif arrays:
        lines.append(indent + "  ".join(map(one_line, arrays)))
    if groups and depth >= _DEEPEST:
        return [*lines, indent + _MORE]
    for name in groups[:most]:
        child = branch.children[name]
        remark = {"missing": "  (no metadata)", None: "  (unreadable metadata)"}.get(child.node_type, "")
        lines.append(f"{indent}{one_line(name)}/{remark}")
        lines += _draw(child, depth + 1, most)
    if len(groups) > most:
        rest = len(groups) - most
        lines.append(f"{indent}{_MORE} {rest:,} more group{'s' if rest != 1 else ''}")
    return lines

"""Rules about the connections between coordinate systems (OME-Zarr 0.6, "Graph connectedness")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ozx.hierarchy.json.values import as_object, as_text
from ozx.validation.ome.coordinates.references import further_transformations, system_lengths
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown

#: Path of a group and name of one of its systems.
_System = tuple[str, str]


def check_connections(nodes: OmeNodes) -> Iterator[Finding]:
    """Yield a finding for each image or scene whose coordinate systems are not all connected."""
    groups = [group for group in nodes.groups() if (not group.is_v2 and system_lengths(group)) or _is_scene(group)]
    clusters = _Clusters()
    for group in groups:
        for _, step in further_transformations(group):
            ends = [_resolve(step.get(key), group, nodes) for key in ("input", "output")]
            if ends[0] is not None and ends[1] is not None:
                clusters.join(ends[0], ends[1])
    for group in groups:
        # "The graph MUST be connected (but need not be complete): any two coordinate systems in the metadata MUST be
        # linked by a path of one or more coordinate transformations".
        systems = dict.fromkeys((group.path, name) for name in system_lengths(group))
        if _is_scene(group):
            for _, step in further_transformations(group):
                for key in ("input", "output"):
                    end = _resolve(step.get(key), group, nodes)
                    systems |= {} if end is None else dict.fromkeys(_all_of(end[0], nodes) or [end])
        apart = [system for system in systems if clusters.find(system) != clusters.find(next(iter(systems)))]
        if apart:
            names = [name if path == group.path else f"{name} of {path or 'the root'}" for path, name in apart]
            place = group.place / ("scene" if _is_scene(group) else "multiscales")
            message = "expected transformations that connect all coordinate systems; found no path "
            message += f"from {shown(next(iter(systems))[1])} to {listed(names)}"
            yield place.finding("ome/system-graph", message)


def _is_scene(group: OmeGroup) -> bool:
    return isinstance(group.raw("scene"), dict)


def _all_of(path: str, nodes: OmeNodes) -> list[_System]:
    group = nodes.group(path)
    return [] if group is None else [(path, name) for name in system_lengths(group)]


def _resolve(value: Any, group: OmeGroup, nodes: OmeNodes) -> _System | None:
    """Return the coordinate system at one end of a transformation.

    All systems of a group whose metadata is unknown are taken for the same system.
    """
    end = as_object(value)
    name, given = as_text(end.get("name")), as_text(end.get("path"))
    path = group.path if given is None else nodes.resolve(group, given)
    if name is None or path is None:
        return None
    return (path, name) if nodes.group(path) is not None else (path, "")


class _Clusters:
    """Sets of connected coordinate systems (a disjoint-set forest)."""

    def __init__(self) -> None:
        self._above: dict[_System, _System] = {}

    def find(self, system: _System) -> _System:
        """Return the representative of the set of systems that are connected to this system."""
        while (above := self._above.get(system, system)) != system:
            # Shorten the chain, so that the next search takes half as many steps.
            self._above[system] = self._above.get(above, above)
            system = above
        return system

    def join(self, one: _System, other: _System) -> None:
        """Mark two coordinate systems as connected."""
        self._above[self.find(one)] = self.find(other)

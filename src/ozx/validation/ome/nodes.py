"""Groups with OME-Zarr metadata, and look-up of the nodes that the metadata names."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ozx.ome.model import OmeMetadata, parse_ome
from ozx.ome.references import resolve_reference
from ozx.ome.versions import is_understood
from ozx.validation.nodes.facts import NodeFacts
from ozx.validation.nodes.place import JsonPlace
from ozx.zarr.array import ArrayMetadata
from ozx.zarr.keys import join_path


@dataclass(frozen=True, slots=True)
class OmeGroup:
    """A group with OME-Zarr metadata."""

    node: NodeFacts
    ome: OmeMetadata
    # JsonPlace of the metadata.
    place: JsonPlace

    @property
    def path(self) -> str:
        """Path of the group; the root's path is empty."""
        return self.node.path

    @property
    def is_v2(self) -> bool:
        """Whether the group has OME-Zarr 0.4 metadata (Zarr v2)."""
        return bool(self.node.zarr_format == 2)


class OmeNodes:
    """All nodes of a hierarchy, and the OME-Zarr metadata of groups with a supported version."""

    def __init__(self, nodes: Mapping[str, NodeFacts], has_file: Callable[[str], bool] = lambda _: True) -> None:
        self._nodes = nodes
        #: Returns whether a file has this key.
        self.has_file = has_file
        self._groups = {path: group for path, node in nodes.items() if (group := _group_of(node)) is not None}
        self._sorted = sorted(self._groups)

    def groups(self) -> Iterable[OmeGroup]:
        """Return all groups with OME-Zarr metadata."""
        return self._groups.values()

    def group(self, path: str) -> OmeGroup | None:
        """Return the group at `path` if it has OME-Zarr metadata, else None."""
        return self._groups.get(path)

    def is_group(self, path: str) -> bool:
        """Return whether the node at `path` is a group; True for an unreadable node, because it may be a group."""
        node = self._nodes.get(path)
        return node is not None and (not node.is_known or node.node_type == "group")

    def is_unknown(self, path: str) -> bool:
        """Return whether the node at `path` is unreadable or has an unknown version."""
        node = self._nodes.get(path)
        if node is None:
            return False
        return not node.is_known or (node.ome is not None and path not in self._groups)

    def array(self, path: str) -> ArrayMetadata | None:
        """Return the metadata of the array at `path`, or None."""
        node = self._nodes.get(path)
        return None if node is None else node.array

    def finest_shape(self, group: OmeGroup) -> tuple[int, ...]:
        """Return the shape of the array of an image's first level; empty if it is unknown."""
        datasets = group.ome.multiscales[0].datasets
        path = self.resolve(group, datasets[0].path) if datasets and datasets[0].path else None
        array = None if path is None else self.array(path)
        return (array.shape or ()) if array is not None else ()

    def is_image(self, path: str) -> bool:
        """Return whether the node at `path` is an image; True for an unreadable node, because it may be an image."""
        group = self._groups.get(path)
        return self.is_unknown(path) or (group is not None and bool(group.ome.multiscales))

    def below(self, path: str) -> Iterator[str]:
        """Yield the paths of all groups with OME-Zarr metadata below `path`."""
        if not path:
            return (found for found in self._sorted if found)
        # "/" sorts right before "0", so the paths below a path are consecutive.
        return iter(self._sorted[bisect_left(self._sorted, f"{path}/") : bisect_left(self._sorted, f"{path}0")])

    @staticmethod
    def resolve(group: OmeGroup, path: str) -> str | None:
        """Convert a path in the metadata of `group` to a path from the root; None if it leads outside the hierarchy."""
        if path.startswith("/"):  # some writers mean a path relative to the group
            return join_path(group.path, path.strip("/"))
        return resolve_reference(group.path, path)


def _group_of(node: NodeFacts) -> OmeGroup | None:
    if node.ome is None:
        return None
    is_v3 = node.zarr_format != 2
    ome = parse_ome({"ome": node.ome} if is_v3 else node.ome, 3 if is_v3 else 2)
    if ome is None or not is_understood(ome.version, is_v3=is_v3):
        return None
    return OmeGroup(node, ome, JsonPlace(node.ome_key, node.ome_pointer))

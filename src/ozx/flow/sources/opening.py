"""Open a view of a local or remote archive or directory."""

from __future__ import annotations

import os

from ozx.errors import UsageError
from ozx.flow.sources.browsing import ArchiveView, DirectoryView, similar_nodes
from ozx.flow.sources.location import parse_location
from ozx.hierarchy.keys import node_of


def open_view(text: str | os.PathLike[str]) -> ArchiveView | DirectoryView:
    """Return a view of a directory, of an archive, or of a node in an archive; see `ozx.flow.sources.browsing`."""
    location = parse_location(text)
    if os.path.isdir(location.path):
        return DirectoryView(location.path)
    if location.is_directory_url():
        from ozx.flow.sources.remote_directory import RemoteDirectoryView  # noqa: PLC0415 (few directories are remote)

        return RemoteDirectoryView(location.path)
    # A remote request costs more time than the transfer of its bytes.
    view = ArchiveView(location.open(), location.node, ahead=1 << 20 if location.is_remote else 1 << 17)
    if location.node:
        _check_node(view)
    return view


def _check_node(view: ArchiveView) -> None:
    """Raise `UsageError` if the view's node has no metadata."""
    whole = ArchiveView(view.source)
    nodes = {node_of(item.key) for item in whole.iter_items(metadata_only=True)}
    if view.node not in nodes:
        raise UsageError(f"it has no node {view.node!r}", path=view.source.name, hint=similar_nodes(view.node, nodes))

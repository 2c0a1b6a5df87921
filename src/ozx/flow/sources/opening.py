"""Open a view of a local or remote archive or directory."""

from __future__ import annotations

import os

from ozx.archive.byte_source import FileSource
from ozx.errors import UsageError
from ozx.flow.sources.browsing import ArchiveView, DirectoryView, similar_nodes
from ozx.flow.sources.location import Place
from ozx.hierarchy.keys import node_of


def open_view(place: Place) -> ArchiveView | DirectoryView:
    """Return a view of a directory, of an archive, or of a node in an archive; see `ozx.flow.sources.browsing`."""
    if os.path.isdir(place.path):
        return DirectoryView(place.path)
    if place.is_directory_url():
        from ozx.flow.sources.remote_directory import RemoteDirectoryView  # noqa: PLC0415 (few directories are remote)

        return RemoteDirectoryView(place.path)
    source = place.open()
    # A remote request costs more time than the transfer of its bytes.
    view = ArchiveView(source, place.node, ahead=1 << 17 if isinstance(source, FileSource) else 1 << 20)
    if place.node:
        _check_node(view)
    return view


def _check_node(view: ArchiveView) -> None:
    """Raise `UsageError` if the view's node has no metadata."""
    whole = ArchiveView(view.source)
    nodes = {node_of(item.key) for item in whole.iter_items(metadata_only=True)}
    if view.node not in nodes:
        raise UsageError(f"it has no node {view.node!r}", path=view.source.name, hint=similar_nodes(view.node, nodes))

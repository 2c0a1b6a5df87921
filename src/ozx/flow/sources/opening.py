"""Open a view of a local or remote archive or directory."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from dataclasses import replace

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.flow.sources.browsing import ArchiveView, DirectoryView, similar_nodes
from ozx.places.byte_source import FileSource
from ozx.places.place import Place
from ozx.zarr.keys import METADATA, node_of


def at_root(place: Place) -> Place:
    """Return the place of the hierarchy's root: in a ``.zarr.zip``, it may be the only folder of the archive.

    The BioImage Archive asks for this layout: ``NAME.ome.zarr.zip`` with the folder ``NAME.ome.zarr``.
    """
    if place.node or not place.local_name().lower().endswith(".zarr.zip") or place.kind() == "a directory":
        return place
    from ozx.archive.reader import ArchiveReader  # noqa: PLC0415 (numpy, which info and ls do not need otherwise)

    with closing(place.open()) as source, suppress(FormatError, UnsupportedError):  # reported by whoever reads it
        names = ArchiveReader(source).columns.names()
        folder = min(names, default="").partition("/")[0]
        is_inside = folder.lower().endswith(".zarr") and all(name.startswith(f"{folder}/") for name in names)
        if is_inside and f"{folder}/{METADATA}" in names:
            return replace(place, node=folder)
    return place


def open_view(place: Place) -> ArchiveView | DirectoryView:
    """Return a view of a directory, of an archive, or of a node in an archive; see `ozx.flow.sources.browsing`."""
    if os.path.isdir(place.path):
        return DirectoryView(place.path)
    if place.is_directory_url():
        from ozx.flow.sources.remote_directory import RemoteDirectoryView  # noqa: PLC0415 (few directories are remote)

        return RemoteDirectoryView(place.path)
    place = at_root(place)
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

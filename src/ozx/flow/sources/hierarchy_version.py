"""Determine the Zarr and OME-Zarr versions of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass

from ozx.errors import FormatError
from ozx.flow.sources.source import Source
from ozx.hierarchy.json.documents import parse_document
from ozx.hierarchy.keys import LEGACY_METADATA, ROOT_METADATA
from ozx.hierarchy.nodes import Node, NodeCollector

__all__ = ["HierarchyVersion", "has_version"]


@dataclass(frozen=True, slots=True)
class HierarchyVersion:
    """The Zarr and OME-Zarr versions of a hierarchy.

    Attributes
    ----------
    zarr_format
        2 or 3.
    ome
        The OME-Zarr version that the root states; None if it is 0.4 or older and states none.
    """

    zarr_format: int
    ome: str | None


def has_version(source: Source) -> HierarchyVersion:
    """Return the Zarr and OME-Zarr versions of the root.

    OME-Zarr 0.5 and 0.6 use Zarr v3; OME-Zarr 0.4 uses Zarr v2.

    Raises
    ------
    FormatError
        The hierarchy has no root, its root is an array, or has no OME-Zarr metadata (``rfc9/root``,
        ``rfc9/one-hierarchy``); its metadata cannot be read (``zarr/json``).
    """
    if ROOT_METADATA in source:
        return _version_of(_read_root(source, (ROOT_METADATA,)), source.name)
    legacy = tuple(key for key in LEGACY_METADATA[:3] if key in source)
    if not legacy:
        raise FormatError("expected zarr.json or .zgroup at the root", path=source.name, rule="rfc9/root")
    return _version_of(_read_root(source, legacy), source.name)


def _read_root(source: Source, keys: tuple[str, ...]) -> Node:
    collector = NodeCollector()
    for key in keys:
        value = source.read(key)
        try:
            parse_document(value, key)
        except FormatError as error:
            raise error.at(source.name) from None
        collector.add(key, value)
    return collector.nodes()[""]


def _version_of(root: Node, name: str) -> HierarchyVersion:
    if root.node_type == "group" and root.ome is not None and (root.zarr_format == 2 or root.ome.version):
        return HierarchyVersion(root.zarr_format, root.ome.version)
    found = {
        "array": "an array: plain Zarr, not OME-Zarr",
        "group": "a group without OME-Zarr metadata: plain Zarr, not OME-Zarr",
        None: "metadata that describe neither a group nor an array",
    }[root.node_type]
    if root.ome is not None:
        found = "attributes.ome without a version"
    raise FormatError(f"expected a group with OME-Zarr metadata; found {found}", path=name, rule="rfc9/one-hierarchy")

"""A hierarchy with missing nodes: the roles of its keys, and the paths of missing nodes.

`PartialHierarchy` takes one document at a time, and keeps only the values that decide whether a key fits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ozx.errors import FormatError
from ozx.ome.model import OmeMetadata, parse_ome
from ozx.zarr.chunk_grid import ChunkGrid, parse_chunk_grid
from ozx.zarr.json_reading import as_object, as_texts, parse_document
from ozx.zarr.keys import (
    METADATA,
    ROOT_METADATA,
    is_legacy_metadata_key,
    is_metadata_key,
    join_path,
    node_of,
    paths_above,
)

_EMPTY_GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}


@dataclass(frozen=True, slots=True)
class Role:
    """Role of a key: node metadata, chunk, other file, or misfit (a key that is below an array, but is no chunk key).

    `array` and `place` identify the chunk; `array` is also the array of a misfit.
    """

    kind: Literal["metadata", "chunk", "file", "misfit"]
    array: str | None = None
    place: tuple[int, ...] = ()


class PartialHierarchy:
    """The nodes of an incomplete hierarchy by path, parsed from the documents that exist."""

    def __init__(self) -> None:
        # The OME-Zarr version of the root.
        self.version: str | None = None
        # By path: ``group`` or ``array``.
        self.nodes: dict[str, str] = {}
        # By path of the array; None for a grid that ozx does not know.
        self.grids: dict[str, ChunkGrid | None] = {}
        # Paths of nodes that the OME-Zarr metadata of groups lists.
        self.mentioned: set[str] = set()
        # The paths of each image's levels, full resolution first.
        self.levels: list[list[str]] = []
        # By path of a level's array: the path of its image.
        self.images: dict[str, str] = {}
        # By path of an array: the names of its axes, from the metadata of its image, or else its own.
        self.axes: dict[str, tuple[str | None, ...]] = {}
        self._copies: dict[str, dict[str, Any]] = {}
        self._last_folder: tuple[str, str | None] | None = None

    def add(self, key: str, document: dict[str, Any]) -> None:
        """Add a metadata document under its key."""
        path = node_of(key)
        is_array = document.get("node_type") == "array" or key.endswith(".zarray")
        self._last_folder = None
        if is_array:
            self.nodes[path] = "array"
            self.grids[path] = parse_chunk_grid(document)
            self.axes.setdefault(path, as_texts(document.get("dimension_names")) or ())
            return
        self.nodes.setdefault(path, "group")
        is_legacy = is_legacy_metadata_key(key)
        attributes = document if is_legacy else as_object(document.get("attributes"))
        ome = parse_ome(attributes, 2 if is_legacy else 3)
        if ome is not None:
            self.mentioned.update(join_path(path, name) for name in _mentioned(ome))
            for image in ome.multiscales:
                levels = [join_path(path, level.path) for level in image.datasets if level.path is not None]
                self.levels.append(levels)
                self.images |= dict.fromkeys(levels, path)
                if image.axes:
                    self.axes |= dict.fromkeys(levels, tuple(axis.name for axis in image.axes))
            # OME-Zarr 0.5, "bioformats2raw.layout": the series that OME/zarr.json lists stand beside OME.
            self.mentioned.update(join_path(node_of(path), name) for name in ome.series or ())
            if not path:
                self.version = ome.version
        copies = as_object(as_object(document.get("consolidated_metadata")).get("metadata"))
        for name, copy in copies.items():
            if is_node_document(copy):
                self._copies[join_path(path, name)] = copy

    def role(self, key: str) -> Role:
        """Return the role of `key` in the hierarchy."""
        if is_metadata_key(key) or is_legacy_metadata_key(key):
            return Role("metadata")
        array = self._array_above(key)
        if array is None:
            return Role("file")
        grid = self.grids[array]
        if grid is None:
            return Role("chunk", array)
        place = grid.coordinates(key[len(array) + 1 :] if array else key)
        return Role("misfit", array) if place is None else Role("chunk", array, place)

    def level_of(self, array: str) -> tuple[str, str | None]:
        """Return the path of an image and of its level below it; of another array, its own path and None."""
        image = self.images.get(array)
        return (array, None) if image is None else (image, array[len(image) :].lstrip("/"))

    def listed(self) -> set[str]:
        """Return the paths of all nodes listed in OME-Zarr metadata or consolidated metadata."""
        return self.mentioned | self._copies.keys()

    def replacement(self, path: str) -> bytes | None:
        """Return the copy of a node's ``zarr.json`` from the consolidated metadata of a parent group, or None."""
        copy = self._copies.get(path)
        return None if copy is None else _to_bytes(copy)

    @staticmethod
    def empty_group() -> bytes:
        """Return the ``zarr.json`` of a group without attributes."""
        return _to_bytes(_EMPTY_GROUP)

    def _array_above(self, key: str) -> str | None:
        folder = node_of(key)
        if self._last_folder is not None and self._last_folder[0] == folder:
            return self._last_folder[1]  # keys mostly come folder by folder
        path: str | None = folder
        while path is not None and path not in self.grids:
            path = node_of(path) if path else None
        self._last_folder = folder, path
        return path


def document_key(path: str) -> str:
    """Return the key of a node's ``zarr.json``."""
    return f"{path}/{METADATA}" if path else ROOT_METADATA


def parents_of(path: str) -> Iterator[str]:
    """Yield the paths of all parents of `path` except the root, nearest first."""
    yield from filter(None, paths_above(path))


def is_node_document(value: Any) -> bool:
    """Return whether `value` is a valid ``zarr.json`` document."""
    document = as_object(value)
    return document.get("zarr_format") == 3 and document.get("node_type") in ("array", "group")


def parse_metadata(key: str, data: bytes) -> dict[str, Any] | None:
    """Return the document parsed from the value of a metadata key, or None if it is invalid."""
    try:
        document = parse_document(data, key)
    except FormatError:
        return None
    return document if is_legacy_metadata_key(key) or is_node_document(document) else None


def _mentioned(ome: OmeMetadata) -> Iterator[str]:
    for multiscale in ome.multiscales:
        yield from (dataset.path for dataset in multiscale.datasets if dataset.path)
    yield from ome.labels or ()
    yield from ome.fields or ()
    if ome.plate is not None:
        yield from ome.plate.wells


def _to_bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8")

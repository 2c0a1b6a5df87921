"""Consolidated metadata: a group's ``zarr.json`` contains copies of the metadata of all nodes below the group.

Zarr core 3.1 allows the field ``consolidated_metadata``. zarr-python reads the copies instead of the documents, so that
wrong copies are worse than no copies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from ozx.hierarchy.json.documents import Document
from ozx.hierarchy.json.values import as_object

FIELD = "consolidated_metadata"


def without_copies(document: Document) -> Document:
    """Return a group's document without consolidated metadata."""
    return {name: value for name, value in document.items() if name != FIELD}


def renew_copies(document: Document, path: str, find: Callable[[str], Document | None]) -> Document:
    """Return a group's document whose consolidated metadata repeats the nodes as they are now."""
    field = as_object(document[FIELD])
    copies = {}
    for name, copy in as_object(field.get("metadata")).items():
        found = find(f"{path}/{name}" if path else name)
        if found is not None:
            # zarr-python writes an empty field in the copy of a group.
            empty = {FIELD: copy[FIELD]} if FIELD in as_object(copy) else {}
            copies[name] = without_copies(found) | empty
    return {**document, FIELD: {**field, "metadata": copies}} if copies else without_copies(document)


def say_the_same(copy: Any, document: Any) -> bool:
    """Return whether two documents are equal, apart from empty fields, which some writers omit.

    Examples
    --------
    >>> say_the_same({"node_type": "group"}, {"node_type": "group", "attributes": {}})
    True
    """
    return _content(copy) == _content(document)


def is_stale(document: Document, paths: Collection[str], read: Callable[[str], Document]) -> bool:
    """Return whether a group's consolidated metadata differs from the nodes at `paths`."""
    if document.get(FIELD) is None:
        return False
    copies = as_object(as_object(document[FIELD]).get("metadata"))
    return copies.keys() != set(paths) or not all(say_the_same(copies[path], read(path)) for path in paths)


def _content(document: Any) -> dict[str, Any]:
    """Return the non-empty fields of a document, without consolidated metadata, which is compared separately."""
    return {name: value for name, value in as_object(document).items() if name != FIELD and value not in ({}, [], None)}

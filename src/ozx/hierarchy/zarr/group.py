"""Metadata of a group, from its ``zarr.json`` (Zarr core 3.1, "Group metadata")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ozx.hierarchy.json.values import as_object


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """A group's metadata."""

    # The user's attributes; those of OME-Zarr are under ``ome``.
    attributes: dict[str, Any]
    # Values of the wrong type, one phrase each.
    problems: tuple[str, ...] = ()


def parse_group(document: dict[str, Any]) -> GroupMetadata:
    """Parse a group's ``zarr.json``. Faults raise no error; `problems` of the result describes them."""
    attributes = document.get("attributes", {})
    return GroupMetadata(
        attributes=as_object(attributes),
        problems=() if isinstance(attributes, dict) else ("attributes is not an object",),
    )

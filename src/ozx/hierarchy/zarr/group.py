"""What the ``zarr.json`` of a group says (Zarr core 3.1, "Group metadata")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ozx.hierarchy.json.values import as_object

__all__ = ["GroupMetadata", "parse_group"]


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """A group's metadata.

    Attributes
    ----------
    attributes
        The user's attributes; OME-Zarr's stand under ``ome``.
    problems
        What is of the wrong type, one phrase each.
    """

    attributes: dict[str, Any]
    problems: tuple[str, ...] = ()


def parse_group(document: dict[str, Any]) -> GroupMetadata:
    """Return what a group's ``zarr.json`` says; never fails, faults stand in `problems`.

    Examples
    --------
    >>> parse_group({"node_type": "group", "attributes": {"ome": {"version": "0.5"}}}).attributes
    {'ome': {'version': '0.5'}}
    """
    attributes = document.get("attributes", {})
    return GroupMetadata(
        attributes=as_object(attributes),
        problems=() if isinstance(attributes, dict) else ("attributes is no object",),
    )

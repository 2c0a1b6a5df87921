"""Zarr conventions declared in a node's attributes (version 1 of 2025-12-10, and the earlier form)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ozx.hierarchy.json.values import as_list, as_object, as_text

# v1: "uuid", else "schema_url", else "spec_url" is the identity.
_IDENTIFIERS = ("uuid", "schema_url", "spec_url")


def convention_names(attributes: Any) -> tuple[str, ...]:
    """Return the name, or else the identifier, of each declared convention; never raises an error.

    "If name is not present, tools SHOULD use the UUID instead to represent the Convention."

    Examples
    --------
    >>> convention_names({"zarr_conventions": [{"name": "geo:proj", "uuid": "f010"}, {"schema_url": "https://x/y.json"}]})
    ('geo:proj', 'https://x/y.json')
    >>> convention_names({"zarr_conventions_metadata": {"0396f4cd": {"version": "0.1.0"}}})
    ('0396f4cd',)
    """
    return tuple(dict.fromkeys(_iter_names(as_object(attributes))))


def _iter_names(attributes: dict[str, Any]) -> Iterator[str]:
    for convention in map(as_object, as_list(attributes.get("zarr_conventions"))):
        names = (as_text(convention.get(key)) for key in ("name", *_IDENTIFIERS))
        name = next(filter(None, names), None)
        if name is not None:
            yield name
    # The form before v1: UUIDs are the keys.
    for uuid, convention in as_object(attributes.get("zarr_conventions_metadata")).items():
        yield as_text(as_object(convention).get("name")) or uuid

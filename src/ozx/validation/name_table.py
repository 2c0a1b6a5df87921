"""Advice about names in Zarr: rows of the one table, see `ozx.validation.rules`."""

from __future__ import annotations

from functools import partial

from ozx.validation.rule import Rule

__all__ = ["NAME_RULES"]

_ZARR = partial(Rule, document="Zarr core", revision="3.1 (2026-07-23)", severity="note")

NAME_RULES: tuple[Rule, ...] = (
    _ZARR(
        id="zarr/portable-name",
        title="The name of a node has characters that not every system has",
        clause="Node names: to ensure consistent behaviour across different storage systems and programming languages, "
        "users are recommended to only use the characters a-z, A-Z, 0-9, -, _ and the period.",
        meaning="The node may not be found, or not be unpacked, on another system.",
        repair="Rename the node where its name is not yet in use elsewhere.",
    ),
    _ZARR(
        id="zarr/normal-name",
        title="The name of a node can be spelled in several ways",
        clause="Node names: when using non-ASCII Unicode characters, users are recommended to use case-folded, "
        "NFKC-normalized strings.",
        meaning="The same name, typed on another system, is other bytes: the node is not found.",
        repair="Rename the node to the normalized spelling.",
    ),
    _ZARR(
        id="zarr/repeated-dimension-name",
        title="Two dimensions of an array have the same name",
        clause="Dimension names: it is recommended but not required that all non-null dimension names are distinct.",
        meaning="Programs that find dimensions by name take one for the other; tensorstore refuses the array.",
        repair="Give each dimension a name of its own, or null.",
    ),
)

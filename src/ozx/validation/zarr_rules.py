"""Zarr: what every metadata document has to be, array or group."""

from __future__ import annotations

from collections.abc import Iterator

from ozx.validation.findings import Finding
from ozx.validation.node_document import NodeDocument
from ozx.validation.rules import make_finding
from ozx.validation.wording import listed

__all__ = ["check_json"]


def check_json(node: NodeDocument) -> Iterator[Finding]:
    """Yield what is doubtful about the JSON of a node's documents."""
    for key, faults in node.faults.items():
        # RFC 8259, 4: "The names within an object SHOULD be unique." Which value counts is left to the reader.
        if faults.duplicates:
            yield make_finding(
                "zarr/json-names", f"names stand twice in one object: {listed(faults.duplicates)}", entry=key
            )
        # RFC 8259, 6: "Numeric values that cannot be represented in the grammar below (such as Infinity and NaN) are
        # not permitted."
        if faults.specials:
            yield make_finding(
                "zarr/json-numbers", f"expected JSON; found the bare word {listed(faults.specials)}", entry=key
            )
        # RFC 8259, 6: a number of a "magnitude … indicat[es] potential interoperability problems".
        if faults.huge:
            message = f"numbers beyond the range of a double: {listed(faults.huge)}"
            yield make_finding("zarr/json-numbers", message, entry=key, severity="warning")
        # RFC 8259, 8.2: unpaired surrogates "can lead to unpredictable" results.
        if faults.has_lone_surrogate:
            yield make_finding(
                "zarr/json-text", "a string holds half of a surrogate pair, which is no character", entry=key
            )

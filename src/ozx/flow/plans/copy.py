"""A directory unchanged, byte for byte."""

from __future__ import annotations

from ozx.flow.plan import Plan
from ozx.flow.sources.directory import DirectorySource, iter_files
from ozx.flow.sources.listing import Listing
from ozx.flow.sources.source import StoredValues

__all__ = ["plan_copy"]


def plan_copy(listing: Listing) -> Plan:
    """Return the plan of a listed directory; nothing is read yet."""
    source = DirectorySource(listing)
    return Plan(
        StoredValues(listing.metadata, source.read),
        lambda _: iter_files(listing),
        listing.count_bytes,
        listing.legacy_keys,
        files=listing,
    )

"""Plan the copy of a directory, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ozx.flow.entry import Entry
from ozx.flow.plan import Plan
from ozx.flow.sources.directory import DirectorySource, iter_files
from ozx.flow.sources.source import StoredValues

if TYPE_CHECKING:
    from ozx.flow.sources.remote_directory import RemoteDirectorySource


def plan_copy(source: DirectorySource | RemoteDirectorySource) -> Plan:
    """Return the plan that copies a listed directory; read no file yet."""
    listing = source.listing
    metadata = StoredValues(listing.metadata, source.read)
    if isinstance(source, DirectorySource):
        return Plan(metadata, lambda _: iter_files(listing), listing.count_bytes, listing.legacy_keys, files=listing)

    def iter_data() -> Iterator[Entry]:
        return (source.entry(key) for key in listing.iter_keys() if key not in metadata)

    return Plan(metadata, lambda _: iter_data(), source.count_bytes, listing.legacy_keys)

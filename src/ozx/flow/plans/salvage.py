"""Plan the archive that `recover` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from heapq import merge

from ozx.archive.recovery.scan import iter_found_value
from ozx.archive.recovery.values import FoundEntry
from ozx.flow.entry import Entry, LazyPart, Part
from ozx.flow.plan import Plan
from ozx.flow.repair.salvage import RecoveredHierarchy
from ozx.flow.sources.source import StoredDocuments
from ozx.places.byte_source import ByteSource
from ozx.zarr.entry_order import archive_rank
from ozx.zarr.keys import breadth_first, is_metadata_key


def plan_salvage(source: ByteSource, found: RecoveredHierarchy, added: Sequence[Entry] = ()) -> Plan:
    """Return a plan that writes the found values, the recreated metadata and the rebuilt values."""
    entries = {found.key(index): index for index in found.indices}

    def read(key: str) -> bytes:
        if key in found.made:
            return found.made[key]
        return b"".join(iter_found_value(source, found.entry(entries[key])))

    def entry(index: int) -> Entry:
        return Entry(found.key(index), (found_part(source, found.entry(index)),))

    def data(_: object) -> Iterator[Entry]:
        stored = (entry(index) for index in found.indices if not is_metadata_key(found.key(index)))
        rebuilt = sorted(found.rebuilt.values(), key=lambda entry: archive_rank(entry.key))
        if not rebuilt and not added:
            return stored
        return merge(stored, rebuilt, added, key=lambda entry: archive_rank(entry.key))

    metadata = sorted({*filter(is_metadata_key, entries), *found.made}, key=breadth_first)
    return Plan(
        StoredDocuments(metadata, read),
        data,
        lambda: (
            sum(found.entry(index).size for index in found.indices)
            + sum(entry.size for entry in found.rebuilt.values())
            + sum(entry.size for entry in added)
        ),
    )


def found_part(source: ByteSource, entry: FoundEntry) -> Part:
    """Return a value of a damaged archive; reading it checks its CRC-32 again."""
    return LazyPart(entry.size, partial(iter_found_value, source, entry))

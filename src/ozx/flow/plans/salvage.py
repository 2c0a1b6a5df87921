"""Plan the archive that `recover` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge

from ozx.archive.byte_source import ByteSource, iter_exactly
from ozx.archive.recovery.entries import FoundEntry
from ozx.archive.recovery.scan import iter_found_value
from ozx.flow.entry import Entry
from ozx.flow.plan import Plan
from ozx.flow.repair.salvage import RebuiltValue, Salvage
from ozx.flow.sources.source import StoredValues
from ozx.hierarchy.keys import archive_rank, breadth_first, is_metadata_key


def plan_salvage(source: ByteSource, found: Salvage, added: Sequence[Entry] = ()) -> Plan:
    """Return a plan that writes the found values, the recreated metadata and the rebuilt values."""
    entries = {found.key(index): index for index in found.indices}

    def read(key: str) -> bytes:
        if key in found.made:
            return found.made[key]
        return b"".join(iter_found_value(source, found.entry(entries[key])))

    def entry(index: int) -> Entry:
        return Entry(found.key(index), (FoundPart(source, found.entry(index)),))

    def data(_: object) -> Iterator[Entry]:
        stored = (entry(index) for index in found.indices if not is_metadata_key(found.key(index)))
        rebuilt = [Entry(key, (_RebuiltPart(source, value),)) for key, value in found.rebuilt.items()]
        rebuilt.sort(key=lambda entry: archive_rank(entry.key))
        if not rebuilt and not added:
            return stored
        return merge(stored, rebuilt, added, key=lambda entry: archive_rank(entry.key))

    metadata = sorted({*filter(is_metadata_key, entries), *found.made}, key=breadth_first)
    return Plan(
        StoredValues(metadata, read),
        data,
        lambda: (
            sum(found.entry(index).size for index in found.indices)
            + sum(value.size for value in found.rebuilt.values())
            + sum(entry.size for entry in added)
        ),
    )


@dataclass(frozen=True, slots=True)
class FoundPart:
    """A value of a damaged archive; reading checks its CRC-32 again."""

    source: ByteSource
    entry: FoundEntry

    @property
    def length(self) -> int:
        """The number of bytes."""
        return self.entry.size

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the bytes."""
        return iter_found_value(self.source, self.entry)


@dataclass(frozen=True, slots=True)
class _RebuiltPart:
    """A damaged value, rebuilt without its lost chunks."""

    source: ByteSource
    value: RebuiltValue

    @property
    def length(self) -> int:
        return self.value.size

    def iter_blocks(self) -> Iterator[bytes]:
        for part in self.value.parts:
            if isinstance(part, bytes):
                yield part
            else:
                yield from iter_exactly(self.source, *part, "a chunk")

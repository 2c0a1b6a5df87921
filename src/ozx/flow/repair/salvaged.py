"""The result of a salvage: values to write, and lost values."""

from __future__ import annotations

from dataclasses import dataclass, field

from ozx.archive.recovery.entries import FoundEntry
from ozx.archive.recovery.evidence import Evidence, LostEntry
from ozx.hierarchy.partial_hierarchy import PartialHierarchy

__all__ = ["LostChunk", "RebuiltValue", "Salvage"]


@dataclass(frozen=True, slots=True)
class LostChunk:
    """A chunk of a damaged value; no checksum confirms the bytes of the chunk.

    Attributes
    ----------
    array
        Path of its array.
    key
        Key of the value that contains the chunk: the key of a shard, or of the chunk itself.
    chunk
        Its position in the array's chunk grid; in the grid of inner shards if the index of an inner shard is damaged.
    region
        Start and stop along each dimension, in pixels.
    reason
        Why it is lost, as a phrase.
    is_kept
        Whether the chunk is kept although no checksum proves it.
    """

    array: str
    key: str
    chunk: tuple[int, ...]
    region: tuple[tuple[int, int], ...]
    reason: str
    is_kept: bool

    def to_dict(self) -> dict[str, object]:
        """Return one element of ``lost_chunks`` in ``ozx recover --json``."""
        return {
            "array": self.array,
            "key": self.key,
            "chunk": list(self.chunk),
            "region": [list(span) for span in self.region],
            "reason": self.reason,
            "kept": self.is_kept,
        }


@dataclass(frozen=True, slots=True)
class RebuiltValue:
    """A damaged value, rebuilt without its lost chunks.

    Attributes
    ----------
    parts
        Spans of the archive, as offset and length, and new bytes.
    size
        Length in bytes.
    """

    parts: tuple[tuple[int, int] | bytes, ...]
    size: int


@dataclass(slots=True)
class Salvage:
    """The values to write in archive order, and the lost values.

    Attributes
    ----------
    evidence
        The findings of the scan.
    hierarchy
        The nodes.
    indices
        The entries to write.
    names
        The keys of the entries whose key differs from the name in the local header.
    made
        Documents to write that were not found in the archive, by key: copies from consolidated metadata, empty groups.
    copied
        The keys of the copies.
    lost
        Entries that could not be recovered.
    orphans
        Number of values left out, by the path of the array whose metadata is missing.
    rebuilt
        Values that lost a part, by key.
    lost_chunks
        The chunks of damaged values that are lost, or kept without proof.
    unproven
        Number of lost values left out because no checksum proves their chunks.
    unconfirmed
        Number of keys that only one header confirms and the hierarchy does not determine.
    repeated
        Number of keys with several values, of which the last counts.
    """

    evidence: Evidence
    hierarchy: PartialHierarchy
    indices: list[int] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    made: dict[str, bytes] = field(default_factory=dict)
    copied: list[str] = field(default_factory=list)
    lost: list[LostEntry] = field(default_factory=list)
    orphans: dict[str, int] = field(default_factory=dict)
    rebuilt: dict[str, RebuiltValue] = field(default_factory=dict)
    lost_chunks: list[LostChunk] = field(default_factory=list)
    unproven: int = 0
    unconfirmed: int = 0
    repeated: int = 0

    def key(self, index: int) -> str:
        """Return the key that an entry of the damaged archive gets."""
        return self.names.get(index) or self.evidence.entries.names[index]

    def entry(self, index: int) -> FoundEntry:
        """Return an entry of the damaged archive under its assigned key."""
        return self.evidence.entries[index]._replace(name=self.key(index))

    @property
    def is_complete(self) -> bool:
        """Whether every expected value is present, and every value and key is confirmed."""
        gaps = self.lost or self.orphans or self.rebuilt or self.made or self.unconfirmed
        return self.evidence.is_accounted and not gaps

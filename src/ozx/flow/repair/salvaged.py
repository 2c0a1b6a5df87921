"""The plan of a recovery: the values to be written, and those that are lost."""

from __future__ import annotations

from dataclasses import dataclass, field

from ozx.archive.recovery.entries import FoundEntry
from ozx.archive.recovery.evidence import Evidence, LostEntry
from ozx.hierarchy.partial_hierarchy import PartialHierarchy

__all__ = ["LostChunk", "RebuiltValue", "Salvage"]


@dataclass(frozen=True, slots=True)
class LostChunk:
    """A chunk inside a damaged value that nothing proves.

    Attributes
    ----------
    array
        Path of its array.
    key
        Key of the value that it is in: of a shard, or its own.
    chunk
        Its place in the grid of the array's chunks; in that of the shards that contain them, where the index of a shard
        inside another one is damaged.
    region
        Start and stop along each dimension, in pixels.
    reason
        Why, as a phrase.
    is_kept
        Whether it is kept although nothing proves it.
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
    """A damaged value without what is lost of it.

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
    """The values to be written, in the order of an archive, and those that are left out.

    Attributes
    ----------
    evidence
        What it was made from.
    hierarchy
        The nodes.
    indices
        The entries to write.
    names
        Their keys, where that is not the name in their local header.
    made
        Documents that are written though none was found, by key: copies from consolidated metadata, empty groups.
    copied
        Which of these are copies.
    lost
        What was there and could not be had.
    orphans
        Path of each array without metadata to the number of its values, which are left out.
    rebuilt
        Values of which a part is lost, by key.
    lost_chunks
        What of them is lost, or kept unproven.
    unproven
        How many lost values are left out because nothing proves the chunks in them.
    unconfirmed
        How many keys only one header says, without the hierarchy leaving no other key.
    repeated
        How many keys had several values, of which the last counts.
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
        """Return the key of an entry."""
        return self.names.get(index) or self.evidence.entries.names[index]

    def entry(self, index: int) -> FoundEntry:
        """Return an entry with the key it is to have."""
        return self.evidence.entries[index]._replace(name=self.key(index))

    @property
    def is_complete(self) -> bool:
        """Whether all is proven: what there should be, each value, and each key."""
        gaps = self.lost or self.orphans or self.rebuilt or self.made or self.unconfirmed
        return self.evidence.is_accounted and not gaps

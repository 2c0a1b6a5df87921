"""The result of a salvage: values to write, and lost values."""

from __future__ import annotations

from dataclasses import dataclass, field

from ozx.archive.recovery.entries import FoundEntry
from ozx.archive.recovery.evidence import Evidence, LostEntry
from ozx.hierarchy.partial_hierarchy import PartialHierarchy


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
    """A damaged value, rebuilt without its lost chunks."""

    parts: tuple[tuple[int, int] | bytes, ...]  # spans of the archive, as offset and length, and new bytes
    size: int


@dataclass(slots=True)
class Salvage:
    """The values to write in archive order, and the lost values."""

    evidence: Evidence  # the findings of the scan
    hierarchy: PartialHierarchy
    indices: list[int] = field(default_factory=list)  # the entries to write
    names: dict[int, str] = field(default_factory=dict)  # keys that differ from the name in the local header
    # documents to write that are not in the archive: copies from consolidated metadata, empty groups
    made: dict[str, bytes] = field(default_factory=dict)
    copied: list[str] = field(default_factory=list)  # keys of these copies
    lost: list[LostEntry] = field(default_factory=list)
    orphans: dict[str, int] = field(default_factory=dict)  # number of values left out, by array without metadata
    rebuilt: dict[str, RebuiltValue] = field(default_factory=dict)  # values that lost a part, by key
    lost_chunks: list[LostChunk] = field(default_factory=list)  # chunks of damaged values: lost, or kept without proof
    unproven: int = 0  # lost values left out because no checksum proves their chunks
    unconfirmed: int = 0  # keys that only one header confirms and the hierarchy does not determine
    repeated: int = 0  # keys with several values, of which the last counts
    unlisted: list[str] = field(default_factory=list)  # keys of entries that a whole directory does not list

    def key(self, index: int) -> str:
        """Return the key that an entry of the damaged archive gets."""
        return self.names.get(index) or self.evidence.entries.names[index]

    def entry(self, index: int) -> FoundEntry:
        """Return an entry of the damaged archive under its assigned key."""
        return self.evidence.entries[index]._replace(name=self.key(index))

    @property
    def is_complete(self) -> bool:
        """Whether every expected value is present, and every value and key is confirmed."""
        gaps = self.lost or self.orphans or self.rebuilt or self.made or self.unconfirmed or self.unlisted
        return self.evidence.is_accounted and not gaps

"""What the loss of entries means for arrays: how many chunks of which region are missing."""

from __future__ import annotations

from dataclasses import dataclass

from ozx.flow.salvaged import Salvage
from ozx.hierarchy.chunk_grid import ChunkTally
from ozx.hierarchy.keys import is_metadata_key, node_of

__all__ = ["ArrayLoss", "count_losses"]

Region = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ArrayLoss:
    """An array of which chunks are, or may be, missing.

    Attributes
    ----------
    path
        Where it stands.
    chunks
        Number of chunks (of shards, where it is sharded) in its grid; None where its metadata is lost.
    found
        How many of them were found.
    missing
        How many are lost or may be: those known to be lost where the directory is whole, else all that are not there,
        though some may never have been written. None where its metadata is lost.
    region
        Start and stop along each dimension, in pixels, of the box around the missing ones; None where it is unknown.
    is_lost
        Whether the metadata is lost, and with it the array.
    """

    path: str
    chunks: int | None
    found: int
    missing: int | None
    region: Region | None
    is_lost: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return one element of ``arrays`` in ``ozx recover --json``."""
        return {
            "path": self.path,
            "chunks": self.chunks,
            "found": self.found,
            "missing": self.missing,
            "region": None if self.region is None else [list(span) for span in self.region],
            "is_lost": self.is_lost,
        }


def count_losses(salvage: Salvage) -> list[ArrayLoss]:
    """Return the arrays that are damaged, or may be, in the order of their paths; none where nothing is lost."""
    if salvage.is_complete:
        return []
    skeleton = salvage.skeleton
    there = {path: ChunkTally(grid) for path, grid in skeleton.grids.items() if grid is not None}
    gone = {path: ChunkTally(tally.grid) for path, tally in there.items()}
    for index in salvage.indices:
        role = skeleton.role(salvage.key(index))
        if role.kind == "chunk" and role.array in there:
            there[role.array].add(role.place)
    for key in {entry.name for entry in salvage.lost}:
        role = skeleton.role(key)
        if role.kind == "chunk" and role.array in gone:
            gone[role.array].add(role.place)
    losses = []
    for path, tally in there.items():
        total = tally.grid.total
        if gone[path].found and salvage.evidence.is_whole:
            region, missing = gone[path].region(), gone[path].found
        elif not salvage.evidence.is_whole and tally.found < total:
            region, missing = tally.missing_region(), total - tally.found
        else:
            continue
        losses.append(ArrayLoss(path, total, tally.found, missing, region))
    lost = {node_of(entry.name) for entry in salvage.lost if is_metadata_key(entry.name)}
    arrays = set(salvage.orphans) | {path for path in lost if path in skeleton.mentioned}
    losses += [
        ArrayLoss(path, None, salvage.orphans.get(path, 0), None, None, is_lost=True)
        for path in arrays - skeleton.nodes.keys()
    ]
    return sorted(losses, key=lambda loss: loss.path)

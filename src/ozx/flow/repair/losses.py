"""Count lost chunks by array, and compute the region that they cover."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ozx.flow.repair.salvaged import Salvage
from ozx.hierarchy.chunk_grid import ChunkTally
from ozx.hierarchy.keys import is_metadata_key, node_of

Region = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ArrayLoss:
    """The lost and doubtful chunks of one array.

    Attributes
    ----------
    path
        The array's path.
    chunks
        Number of chunks in the array's grid (number of shards, if sharded); None if its metadata is lost.
    found
        Number of chunks found.
    missing
        Number of lost chunks; None if the array's metadata is lost. If the central directory is whole, only chunks that
        are known to be lost count. Else all absent chunks count, although some may never have been written.
    region
        Start and stop along each dimension, in pixels, of the box around the missing chunks; None if unknown.
    is_lost
        Whether the metadata is lost, and with it the array.
    inner_missing
        Number of chunks missing inside the shards found; `region` includes them.
    """

    path: str
    chunks: int | None
    found: int
    missing: int | None
    region: Region | None
    is_lost: bool = False
    inner_missing: int = 0

    def to_dict(self) -> dict[str, object]:
        """Return one element of ``arrays`` in ``ozx recover --json``."""
        return {
            "path": self.path,
            "chunks": self.chunks,
            "found": self.found,
            "missing": self.missing,
            "region": None if self.region is None else [list(span) for span in self.region],
            "is_lost": self.is_lost,
            "inner_missing": self.inner_missing,
        }


def count_losses(salvage: Salvage, restored: Iterable[str] = ()) -> list[ArrayLoss]:
    """Return the losses of all arrays that are or may be damaged, sorted by path.

    `restored` holds the keys of values that are not in the archive, but were made from chunks of another file.
    """
    if salvage.is_complete:
        return []
    hierarchy = salvage.hierarchy
    there = {path: ChunkTally(grid) for path, grid in hierarchy.grids.items() if grid is not None}
    gone = {path: ChunkTally(tally.grid) for path, tally in there.items()}
    for index in salvage.indices:
        role = hierarchy.role(salvage.key(index))
        if role.kind == "chunk" and role.array in there:
            there[role.array].add(role.place)
    for key in {entry.name for entry in salvage.lost}:
        role = hierarchy.role(key)
        if role.kind == "chunk" and role.array in gone:
            gone[role.array].add(role.place)
    for key in (*salvage.rebuilt, *restored):
        role = hierarchy.role(key)
        if role.array in there:
            there[role.array].add(role.place)
    losses = [loss for path in there if (loss := _loss(salvage, path, there[path], gone[path])) is not None]
    lost = {node_of(entry.name) for entry in salvage.lost if is_metadata_key(entry.name)}
    arrays = set(salvage.orphans) | {path for path in lost if path in hierarchy.mentioned}
    losses += [
        ArrayLoss(path, None, salvage.orphans.get(path, 0), None, None, is_lost=True)
        for path in arrays - hierarchy.nodes.keys()
    ]
    return sorted(losses, key=lambda loss: loss.path)


def _loss(salvage: Salvage, path: str, there: ChunkTally, gone: ChunkTally) -> ArrayLoss | None:
    """Return the loss of one array from the counts of its found and lost chunks; None if nothing is lost."""
    inside = [chunk for chunk in salvage.lost_chunks if chunk.array == path and not chunk.is_kept]
    region, missing, total = None, 0, there.grid.total
    if not salvage.evidence.is_whole and there.found < total:
        region, missing = there.missing_region(), total - there.found
    elif gone.found and salvage.evidence.is_whole:
        region, missing = gone.region(), gone.found
    elif not inside:
        return None
    region = _box([*([region] if region else []), *(chunk.region for chunk in inside)])
    return ArrayLoss(path, total, there.found, missing, region, inner_missing=len(inside))


def _box(regions: list[Region]) -> Region | None:
    if not regions:
        return None
    return tuple(
        (min(start for start, _ in spans), max(stop for _, stop in spans)) for spans in zip(*regions, strict=True)
    )

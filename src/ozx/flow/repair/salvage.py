"""Assign the values found in a damaged archive to keys of its hierarchy.

The CRC-32 proves a value but not its key. A key counts if the directory confirms it, or if it fits the hierarchy and no
other key fits better. A doubtful value is lost rather than misplaced.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from ozx.archive.names.decoding import name_fault
from ozx.archive.recovery.directory import LOCAL, ONE, TWO, RecoveredDirectory, repeated_names
from ozx.archive.recovery.scan import LostEntry, iter_found_value
from ozx.archive.recovery.values import FoundEntry
from ozx.flow.entry import Entry
from ozx.ome.partial_hierarchy import PartialHierarchy, document_key, parents_of, parse_metadata
from ozx.ome.recovered import Loss, describe_loss, pixels_by_axis
from ozx.places.byte_source import ByteSource
from ozx.zarr.chunk_grid import CountedChunks, looks_like_chunk
from ozx.zarr.entry_order import ArchiveRank, archive_rank
from ozx.zarr.json_reading import LongDocuments
from ozx.zarr.keys import METADATA, ORIGINAL_METADATA, is_legacy_metadata_key, is_metadata_key, missing_groups, node_of


@dataclass(frozen=True, slots=True)
class LostChunk:
    """A chunk of a damaged value; no checksum confirms the bytes of the chunk."""

    array: str  # the path of its array
    key: str  # of the value that contains the chunk: the key of a shard, or of the chunk itself
    # Its position in the array's chunk grid; in the grid of inner shards if the index of an inner shard is damaged.
    chunk: tuple[int, ...]
    region: tuple[tuple[int, int], ...]  # start and stop along each dimension, in pixels
    reason: str  # a phrase
    is_kept: bool  # whether the chunk is kept although no checksum proves it
    axes: tuple[str | None, ...] = ()  # the names of the dimensions

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


_NUMBERS = re.compile("(/[0-9]+)+")


def salvage(source: ByteSource, directory: RecoveredDirectory, *, is_ordered: bool = True) -> RecoveredHierarchy:
    """Return the recoverable content of a damaged archive.

    `is_ordered`: whether the order of entries can show that a name is damaged. It cannot in a file that was never
    finished, because a writer adds values in the order of their arrival.
    """
    found = RecoveredHierarchy(source, directory, is_ordered=is_ordered)
    found.assign_keys()
    return found


class RecoveredHierarchy:
    """The values to write in archive order, and the lost values."""

    def __init__(self, source: ByteSource, directory: RecoveredDirectory, *, is_ordered: bool) -> None:
        self.directory = directory  # the entries found in the file
        self.hierarchy = PartialHierarchy()
        self.indices: list[int] = []  # the entries to write
        self.names: dict[int, str] = {}  # keys that differ from the name in the local header
        # documents to write that are not in the archive: copies from consolidated metadata, empty groups
        self.made: dict[str, bytes] = {}
        self.copied: list[str] = []  # keys of these copies
        self.lost: list[LostEntry] = list(directory.lost)
        self.orphans: dict[str, int] = {}  # number of values left out, by array without metadata
        self.rebuilt: dict[str, Entry] = {}  # damaged values without their lost chunks, by key
        self.lost_chunks: list[LostChunk] = []  # chunks of damaged values: lost, or kept without proof
        self.unproven = 0  # lost values left out because no checksum proves their chunks
        self.unconfirmed = 0  # keys that only one header confirms and the hierarchy does not determine
        self.repeated = 0  # keys with several values, of which the last counts
        self.unlisted: list[str] = []  # keys of entries that a whole directory does not list
        self._source = source
        self._is_finished = is_ordered
        self._is_ordered = is_ordered and not directory.has_holes
        self._order = [int(index) for index in directory.order]
        self._rejected: set[int] = set()
        self._around: dict[int, tuple[str | None, str | None]] = {}
        self._unsettled = {index for index in self._order if index in directory.disputed}
        self._settled: set[int] = set()
        self._exchanged: set[int] = set()
        self._doubts: list[tuple[int, int]] = []
        self._long = LongDocuments()

    def key(self, index: int) -> str:
        """Return the key that an entry of the damaged archive gets."""
        return self.names.get(index) or self.directory.entries.names[index]

    def entry(self, index: int) -> FoundEntry:
        """Return an entry of the damaged archive under its assigned key."""
        return self.directory.entries[index]._replace(name=self.key(index))

    @property
    def is_complete(self) -> bool:
        """Whether every expected value is present, and every value and key is confirmed."""
        gaps = self.lost or self.orphans or self.rebuilt or self.made or self.unconfirmed or self.unlisted
        return self.directory.is_accounted and not gaps

    def assign_keys(self) -> None:
        """Decide which entries to write, and under which keys."""
        self._read_documents()
        self._settle_disputes()
        self._check_values()
        self._take_last_values()
        self._complete_nodes()
        self._confirm_by_counting()
        self._finish()

    # --- metadata -----------------------------------------------------------------------------------------------------

    def _read_documents(self) -> None:
        """Collect the metadata of all nodes; reject documents that more likely belong to another node."""
        self._add_documents()
        self._look_around()
        wanted, needed = self._wanted_nodes(), self._needed_nodes()
        misplaced = []
        for index in self._unconfirmed():
            name = self.key(index)
            if is_metadata_key(name):
                better = [key for key in map(document_key, wanted) if _differ_by_one(key, name)]
                is_better_here = index in self._around and any(self._is_in_place(index, key) for key in better)
                if is_better_here or (better and node_of(name) not in needed):
                    misplaced.append(index)
        for index in misplaced:
            self._reject(index, "its name is likely damaged: a similar, expected name is missing")
        if misplaced:
            self.hierarchy = PartialHierarchy()
            self._add_documents()

    def _add_documents(self) -> None:
        for index in self._kept():
            name = self.key(index)
            if name_fault(name) is not None:
                self._reject(index, "its name is damaged")
            elif is_metadata_key(name) or is_legacy_metadata_key(name):
                document = parse_metadata(name, self._read(index))
                if document is not None:
                    self.hierarchy.add(name, document)
                elif self.directory.names_by[index] < TWO:
                    self._reject(index, "its name is damaged: it is a metadata key, but the value is not metadata")

    def _wanted_nodes(self) -> set[str]:
        """Return the paths of nodes without metadata that other metadata lists, or to which chunks belong."""
        hierarchy = self.hierarchy
        wanted = {"", *hierarchy.mentioned, *missing_groups(hierarchy.nodes)}
        for index in self._kept():
            array = looks_like_chunk(self.key(index))
            if array is not None:
                wanted.add(array)
        return {path for path in wanted if path not in hierarchy.nodes}

    def _needed_nodes(self) -> set[str]:
        """Return the paths of nodes that metadata refers to, or that have nodes or chunks below them."""
        hierarchy = self.hierarchy
        chunks = filter(None, map(looks_like_chunk, self._names()))
        return {"", *hierarchy.mentioned, *map(node_of, hierarchy.nodes), *chunks}

    # --- names --------------------------------------------------------------------------------------------------------

    def _settle_disputes(self) -> None:
        """Choose one name of each entry that has two names; reject the entry if both names have equal evidence."""
        disputed = sorted(self._unsettled, key=lambda index: not self._is_document(index))  # metadata first
        wanted = self._wanted_nodes() if disputed else set()
        listed = Counter(self.directory.listed if disputed else ())
        local = {self.directory.entries.names[index] for index in disputed}
        central = {self.directory.disputed[index] for index in disputed}
        self._look_around()
        for index in disputed:
            names = self.directory.entries.names[index], self.directory.disputed[index]
            weights = [self._weight(index, name, wanted) for name in names]
            if listed[names[0]] or names[1] in local:
                weights[0] = 0  # the local header belongs to another entry, or this entry's own header is elsewhere
            if names[0] in central or names[1] in local:
                self._exchanged.add(index)  # the name in the directory may be damaged, too
            if weights[0] == weights[1] and weights[0]:
                weights = [int(self._is_in_place(index, name)) for name in names]
            self._doubt_older(index, names)
            if weights[0] == weights[1]:
                both = " and ".join(map(repr, names))
                lost = names[0] if names[1] in self._taken else names[1]
                self._reject(index, f"its name is damaged: its two headers give it the names {both}", lost)
                continue
            name = names[weights.index(max(weights))]
            self._unsettled.discard(index)
            self._settled.add(index)
            self.names[index] = name
            self._taken.add(name)
            document = parse_metadata(name, self._read(index)) if self._is_document(index) else None
            if document is not None:
                self.hierarchy.add(name, document)

    def _doubt_older(self, index: int, names: tuple[str, str]) -> None:
        """Mark an earlier entry as doubtful if its name is one of `names`: entry `index` may replace it."""
        starts = self.directory.entries.starts
        for other in self._kept():
            if starts[other] < starts[index] and self.key(other) in names:
                self._doubts.append((index, other))

    def _weight(self, index: int, name: str, wanted: set[str]) -> int:
        """Return a score of how well a name fits its value; 0 means that the name does not fit."""
        if name_fault(name) is not None or name.endswith("/") or name in self._taken or name in self._folders:
            return 0
        role = self.hierarchy.role(name)
        if role.kind == "metadata":
            if parse_metadata(name, self._read(index)) is None:
                return 0
            return 3 if node_of(name) in wanted else 2
        if role.kind == "misfit" or self._is_document(index):
            return 0
        return 2 if role.kind == "chunk" else 1

    def _check_values(self) -> None:
        """Check keys that only one header confirms; reject a key that is damaged or likely damaged."""
        hierarchy = self.hierarchy
        self._look_around()
        for index in self._unconfirmed():
            name = self.key(index)
            role = hierarchy.role(name)
            if role.kind == "metadata":
                continue
            if role.kind == "misfit":
                self._reject(
                    index, f"its name is damaged: it is not a chunk of the array {role.array or 'at the root'}"
                )
            elif role.kind == "file" and self._is_document(index):
                self._reject(index, "its name is damaged: it is not a metadata key, but the value is metadata")
            elif role.kind == "file" and self._is_unlikely_file(name):
                self._reject(index, "its name is likely damaged: a similar, expected name is missing")
            elif role.kind == "chunk" and index in self._around and self._has_better_name(index):
                self._reject(
                    index, "its name is likely damaged: it is out of order, and a similar, expected name is missing"
                )

    def _has_better_name(self, index: int) -> bool:
        """Return whether changing one digit of the name gives a missing chunk's key that fits the entry's position."""
        name, hierarchy = self.key(index), self.hierarchy
        for position, character in enumerate(name):
            for other in "0123456789" if character.isdigit() else "":
                key = f"{name[:position]}{other}{name[position + 1 :]}"
                if key not in self._taken and hierarchy.role(key).kind == "chunk" and self._is_in_place(index, key):
                    return True
        return False

    def _is_unlikely_file(self, name: str) -> bool:
        """Return whether a key is likely damaged: unprintable, or different from a missing key in one character."""
        if not name.isprintable() or (_differ_by_one(name, ORIGINAL_METADATA) and ORIGINAL_METADATA not in self._taken):
            return True
        others = (f"{name[:position]}/{name[position + 1 :]}" for position in range(1, len(name) - 1))
        return any(key not in self._taken and self.hierarchy.role(key).kind == "chunk" for key in others)

    @cached_property
    def _taken(self) -> set[str]:
        """The keys of accepted entries and of entries known to be lost."""
        return {self.key(index) for index in self._kept()} | {entry.name for entry in self.directory.lost}

    @cached_property
    def _folders(self) -> set[str]:
        """The paths of folders that contain keys; a folder cannot be a key."""
        return {path for name in self._names() for path in parents_of(name)}

    def _is_in_place(self, index: int, name: str) -> bool:
        before, after = self._around[index]
        here = archive_rank(name)
        return (before is None or archive_rank(before) < here) and (after is None or here < archive_rank(after))

    def _look_around(self) -> None:
        """Record the neighbours of each entry that has two names or is out of order.

        An archive with holes was changed in place by `OzxStore`: its order proves nothing.
        """
        self._around.clear()
        if not self._is_ordered or not self._order:
            self._around.update(dict.fromkeys(self._unsettled, (None, None)))
            return
        if not self._unsettled and min(map(self.directory.names_by.__getitem__, self._order)) == TWO:
            return
        before: tuple[str | None, ArchiveRank] = None, ()
        here: tuple[int, str, ArchiveRank] | None = None
        waiting: list[int] = []
        for index in [*self._order, None]:
            if index is not None and index in self._unsettled:
                waiting.append(index)
            if index is not None and (index in self._rejected or index in self._unsettled):
                continue
            name = None if index is None else self.key(index)
            rank: ArchiveRank = () if name is None else archive_rank(name)
            last = None if here is None else here[1]
            self._around.update((other, (last, name)) for other in waiting)
            waiting.clear()
            if here is not None:
                follows, precedes = before[0] is None or before[1] < here[2], name is None or here[2] < rank
                are_sorted = before[0] is None or name is None or before[1] < rank
                if not (follows and precedes) and are_sorted:
                    self._around[here[0]] = before[0], name
                before = here[1], here[2]
            here = None if index is None or name is None else (index, name, rank)

    # --- results ------------------------------------------------------------------------------------------------------

    def _take_last_values(self) -> None:
        """Keep only the last value of each repeated key; if the last value is damaged, keep no value.

        If the file ends inside the last value, a program was still writing this value, and the value before it counts.
        The same applies to metadata of an unfinished file, because a writer writes a new draft before it erases the old
        draft.
        """
        entries, cut_off = self.directory.entries, self.directory.cut_off
        kept = [index for index in self._kept() if index not in self._unsettled]
        names = [self.key(index) for index in kept]
        for places in repeated_names(names).values():
            self.repeated += 1
            indices = [kept[place] for place in places]
            self._rejected.update(set(indices) - {self.directory.choose(indices)})
        lost = {entry.name: entry for entry in self.directory.lost}
        rejected = self.lost[len(self.directory.lost) :]
        for index in [index for index in self._kept() if self.key(index) in lost] if lost else ():
            entry = lost[self.key(index)]
            if entry.start < entries.starts[index]:
                del lost[entry.name]
            elif entry.name in cut_off or (not self._is_finished and is_metadata_key(entry.name)):
                lost[entry.name] = replace(entry, reason=f"{entry.reason}; an earlier value was taken")
            else:
                self._rejected.add(index)
        self.lost = [*lost.values(), *rejected]

    def _complete_nodes(self) -> None:
        """Omit chunks of arrays without metadata, and recreate missing parents of nodes."""
        hierarchy = self.hierarchy
        has_nodes = bool(hierarchy.nodes) and not any(map(is_legacy_metadata_key, self._names()))
        lost = {node_of(entry.name) for entry in self.lost if is_metadata_key(entry.name)}
        for path in sorted(self._wanted_nodes() | lost) if has_nodes else ():
            copy = None if path in hierarchy.nodes else hierarchy.replacement(path)
            if copy is not None:
                key = document_key(path)
                self.made[key] = copy
                self.copied.append(key)
                hierarchy.add(key, parse_metadata(key, copy) or {})
        for index in self._kept():
            array = self._lost_array(self.key(index), lost)
            if array is not None and has_nodes and (array in lost or not self.directory.is_whole):
                self._rejected.add(index)
                self.orphans[array] = self.orphans.get(array, 0) + 1
        if has_nodes:
            self._make_groups(lost)

    def _make_groups(self, lost: set[str]) -> None:
        """Recreate missing groups; if the only sign of a group is one unconfirmed key, reject the key."""
        hierarchy = self.hierarchy
        missing = [path for path in missing_groups(hierarchy.nodes) if path]
        below = Counter(path for name in self._names() for path in parents_of(name)) if missing else Counter[str]()
        for path in missing:
            if path in lost or (not self.directory.is_whole and (below[path] > 1 or path in hierarchy.mentioned)):
                self.made[document_key(path)] = hierarchy.empty_group()
                hierarchy.nodes[path] = "group"
        alone = {path for path in missing if path not in hierarchy.nodes and not self.directory.is_whole}
        for index in self._unconfirmed() if alone else ():
            if not alone.isdisjoint(parents_of(self.key(index))):
                self._reject(index, "its name is likely damaged: no other entry is in its group or names the group")

    def _confirm_by_counting(self) -> None:
        """Confirm keys by elimination: chunks of complete grids, and nodes that other metadata refers to."""
        directory, hierarchy = self.directory, self.hierarchy
        single = [index for index in self._kept() if directory.names_by[index] < TWO]
        # Local headers of streamed entries have a name but no CRC-32, so that their names may have been exchanged.
        has_local = len(single) > 1 and any(directory.names_by[index] == LOCAL for index in single)
        if not directory.is_accounted or self.lost or has_local:
            single = []
        counted = Counter(hierarchy.role(name).array for name in (self._names() if single else ()))
        needed, proven = {"", *hierarchy.mentioned, *map(node_of, hierarchy.nodes)}, set()
        for index in [index for index in single if index not in self._exchanged]:
            role = hierarchy.role(self.key(index))
            grid = hierarchy.grids.get(role.array) if role.kind == "chunk" and role.array is not None else None
            if (grid is not None and counted[role.array] == grid.total) or (
                role.kind == "metadata" and node_of(self.key(index)) in needed
            ):
                proven.add(index)
                directory.names_by[index] = TWO
        for index, older in self._doubts:
            if index not in proven:
                directory.names_by[older] = ONE

    def _lost_array(self, name: str, lost: set[str]) -> str | None:
        """Return the array of the chunk `name` if this array has no metadata, else None."""
        hierarchy = self.hierarchy
        array = looks_like_chunk(name)
        if array is None:  # with separator "/" and no prefix, a chunk is 0/0/1 below its array
            array = next(
                (path for path in lost if name.startswith(f"{path}/") and _NUMBERS.fullmatch(name, len(path))), None
            )
        is_known = array is None or array in hierarchy.grids or hierarchy.role(name).kind != "file"
        return None if is_known else array

    def _finish(self) -> None:
        names_by = self.directory.names_by
        self.indices = list(self._kept())
        unlisted = (name for name in sorted(self.directory.unlisted) if not name.endswith("/"))
        self.unlisted = [name for name in unlisted if self.hierarchy.role(name).kind != "misfit"]
        self.unconfirmed = sum(names_by[index] < TWO for index in self.indices)
        if any(first >= second for first, second in pairwise(map(archive_rank, self._names()))):
            self.indices.sort(key=lambda index: archive_rank(self.key(index)))

    def _names(self) -> Iterator[str]:
        return map(self.key, self._kept())

    def _kept(self) -> Iterator[int]:
        return (index for index in self._order if index not in self._rejected and index not in self._unsettled)

    def _unconfirmed(self) -> list[int]:
        """Return the entries whose name is undisputed, but confirmed by only one header."""
        names_by = self.directory.names_by
        return [index for index in self._kept() if names_by[index] < TWO and index not in self._settled]

    def _reject(self, index: int, reason: str, name: str | None = None) -> None:
        self._rejected.add(index)
        start = self.directory.entries.starts[index]
        self.lost.append(LostEntry(name or self.key(index), reason, start))

    def _is_document(self, index: int) -> bool:
        """Return whether the value is a ``zarr.json`` document."""
        first = next(iter_found_value(self._source, self.directory.entries[index]), b"")
        return first.lstrip().startswith(b"{") and parse_metadata(METADATA, self._read(index)) is not None

    def _read(self, index: int) -> bytes:
        entry = self.directory.entries[index]
        is_short = self._long.takes(entry.size, f"{index}/{METADATA}" if is_metadata_key(self.key(index)) else "")
        return b"".join(iter_found_value(self._source, entry)) if is_short else b""


def _differ_by_one(first: str, second: str) -> bool:
    return len(first) == len(second) and sum(a != b for a, b in zip(first, second, strict=True)) == 1


# Count lost chunks by array, and compute the region that they cover.

Region = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class DamagedArray:
    """The lost and doubtful chunks of one array; of a sharded array, the chunks inside of its shards."""

    path: str
    chunks: int | None  # in the array's grid; None if its metadata is lost
    found: int  # without metadata, the number of values
    # The number of lost chunks; None if the array's metadata is lost. If the central directory is whole, only chunks
    # that are known to be lost count. Else all absent chunks count, although some may never have been written.
    missing: int | None
    region: Region | None  # the box around the missing chunks; None if unknown
    is_lost: bool = False  # whether the metadata is lost, and with it the array
    node: str = ""  # the path of the image, or of an array that is no level of an image
    level: str | None = None  # the path of the array relative to the image
    axes: tuple[str | None, ...] = ()  # the names of the dimensions
    may_be_empty: bool = False  # whether the chunks may never have been written

    @property
    def loss(self) -> Loss:
        """The loss as `ozx.ome.recovered` writes it into the file."""
        found: Loss = {"node": self.node}
        found |= {} if self.level is None else {"level": self.level}
        found |= {"missing": self.missing, "of": self.chunks} if self.missing else {}
        found |= {"may_be_empty": True} if self.may_be_empty else {}
        return found | ({"within": pixels_by_axis(self.axes, self.region)} if self.region else {})

    @property
    def sentence(self) -> str:
        """What is missing, in axes and pixels."""
        return describe_loss(self.loss)

    def to_dict(self) -> dict[str, object]:
        """Return one element of ``arrays`` in ``ozx recover --json``."""
        return {
            "path": self.path,
            "chunks": self.chunks,
            "found": self.found,
            "missing": self.missing,
            "region": None if self.region is None else [list(span) for span in self.region],
            "is_lost": self.is_lost,
            "sentence": self.sentence,
        }


def count_losses(salvage: RecoveredHierarchy, restored: Iterable[str] = ()) -> list[DamagedArray]:
    """Return the losses of all arrays that are or may be damaged, sorted by path.

    `restored` holds the keys of values that are not in the archive, but were made from chunks of another file.
    """
    if salvage.is_complete:
        return []
    hierarchy = salvage.hierarchy
    there = {path: CountedChunks(grid) for path, grid in hierarchy.grids.items() if grid is not None}
    gone = {path: CountedChunks(counted.grid) for path, counted in there.items()}
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
        _placed(hierarchy, DamagedArray(path, None, salvage.orphans.get(path, 0), None, None, is_lost=True))
        for path in arrays - hierarchy.nodes.keys()
    ]
    return sorted(losses, key=lambda loss: loss.path)


def all_losses(salvage: RecoveredHierarchy, arrays: Iterable[DamagedArray]) -> list[Loss]:
    """Return what the recovered file lacks: chunks, groups whose metadata is lost, and chunks without a proof."""
    losses = [array.loss for array in arrays]
    groups = (node_of(key) for key in salvage.made if key not in salvage.copied)
    losses += [{"node": path} for path in sorted(groups)]
    kept: dict[str, list[LostChunk]] = {}
    for chunk in salvage.lost_chunks:
        if chunk.is_kept:
            kept.setdefault(chunk.array, []).append(chunk)
    for path, chunks in kept.items():
        grid, region = salvage.hierarchy.grids[path], _box(_regions(chunks))
        count, total = (0, 0) if grid is None else (sum(map(grid.chunks_in, _regions(chunks))), grid.total_chunks)
        found = _placed(salvage.hierarchy, DamagedArray(path, total, 0, count, region)).loss
        losses.append({{"missing": "doubtful"}.get(name, name): value for name, value in found.items()})
    return losses


def _loss(salvage: RecoveredHierarchy, path: str, there: CountedChunks, gone: CountedChunks) -> DamagedArray | None:
    """Return the loss of one array from the counts of its found and lost chunks; None if nothing is lost."""
    inside = [chunk for chunk in salvage.lost_chunks if chunk.array == path and not chunk.is_kept]
    grid, region, missing = there.grid, None, 0
    may_be_empty = not salvage.directory.is_whole and there.found < grid.total
    if may_be_empty:
        region, missing = there.missing_region(), grid.total_chunks - there.found_chunks
    elif gone.found and salvage.directory.is_whole:
        region, missing = gone.region(), gone.found_chunks
    elif not inside:
        return None
    within = sum(map(grid.chunks_in, _regions(inside)))
    region = _box([*([region] if region else []), *_regions(inside)])
    counts = grid.total_chunks, there.found_chunks - within, missing + within
    return _placed(salvage.hierarchy, DamagedArray(path, *counts, region, may_be_empty=may_be_empty))


def _placed(hierarchy: PartialHierarchy, loss: DamagedArray) -> DamagedArray:
    """Return a loss with the image to which its array belongs, and with the names of its axes."""
    node, level = hierarchy.level_of(loss.path)
    return replace(loss, node=node, level=level, axes=hierarchy.axes.get(loss.path, ()))


def _regions(chunks: Iterable[LostChunk]) -> list[Region]:
    return [chunk.region for chunk in chunks]


def _box(regions: list[Region]) -> Region | None:
    if not regions:
        return None
    return tuple(
        (min(start for start, _ in spans), max(stop for _, stop in spans)) for spans in zip(*regions, strict=True)
    )

"""Recovery of unfinished shards from ``NAME.partial.chunks`` after a stream was killed."""

from __future__ import annotations

from collections.abc import Callable, Container

from ozx.archive.recovery.scan import scan_archive
from ozx.archive.recovery.values import FoundEntry
from ozx.errors import OzxError
from ozx.flow.entry import Entry
from ozx.flow.plans.salvage import found_part
from ozx.images.writing.shard_assembly import find_home, join_chunks, parse_chunk_name
from ozx.places.byte_source import FileSource
from ozx.zarr.entry_order import archive_rank
from ozx.zarr.json_reading import Document
from ozx.zarr.layout import ArrayLayout, parse_layout

Lengths = tuple[int, ...]


def waiting_values(
    source: FileSource, document: Callable[[str], Document | None], taken: Container[str]
) -> tuple[list[Entry], int]:
    """Return the unfinished shards as entries in archive order, and the number of saved chunks in these entries."""
    chunks: dict[str, dict[Lengths, FoundEntry]] = {}
    table = scan_archive(source).found
    for index in range(len(table.names)):
        entry = table[index]
        name = parse_chunk_name(entry.name)
        if name is not None:
            chunks.setdefault(name[0], {})[name[1]] = entry
    values: list[Entry] = []
    count = 0
    for array, found in chunks.items():
        described = document(array)
        layout = None if described is None else _layout(described, array)
        if layout is None:
            continue
        for key, inside in _by_value(layout, array, found).items():
            if key not in taken:
                values.append(_value(source, layout, key, inside))
                count += len(inside)
    return sorted(values, key=lambda entry: archive_rank(entry.key)), count


def _layout(document: Document, array: str) -> ArrayLayout | None:
    try:
        return parse_layout(document, array)
    except OzxError:
        return None


def _by_value(
    layout: ArrayLayout, array: str, found: dict[Lengths, FoundEntry]
) -> dict[str, dict[Lengths, FoundEntry]]:
    """Return the chunks inside the array, sorted by the key of their shard, then by their position in the shard."""
    values: dict[str, dict[Lengths, FoundEntry]] = {}
    counts = layout.chunks_per_stored
    for place, entry in found.items():
        if len(place) != len(counts) or any(at >= length for at, length in zip(place, layout.grid, strict=True)):
            continue
        home, inside = find_home(place, counts)
        values.setdefault(f"{array}/{layout.keys.encode(home)}", {})[inside] = entry
    return values


def _value(source: FileSource, layout: ArrayLayout, key: str, inside: dict[Lengths, FoundEntry]) -> Entry:
    parts = {place: found_part(source, entry) for place, entry in inside.items()}
    return Entry(key, join_chunks(parts, layout.chunks_per_stored) if layout.levels else tuple(parts.values()))

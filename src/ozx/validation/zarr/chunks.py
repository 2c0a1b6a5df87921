"""Checks of level ``data``: every chunk key lies in the grid of its array, and every chunk can be decoded."""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from math import prod

import numpy as np
from numpy.typing import NDArray

from ozx.codecs.bounded import decoding_reason
from ozx.codecs.bounded_filters import largest_stored
from ozx.codecs.pixel_codec import open_codec
from ozx.errors import FormatError, ResourceError, UnsupportedError
from ozx.flow.chunks.block_transcoding import UndecodableError
from ozx.flow.chunks.stored_chunks import KeyGroup, iter_key_groups, places_of
from ozx.flow.entry import Part
from ozx.flow.sources.source import Source
from ozx.progress import NO_PROGRESS, Progress, StoppableProgress, begin_phase, needs_total
from ozx.threads import processors, working
from ozx.validation.report import Finding
from ozx.validation.rules.findings import FindingCollector, finding_from_error, make_finding
from ozx.validation.wording import listed
from ozx.zarr.chunk_grid import looks_like_chunk
from ozx.zarr.json_reading import Document, parse_document
from ozx.zarr.keys import METADATA, is_legacy_metadata_key, is_metadata_key, node_of
from ozx.zarr.layout import ArrayLayout, IndexFormat, Lengths, index_of, parse_layout
from ozx.zarr.v2_arrays import parse_v2_layout

# Size of a task for a worker.
_VALUES_PER_TASK = 64
_BYTES_PER_TASK = 8 << 20


def check_data(
    source: Source, *, has_checksums: bool, jobs: int | None = None, progress: Progress = NO_PROGRESS
) -> Iterator[Finding]:
    """Yield findings about all stored values of a hierarchy; each value is read once, by several workers.

    Memory holds only some values at a time, at least one for each worker, and their decoded chunks. If the source
    `has_checksums`, values that are not chunks are read, too, because reading a value checks its checksum.
    """
    arrays, found = _read_arrays(source)
    findings = FindingCollector()
    findings.add(found)
    total = sum(map(source.size, source.iter_keys())) if needs_total(progress) else None
    progress = begin_phase(progress, f"checking {source.name}", total)
    tasks = _iter_tasks(source, arrays, has_checksums=has_checksums)
    findings.add(_run(tasks, StoppableProgress(progress), jobs or processors()))
    progress.stop()
    yield from findings


#: The layout of an array, and a function that decodes its chunks; None if ozx cannot decode them.
_Array = tuple[ArrayLayout, Callable[[Mapping[Lengths, bytes]], None] | None]


def _read_arrays(source: Source) -> tuple[dict[str, _Array], list[Finding]]:
    """Return the arrays by path, and findings about arrays whose chunks ozx cannot decode."""
    from ozx.store.extension_groups import understands_opening  # noqa: PLC0415 (loads zarr, half a second)

    arrays: dict[str, _Array] = {}
    findings = []
    is_legacy = METADATA not in source
    for key in source.iter_keys():
        if not (is_metadata_key(key) or (is_legacy and key.endswith(".zarray"))):
            if not is_legacy_metadata_key(key) and not is_legacy:
                break  # keys of metadata come before other keys
            continue
        path = node_of(key)
        try:
            document = parse_document(source.read(key), key)
            if not is_legacy and document.get("node_type") != "array":
                continue
            layout = parse_v2_layout(document, path) if is_legacy else parse_layout(document, path, understands_opening)
            arrays[path] = layout, None
            arrays[path] = layout, open_decoder(document, layout, path)
        except FormatError as error:
            # Checks of documents report faults of a document.
            message = f"the chunks of the array were not checked: {error.message}"
            hint = error.hint or "Repair the faults that other findings report in this array, then validate again."
            findings.append(make_finding("zarr/not-decoded", message, entry=key, hint=hint))
        except UnsupportedError as error:
            message = f"the chunks of the array were not decoded: {error.message}"
            findings.append(make_finding("zarr/not-decoded", message, entry=key, hint=error.hint))
    return arrays, findings


# The key of a value, and its place in the grid of stored values.
_Named = tuple[str, tuple[int, ...]]
# Work for a worker: stored values with their places in an array, or values outside of arrays.
_Task = tuple[_Array | None, list[_Named], list[Part]]


def _run(tasks: Iterable[Finding | _Task], progress: StoppableProgress, jobs: int) -> Iterator[Finding]:
    """Yield findings, and those of the tasks among them, which workers check."""
    waiting: deque[Future[list[Finding]]] = deque()
    with working(jobs) as workers:
        try:
            for task in tasks:
                if isinstance(task, Finding):
                    yield task
                    continue
                waiting.append(workers.executor.submit(_check, *task, progress))
                if len(waiting) > 2 * jobs:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            progress.stop_all()


def _iter_tasks(source: Source, arrays: Mapping[str, _Array], *, has_checksums: bool) -> Iterator[Finding | _Task]:
    """Yield the tasks for all values of a hierarchy, and findings about keys."""
    layouts = {path: layout for path, (layout, _) in arrays.items()}
    for group in iter_key_groups(source.iter_keys(), layouts):
        yield from _check_keys(group)
        if group.path is not None:
            array = arrays[group.path]
            prefix, encode = f"{group.path}/" if group.path else "", array[0].keys.encode
            places = places_of(group.numbers, array[0].stored_grid)
            named = ((prefix + encode(place), place) for place in places)
            yield from ((array, *batch) for batch in _iter_batches(source, named))
        if has_checksums:
            others: Iterator[_Named] = ((key, ()) for key in (*group.others, *group.outside) if not key.endswith("/"))
            yield from ((None, *batch) for batch in _iter_batches(source, others))


def _iter_batches(source: Source, values: Iterator[_Named]) -> Iterator[tuple[list[_Named], list[Part]]]:
    batch: list[_Named] = []
    size = 0
    for key, place in values:
        batch.append((key, place))
        size += source.size(key)
        if len(batch) >= _VALUES_PER_TASK or size >= _BYTES_PER_TASK:
            yield batch, source.parts([key for key, _ in batch])
            batch, size = [], 0
    if batch:
        yield batch, source.parts([key for key, _ in batch])


def _check(
    array: _Array | None, values: Sequence[_Named], parts: Sequence[Part], progress: StoppableProgress
) -> list[Finding]:
    findings: list[Finding] = []
    for (key, place), part in zip(values, parts, strict=True):
        try:
            most = None if array is None else _most_stored(array[0])
            if array is None or (most is not None and part.length > most):
                for _ in part.iter_blocks():
                    pass
                if most is not None:
                    message = f"{key}: expected at most {most:,} bytes for its pixels; found {part.length:,}"
                    findings.append(make_finding("zarr/chunk-data", message, entry=key))
            else:
                findings += _check_value(array, key, place, b"".join(part.iter_blocks()))
        except (FormatError, UnsupportedError) as error:
            findings.append(finding_from_error(error, entry=key))
        progress.advance(part.length)
    return findings


def _check_keys(group: KeyGroup) -> Iterator[Finding]:
    if group.path is None:
        return
    start = len(group.path) + 1 if group.path else 0
    strays = group.outside + [key for key in group.others if looks_like_chunk(key[start:]) is not None]
    if not strays:
        return
    # Core 3.1, "Resizing" (not normative): chunks outside of the grid may remain after an array has shrunk. If all are
    # outside, no reader finds the array's pixels.
    if len(group.numbers):
        for key in strays:
            yield make_finding("zarr/chunk-key", f"{key} is not a chunk in the grid of its array", entry=key)
    else:
        message = f"none of the {len(strays):,} chunks of the array belongs to its grid: {listed(strays)}"
        yield make_finding("zarr/chunk-key", message, entry=strays[0], severity="error")


def _check_value(array: _Array, key: str, place: tuple[int, ...], data: bytes) -> Iterator[Finding]:
    # sharding codec 1.0, "Binary shard format": the index, its checksum, and the positions of the inner chunks.
    layout, decode = array
    inner = dict(iter_inner_chunks(data, place, layout, key))
    if decode is None:
        return
    # Inner chunks past the array's edge hold no pixels of the array.
    inside = {at: chunk for at, chunk in inner.items() if _is_inside(at, layout.grid)}
    try:
        decode(inside)
    except UndecodableError as error:
        at, reason = error.args
        which = f"inner chunk {list(at)}" if layout.levels else "the chunk"
        shape = "×".join(map(str, layout.chunks)) or "one"
        message = f"{key}: {which} cannot be decoded to {shape} pixels: {reason}"
        yield make_finding("zarr/chunk-data", message, entry=key)


def _most_stored(layout: ArrayLayout) -> int | None:
    """Return the maximal length of a stored chunk, or None for shards, which may contain gaps of any length."""
    return None if layout.levels or not layout.item_size else largest_stored(prod(layout.chunks) * layout.item_size)


def _is_inside(place: tuple[int, ...], grid: tuple[int, ...]) -> bool:
    return all(position < count for position, count in zip(place, grid, strict=True))


# The largest chunk that is decoded.
_LARGEST = 2 << 30


def open_decoder(document: Document, layout: ArrayLayout, path: str) -> Callable[[Mapping[Lengths, bytes]], None]:
    """Return a function that decodes chunks of an array, inner ones if it has shards, by their coordinates in the grid.

    It discards the pixels.
    """
    size = math.prod(layout.chunks) * (layout.item_size or 1)
    if size > _LARGEST:
        raise UnsupportedError(f"{path or 'the root'}: expected chunks of at most 2 GiB; each chunk has {size:,} bytes")
    codec = open_codec(document, path)

    def decode(chunks: Mapping[Lengths, bytes]) -> None:
        decoded = codec.iter_decoded(list(chunks.values()))
        for place in chunks:
            try:
                with warnings.catch_warnings(action="ignore"):
                    next(decoded)
            except (MemoryError, ResourceError):
                # The verdict on a chunk must not depend on the machine's memory.
                raise UndecodableError(place, f"memory ran out while decoding it to {size:,} bytes") from None
            except Exception as error:  # noqa: BLE001 (codecs may raise any exception)
                raise UndecodableError(place, decoding_reason(error)) from None

    return decode


def iter_inner_chunks(data: bytes, place: Lengths, layout: ArrayLayout, where: str) -> Iterator[tuple[Lengths, bytes]]:
    """Yield each chunk of a stored value with its coordinates, which may lie beyond the array's chunk grid."""
    found = [(place, data)]
    for grid, form in layout.levels:
        found = [inner for outer, shard in found for inner in _inner(shard, outer, grid, form, where)]
    yield from found


def _inner(
    shard: bytes, place: Lengths, grid: Lengths, form: IndexFormat, where: str
) -> Iterator[tuple[Lengths, bytes]]:
    index = index_of(shard, grid, where, form)
    _check_apart(index.offsets.ravel(), index.lengths.ravel(), where)
    for inside in zip(*np.nonzero(index.lengths), strict=True):
        offset, length = int(index.offsets[inside]), int(index.lengths[inside])
        at = tuple(outer * per + int(part) for outer, per, part in zip(place, grid, inside, strict=True))
        yield at, shard[offset : offset + length]


def _check_apart(offsets: NDArray[np.int64], lengths: NDArray[np.int64], where: str) -> None:
    """Raise `FormatError` if chunks overlap partly; several chunks may have the same span."""
    spans = np.unique(np.stack([offsets, offsets + lengths], axis=1)[lengths > 0], axis=0)
    shared = np.flatnonzero(spans[1:, 0] < spans[:-1, 1])
    if len(shared):
        (_, end), (begin, _) = spans[shared[0]].tolist(), spans[shared[0] + 1].tolist()
        raise FormatError(
            f"{where}: two inner chunks overlap: one begins at byte {begin:,}, before the previous one ends at {end:,}",
            rule="zarr/shard-index",
        )

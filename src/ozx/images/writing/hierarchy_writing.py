"""Writing of new images into an archive, in one pass over their pixels, with little memory.

::

    source ─ blocks ─→ threads or a cluster: read, halve, encode ─→ chunks ─→ shards ─→ file
                       (make_block)                                 └─ Pyramid, OpenShards, write_archive ┘

A fixed number of blocks is made ahead, and the results are taken in order. So the same pixels give the same bytes
with any executor, and with any number of blocks at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np

from ozx.errors import UnsupportedError
from ozx.flow.entry import BytesPart, Entry
from ozx.flow.plan import Plan
from ozx.flow.sinks.archive import write_archive
from ozx.flow.sources.source import StoredValues
from ozx.flow.workers import Workers
from ozx.hierarchy.json.reading import dump_document
from ozx.hierarchy.keys import breadth_first, node_of
from ozx.hierarchy.nodes import join_path
from ozx.hierarchy.ome.colors import Window
from ozx.hierarchy.partial_hierarchy import document_key
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.hierarchy.relayout.shard_choice import LARGEST_SHARD
from ozx.hierarchy.zarr.layout import ArrayLayout, parse_layout
from ozx.images.pictures.channels import percentile_window
from ozx.images.writing.chunk_encoding import new_chunk_codec
from ozx.images.writing.documents import HierarchyDocuments, PlannedImage, all_images
from ozx.images.writing.new_image import NewHierarchy, NewImage, PyramidLevel
from ozx.images.writing.pyramid import BlockResult, BlockTask, LevelGeometry, LevelWork, Pyramid, make_block
from ozx.images.writing.shard_assembly import OpenShards
from ozx.processors import processors
from ozx.progress import NO_PROGRESS, Progress

# Blocks in progress or waiting, per thread: enough that threads do not wait for the thread that writes.
_AHEAD = 2
# The parallelism of a cluster is unknown.
_AHEAD_ELSEWHERE = 32


def count_bytes(hierarchy: NewHierarchy) -> int:
    """Return the number of bytes of pixels to read, for a progress bar."""
    sources = [level.source for image in all_images(hierarchy).values() for level in image.levels]
    return sum(int(np.prod(source.shape, dtype=object)) * source.dtype.itemsize for source in sources)


def write_hierarchy(
    descriptor: int,
    hierarchy: NewHierarchy,
    layout: LayoutChoice | None = None,
    *,
    executor: Executor | None = None,
    jobs: int | None = None,
    progress: Progress = NO_PROGRESS,
    late: Callable[[], Iterable[Entry]] | None = None,
    on_damage: Callable[[tuple[str, ...]], object] | None = None,
) -> tuple[int, int]:
    """Write an archive into the empty file `descriptor`; return the numbers of entries and bytes written."""
    nodes = HierarchyDocuments(hierarchy, layout or LayoutChoice())
    all_made = [made for path, planned in nodes.images.items() for made in _iter_made(nodes, path, planned)]

    def data(workers: Workers) -> Iterator[Entry]:
        for key, value in hierarchy.files.items():
            yield Entry(key, (BytesPart(value),))
        for made, result in _in_order(workers.executor, all_made, workers.jobs):
            if result is None:
                made.finish()
                continue
            for chunk in made.pyramid.accept(result):
                finished = made.shards[chunk.level].add(chunk.place, chunk.data)
                if finished is not None and finished.entry is not None:
                    yield _checked(finished.entry)
            if result.damage and on_damage is not None:
                on_damage(result.damage)
            progress.advance(result.size)

    documents = cache(nodes.documents)  # complete once all pixels have been read
    lengths = {document_key(path): len(dump_document(draft)) for path, draft in nodes.drafts().items()}
    rooms = {key: lengths[key] for key in sorted(lengths, key=breadth_first)}
    metadata = StoredValues(rooms, lambda key: dump_document(documents()[node_of(key)]))
    plan = Plan(metadata, data, lambda: count_bytes(hierarchy), rooms=rooms, late=late)
    with _working(executor, jobs) as workers:
        return write_archive(plan, descriptor, workers, progress)


def _checked(entry: Entry) -> Entry:
    if entry.size > LARGEST_SHARD:
        raise UnsupportedError(
            f"{entry.key}: expected a value of at most {LARGEST_SHARD:,} bytes; found {entry.size:,}",
            hint="Some readers do not read larger entries: choose smaller chunks or shards.",
        )
    return entry


@dataclass
class _Made:
    """A level whose pixels are read from a source, and the lower levels computed from these pixels."""

    pyramid: Pyramid
    shards: list[OpenShards]
    windows: dict[int, Window]

    def finish(self) -> None:
        """Set the contrast of the channels from the sampled pixels, and delete the samples."""
        for number, samples in self.pyramid.samples.items():
            self.windows[number] = percentile_window(np.concatenate(samples))
        self.pyramid.samples.clear()


def _iter_made(documents: HierarchyDocuments, path: str, planned: PlannedImage) -> Iterator[_Made]:
    image = planned.image
    paths = [join_path(path, str(number)) for number in range(len(planned.levels))]
    layouts = [parse_layout(documents.arrays[array], array) for array in paths]
    works = [
        LevelWork(_geometry(level, layout), new_chunk_codec(documents.arrays[array]))
        for level, layout, array in zip(planned.levels, layouts, paths, strict=True)
    ]
    shards = [OpenShards(layout, array) for layout, array in zip(layouts, paths, strict=True)]
    is_sampled = image.label is None and _lacks_windows(image)
    for number, level in enumerate(image.levels):
        # The pyramid of the last given level also makes the levels below it.
        stop = number + 1 if number + 1 < len(image.levels) else None
        pyramid = Pyramid(
            level.source,
            works[number:stop],
            image.pyramid.method,
            channel=image.channel_axis,
            is_sampled=is_sampled and number == 0,
        )
        yield _Made(pyramid, shards[number:stop], planned.windows)


def _geometry(level: PyramidLevel, layout: ArrayLayout) -> LevelGeometry:
    return LevelGeometry(level.shape, layout.chunks, layout.stored_shape, level.halved)


def _lacks_windows(image: NewImage) -> bool:
    known = image.channels[: image.channel_count]
    return len(known) < image.channel_count or any(channel.window is None for channel in known)


@contextmanager
def _working(executor: Executor | None, jobs: int | None) -> Iterator[Workers]:
    """Yield an executor and the number of blocks to compute ahead; shut the executor down if it was created here."""
    if executor is not None:
        yield Workers(_AHEAD_ELSEWHERE if jobs is None else jobs, executor)
        return
    threads = processors() if jobs is None else jobs
    pool = ThreadPoolExecutor(threads, "ozx-image")
    try:
        yield Workers(threads * _AHEAD, pool)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _in_order(pool: Executor, all_made: list[_Made], ahead: int) -> Iterator[tuple[_Made, BlockResult | None]]:
    """Yield the results of blocks in the order of the blocks, with None after the last block of each level."""
    waiting: deque[tuple[_Made, Future[BlockResult] | None]] = deque()
    try:
        for made, task in _iter_tasks(all_made):
            if len(waiting) >= ahead:
                yield _oldest(waiting)
            waiting.append((made, None if task is None else pool.submit(make_block, task)))
        while waiting:
            yield _oldest(waiting)
    finally:
        for _, future in waiting:
            if future is not None:
                future.cancel()


def _iter_tasks(all_made: list[_Made]) -> Iterator[tuple[_Made, BlockTask | None]]:
    for made in all_made:
        for task in made.pyramid.tasks():
            yield made, task
        yield made, None


def _oldest(waiting: deque[tuple[_Made, Future[BlockResult] | None]]) -> tuple[_Made, BlockResult | None]:
    made, future = waiting.popleft()
    return made, None if future is None else future.result()

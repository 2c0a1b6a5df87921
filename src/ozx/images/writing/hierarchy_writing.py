"""Writing of new images into an archive, in one pass over their pixels, with little memory.

::

    source ─ blocks ─→ threads or a cluster: read, halve, encode ─→ chunks ─→ shards ─→ file
                       (make_block)                                 └─ Pyramid, OpenShards, write_archive ┘

A fixed number of blocks is made ahead, and the results are taken in order. So the same pixels give the same bytes
with any executor, and with any number of blocks at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import cache, partial
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ozx.codecs.chunk_codecs import Allocate, take_buffer
from ozx.flow.entry import BytesPart, Entry
from ozx.flow.plan import Plan
from ozx.flow.sinks.archive import write_archive
from ozx.flow.sources.source import StoredDocuments
from ozx.images.writing.documents import HierarchyDocuments, all_images
from ozx.images.writing.new_image import NewHierarchy
from ozx.images.writing.pyramid import Made, Pyramid, make_block, new_level
from ozx.images.writing.shard_assembly import OpenShards, checked_size
from ozx.ome.partial_hierarchy import document_key
from ozx.ome.relayout.layout_choice import LayoutChoice
from ozx.progress import NO_PROGRESS, Progress
from ozx.threads import Workers, in_order, processors, working
from ozx.zarr.json_reading import dump_document
from ozx.zarr.keys import breadth_first, join_path, node_of
from ozx.zarr.layout import parse_layout

if TYPE_CHECKING:  # a thumbnail needs Pillow, which other archives do without
    from ozx.images.thumbnail import Picture

# Blocks in progress or waiting, per thread: enough that threads do not wait for the thread that writes.
_AHEAD = 2
# The parallelism of a cluster is unknown.
_AHEAD_ELSEWHERE = 32


def count_bytes(hierarchy: NewHierarchy) -> int:
    """Return the number of bytes of pixels to read, for a progress bar."""
    sources = [source for image in all_images(hierarchy).values() for source in image.sources]
    return sum(int(np.prod(source.shape, dtype=object)) * source.dtype.itemsize for source in sources)


def write_hierarchy(
    descriptor: int,
    hierarchy: NewHierarchy,
    layout: LayoutChoice | None = None,
    *,
    executor: Executor | None = None,
    ahead: int | None = None,
    progress: Progress = NO_PROGRESS,
    thumbnail: Callable[[], Picture | None] | None = None,
    on_damage: Callable[[tuple[str, ...]], object] | None = None,
) -> tuple[int, int]:
    """Write an archive into the empty file `descriptor`; return the numbers of entries and bytes written.

    `thumbnail` draws a picture of the finished archive.
    """
    allocate = take_buffer if executor is None else None  # another process cannot return a buffer
    plan = plan_hierarchy(hierarchy, layout, allocate, progress=progress, thumbnail=thumbnail, on_damage=on_damage)
    with block_workers(executor, ahead) as workers:
        return write_archive(plan, descriptor, workers, progress)


def plan_hierarchy(
    hierarchy: NewHierarchy,
    layout: LayoutChoice | None = None,
    allocate: Allocate | None = None,
    *,
    progress: Progress = NO_PROGRESS,
    thumbnail: Callable[[], Picture | None] | None = None,
    on_damage: Callable[[tuple[str, ...]], object] | None = None,
) -> Plan:
    """Return the plan of a new hierarchy, whose pixels are read when its data is; then its metadata is complete."""
    nodes = HierarchyDocuments(hierarchy, layout or LayoutChoice(), has_thumbnail=thumbnail is not None)
    pyramids = [pyramid for path in nodes.images for pyramid in _iter_pyramids(nodes, path, allocate)]

    def data(workers: Workers) -> Iterator[Entry]:
        for key, value in hierarchy.files.items():
            yield Entry(key, (BytesPart(value),))
        yield from iter_pixels(pyramids, workers, progress, on_damage)

    documents = cache(nodes.documents)  # complete once all pixels have been read
    drafts = nodes.documents(are_drafts=True)
    lengths = {document_key(path): len(dump_document(draft)) for path, draft in drafts.items()}
    rooms = {key: lengths[key] for key in sorted(lengths, key=breadth_first)}
    metadata = StoredDocuments(rooms, lambda key: dump_document(documents()[node_of(key)]))
    plan = Plan(metadata, data, lambda: count_bytes(hierarchy), rooms=rooms)
    if thumbnail is not None:
        plan.late = partial(_draw, thumbnail, nodes, documents.cache_clear)
    return plan


def _draw(
    thumbnail: Callable[[], Picture | None], nodes: HierarchyDocuments, forget: Callable[[], object]
) -> Iterator[Entry]:
    """Yield the picture of the finished archive; `forget` the documents, which name the picture from now on."""
    drawn = thumbnail()
    if drawn is not None:
        entry, nodes.thumbnail = drawn
        forget()
        yield entry


def iter_pixels(
    pyramids: Iterable[Pyramid],
    workers: Workers,
    progress: Progress = NO_PROGRESS,
    on_damage: Callable[[tuple[str, ...]], object] | None = None,
) -> Iterator[Entry]:
    """Yield the chunks and shards of levels as soon as they are complete, in the same order with any executor."""
    results = in_order(_submitted(workers.executor, pyramids), workers.jobs)
    for pyramid, of_pyramid in groupby(results, lambda pair: pair[0][0]):
        for (_, corner, size), made in of_pyramid:
            for level, place, data in pyramid.accept(corner, made):
                finished = pyramid.shards[level].add(place, data)
                if finished is not None and finished[1] is not None:
                    yield checked_size(finished[1])
            if made[-1] and on_damage is not None:
                on_damage(made[-1])
            progress.advance(size)
        pyramid.finish()


def _iter_pyramids(documents: HierarchyDocuments, path: str, allocate: Allocate | None) -> Iterator[Pyramid]:
    image = documents.images[path]
    paths = [join_path(path, str(number)) for number in range(len(image.levels))]
    layouts = [parse_layout(documents.arrays[array], array) for array in paths]
    works = [
        new_level(level, layout, documents.arrays[array], allocate)
        for level, layout, array in zip(image.levels, layouts, paths, strict=True)
    ]
    shards = [OpenShards(layout, array) for layout, array in zip(layouts, paths, strict=True)]
    is_sampled = image.label is None and image.lacks_windows
    for number, source in enumerate(image.sources):
        # The pyramid of the last given level also makes the levels below it.
        stop = number + 1 if number + 1 < len(image.sources) else None
        yield Pyramid(
            source,
            works[number:stop],
            image.pyramid.method,
            dict(enumerate(shards[number:stop])),
            channel=image.channel_axis,
            windows=documents.windows[path] if is_sampled and number == 0 else None,
        )


@contextmanager
def block_workers(executor: Executor | None = None, ahead: int | None = None) -> Iterator[Workers]:
    """Yield an executor, by default one thread per core, and the number of blocks that it gets ahead."""
    if executor is not None:
        yield Workers(_AHEAD_ELSEWHERE if ahead is None else ahead, executor)
        return
    threads = processors()
    with working(threads) as workers:
        yield Workers(_AHEAD * threads, workers.executor)


def _submitted(
    executor: Executor, pyramids: Iterable[Pyramid]
) -> Iterator[tuple[tuple[Pyramid, tuple[int, ...], int], Future[Made]]]:
    for pyramid in pyramids:
        for size, task in pyramid.tasks():
            yield (pyramid, task[1], size), executor.submit(make_block, *task)

"""Pixels of cropped arrays: chunks that are decoded and encoded again, and the levels computed from them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import partial
from tempfile import TemporaryDirectory

import zarr

from ozx.codecs.pixel_codec import open_codec
from ozx.codecs.zarr_errors import refused_by_zarr
from ozx.errors import UnsupportedError
from ozx.flow.entry import Entry
from ozx.flow.plan import Plan
from ozx.flow.plans.subset import ExtractionPlanner, SubsetPlan
from ozx.flow.repair.hierarchy import open_repaired
from ozx.flow.repair.source import RepairedSource
from ozx.flow.sinks.archive import write_archive
from ozx.flow.sources.source import Source
from ozx.images.pixel_source import ArraySource, CroppedSource
from ozx.images.writing.documents import group_document
from ozx.images.writing.downsampling import halved_shape
from ozx.images.writing.hierarchy_writing import iter_pixels
from ozx.images.writing.pyramid import LevelPlan, Pyramid
from ozx.images.writing.shard_assembly import OpenShards
from ozx.ome.subset.hierarchy import CroppedArray, Subset
from ozx.ome.subset.region import Selection
from ozx.places.place import Place
from ozx.progress import NO_PROGRESS
from ozx.store.array import opened_array
from ozx.store.level import Level
from ozx.store.opening import opened_hierarchy
from ozx.store.read_only_stores import open_source_group
from ozx.threads import Workers, working
from ozx.zarr.json_reading import dump_document
from ozx.zarr.keys import METADATA, join_path

_KINDS = "biufc"


def iter_encoded(
    repaired: RepairedSource,
    place: Place,
    node: str,
    source: Source,
    subset: Subset,
    chunks: Iterable[Entry],
    workers: Workers,
) -> Iterator[Entry]:
    """Yield the entries of the arrays that a part of a hierarchy decodes, block by block, so that memory is bounded.

    `repaired` is the hierarchy at `place`, `source` its part below `node`, and `chunks` are those to decode.
    """
    start = ""
    with ExitStack() as opened:
        if repaired.remote is not None:
            group, subset = opened.enter_context(_fetched(subset, chunks, workers))
        elif place.kind() == "a file" and not repaired.repairs and not repaired.left_out:
            # The store of a file reads pixels faster than that of a source, but repairs nothing.
            group, start = opened.enter_context(opened_hierarchy(place)), node
        else:
            group = open_source_group(source, 3)
        yield from iter_pixels((_make(group, start, subset, path) for path in subset.decoded()), workers)


@contextmanager
def _fetched(subset: Subset, chunks: Iterable[Entry], workers: Workers) -> Iterator[tuple[zarr.Group, Subset]]:
    """Yield a local copy of the arrays to decode, cropped to whole chunks, and the subset of this copy.

    Neighbouring blocks share chunks. From a server, each chunk is requested once, and adjacent ones together.
    """
    wholes = {path: subset.arrays[path].whole(path) for path in subset.decoded()}
    documents = {"": group_document(), **{path: whole.document for path, whole in wholes.items()}}
    metadata = {join_path(path, METADATA): dump_document(document) for path, document in documents.items()}
    with TemporaryDirectory(prefix="ozx-crop-") as folder:
        file_of_chunks = os.path.join(folder, "chunks.ozx")
        with open(file_of_chunks, "xb") as file:
            write_archive(Plan(metadata, lambda _: chunks, lambda: 0), file.fileno(), workers, NO_PROGRESS)
        fetched = copy(subset)
        fetched.arrays = subset.arrays | {path: subset.arrays[path].within(whole) for path, whole in wholes.items()}
        with opened_hierarchy(Place(file_of_chunks)) as group:
            yield group, fetched


def _make(group: zarr.Group, start: str, subset: Subset, path: str) -> Pyramid:
    """Return the levels to make of a cropped array; the array itself is left out if its chunks are moved."""
    first = subset.arrays[path]
    with refused_by_zarr(path):
        array = opened_array(group[join_path(start, path)])
    pixels = Level(array, path)
    if pixels.dtype.kind not in _KINDS:  # a text of one chunk may fill the memory, and no image has such pixels
        raise UnsupportedError(
            f"{path}: expected pixels that are numbers, which can be cropped; found {pixels.dtype}",
            hint="Extract whole chunks: whole_chunks=True.",
        )
    works, shards = [_work(path, first, (), is_stored=not first.is_movable)], {}
    if not first.is_movable:
        shards[0] = OpenShards(first.new, path)
    for lower, halvings in first.levels:
        for halved in halvings[:-1]:
            shape = halved_shape(works[-1].shape, halved)
            works.append(LevelPlan(shape, (1,) * len(shape), (1,) * len(shape), halved, None))
        shards[len(works)] = OpenShards(subset.arrays[lower].new, lower)
        works.append(_work(lower, subset.arrays[lower], (halvings or ((),))[-1], is_stored=True))
    axes = tuple(map(str, range(len(first.box.shape))))
    source = CroppedSource(ArraySource(pixels, axes), first.box)
    return Pyramid(source, works, first.method, shards, channel=first.channel)


def _work(path: str, array: CroppedArray, halved: tuple[int, ...], *, is_stored: bool) -> LevelPlan:
    layout = array.new
    lengths = layout.shape, layout.chunks, layout.stored_shape
    if not is_stored:
        return LevelPlan(*lengths, halved, None)
    codec = open_codec(array.document, path)
    return LevelPlan(*lengths, halved, codec.codec or codec, fill_value=codec.fill_value)


@contextmanager
def cropped_file(place: Place, node: str, selection: Selection) -> Iterator[tuple[Place, SubsetPlan]]:
    """Yield the place of a temporary file with a part of a hierarchy, whose root is `node`; and the part's plan."""
    with (
        open_repaired(place) as source,
        working() as workers,
        TemporaryDirectory(prefix="ozx-crop-") as folder,
    ):
        encode = partial(iter_encoded, source, place, node)
        plan = ExtractionPlanner(source, node, encode, reads_once=source.remote is not None).take(selection)
        cropped = os.path.join(folder, "crop.ozx")
        with open(cropped, "xb") as file:
            write_archive(plan, file.fileno(), workers, NO_PROGRESS)
        source.check_unchanged()
        yield Place(cropped), plan

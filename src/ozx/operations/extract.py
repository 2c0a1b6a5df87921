"""extract: write a part of an OME-Zarr hierarchy to a new .ozx file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from ozx.calls import JsonResult, public_call
from ozx.errors import OzxError, UsageError
from ozx.flow.entry import Entry
from ozx.flow.plans.ome_version import VersionChoice, in_version
from ozx.flow.plans.subset import ExtractionPlanner, SubsetPlan
from ozx.flow.read_ahead import spans_of
from ozx.flow.repair.hierarchy import open_repaired
from ozx.flow.repair.source import RepairedSource
from ozx.flow.sinks.archive import write_archive
from ozx.flow.sinks.file_size import archive_size, parse_size
from ozx.flow.sinks.output import Output
from ozx.flow.sinks.target import check_name, name_notes, swept_notes
from ozx.flow.sources.source import Source
from ozx.ome.partial_hierarchy import PartialHierarchy
from ozx.ome.recovered import describe_array, describe_pixels, pixels_by_axis
from ozx.ome.subset.hierarchy import ExtractedImageResult, Subset
from ozx.ome.subset.region import Bounds, Selection, parse_channels, parse_levels, parse_region
from ozx.places.place import Place, StrPath
from ozx.progress import NO_PROGRESS, Progress, begin_phase, needs_total
from ozx.threads import Workers, working
from ozx.validation.container.one_hierarchy import check_new_metadata
from ozx.zarr.json_reading import parse_document
from ozx.zarr.keys import is_metadata_key, join_path

# The most images that a result describes; a plate has tens of thousands of similar images.
_DESCRIBED = 100
# The start of a message about a value that cannot be read.
_ENTRY = re.compile("entry '([^']+)'")


@dataclass(frozen=True, slots=True)
class ExtractResult(JsonResult):
    """The result of an extraction.

    Attributes
    ----------
    source, path
        The source, as given, and the written file.
    node
        Path of the node that became the root; the root's is empty.
    entries, bytes
        Number of entries, and length of the file in bytes.
    ome_version
        Its OME-Zarr version.
    images
        The first 100 images, label images included.
    image_count
        Number of all images.
    notes
        Remarks, one sentence each.
    requests, bytes_read
        For a URL: the number of requests, and the number of received bytes. For a dry run on a local source,
        `bytes_read` is the total size of the values to read, without metadata.
    dry_run
        Whether nothing was written. If chunks are to be encoded again, the numbers of a dry run are estimates.
    """

    source: str
    path: str
    node: str
    entries: int
    bytes: int
    ome_version: str
    images: tuple[ExtractedImageResult, ...]
    image_count: int
    notes: tuple[str, ...] = ()
    requests: int | None = None
    bytes_read: int | None = None
    dry_run: bool = False


class _TooLargeError(Exception):
    """The new file is larger than it may be."""


@public_call()
def extract(
    path: StrPath,
    out: StrPath,
    *,
    node: str = "",
    levels: str | int | slice | None = None,
    region: str | Mapping[str, Bounds] | None = None,
    channels: str | int | Iterable[str | int] | None = None,
    max_size: str | int | None = None,
    whole_chunks: bool = False,
    ome_version: str | None = None,
    drop_transformations: bool = False,
    force: bool = False,
    dry_run: bool = False,
    sync: bool = True,
    progress: Progress | None = None,
) -> ExtractResult:
    """Extract a part of a hierarchy into a new .ozx file; pixels keep their positions in space.

    A region is a crop: it has exactly the requested pixels, and so have the label images. Its chunks are copied if it
    begins and ends at borders of chunks, otherwise they are decoded and encoded again. Lower levels are computed anew,
    as `ozx.write_image` computes them: labels by the nearest pixel. Scales, codecs, chunks and shards stay, and
    translations give the position of the region. All else is copied without decoding. The chunks of a URL that are
    decoded wait in a temporary file (in ``TMPDIR``).

    Parameters
    ----------
    path
        An .ozx file or a directory with OME-Zarr 0.5 or 0.6, or a node in it
        (``plate.ozx/A/1/0``).
    out
        The file to write.
    node
        Path of a plate, well, image, label image or any other group, below the node of `path` if `path` names a node.
        This group becomes the root.
    levels
        Resolution levels as a Python slice: ``"2:"`` selects all but the two finest, ``":3"`` the three finest,
        ``"-1"`` the coarsest; 0 is the finest. An image that has none of these levels keeps the nearest level.
    region
        Pixels of the full resolution by axis: ``"y=0:2048,x=-2048:,t=3"``, or a mapping of axes to ranges
        ``(start, stop)``, slices or single indices. With a unit, ``"y=10:20um,x=5um:0.1mm"``, these are the pixels with
        centres from the first position on, and before the second; pixel i is at i·scale + translation. A region that
        reaches beyond the image is an error, not clipped.
    channels
        Channels by name or number: ``"DAPI,GFP"``, ``"0,1"``, or a list. They keep the order of the file.
    max_size
        The largest size of the file, in bytes or as ``"20MB"``. The finest levels, the same number in all images, are
        left out until the file fits.
    whole_chunks
        Whether nothing is decoded: a region grows to the borders of chunks, or of inner chunks in shards, and channels
        that share a chunk stay together. All levels show the same region; levels whose chunks are too large for this
        region are left out unless `levels` names them.
    ome_version, drop_transformations
        OME-Zarr version of the result, ``"0.5"`` or ``"0.6"``; by default that of the source. Only metadata change. 0.5
        cannot express scenes, further coordinate systems and transformations. They are an error, or with
        `drop_transformations` they are left out with a note.
    force
        Whether an existing file may be replaced; the old one stays until the new one is complete.
    dry_run
        Whether to write nothing, and only return the numbers of what would be written and read. For a URL, a real run
        makes the same number of requests and reads the same number of bytes, unless a request fails and is repeated, or
        chunks are encoded again.
    sync
        Whether to wait until the file is on the disk.
    progress
        Receives the number of bytes written.

    Returns
    -------
    ExtractResult
        The extracted part: node, levels and region of each image.

    Raises
    ------
    UsageError
        `out` exists or is a URL that ozx only reads; there is no such node, axis or level; the region is outside of an
        image; nothing fits.
    FormatError
        `path` is no OME-Zarr hierarchy, or is damaged; `rule` names the broken rule.
    UnsupportedError
        It is OME-Zarr 0.4; extensions that are not understood forbid the change, or refer to a node that is left out.
    ResourceError
        Reading or writing failed. After any error, `out` is as it was before.

    Examples
    --------
    >>> result = extract("cells.ozx", "corner.ozx", region="y=0:100,x=0:100", force=True)
    >>> result.images[0].levels, result.images[0].region
    (('0',), {'y': (0, 100), 'x': (0, 100)})
    >>> extract("cells.ozx", "more.ozx", region="y=0:100,x=0:100", whole_chunks=True, force=True).images[0].region
    {'y': (0, 128), 'x': (0, 128)}
    """
    progress = progress or NO_PROGRESS
    output = Output(Place.output(out, remote=True), force=force, sync=sync)
    check_name(output.path, "an .ozx file")
    version = VersionChoice(ome_version, drop_transformations)
    chosen = None if levels is None else parse_levels(levels)
    selection = Selection(chosen, parse_region(region), channels=parse_channels(channels), whole_chunks=whole_chunks)
    limit = None if max_size is None else parse_size(max_size)
    place = Place.parse(path)
    _check_target(place, replace(output, force=force or dry_run))
    root = join_path(place.node, node)
    with open_repaired(Place(place.path)) as source, working() as workers:
        try:
            encode = partial(_encode, source, Place(place.path), root)
            extractor = ExtractionPlanner(source, root, encode, reads_once=source.remote is not None)
            least = limit
            while True:
                plan = extractor.take(selection) if least is None else extractor.take_within(selection, least)
                plan = in_version(plan, version)
                said = check_new_metadata(plan.metadata, plan.legacy_keys, path=source.name, node=root)
                if dry_run:
                    return _predict(place, output, root, source, plan)
                # Counting the bytes needs a second look at each shard; for a URL, this is one request for each shard.
                is_counted = needs_total(progress) and source.remote is None
                phase = begin_phase(progress, os.path.basename(output.path), plan.count_bytes() if is_counted else None)
                with (
                    suppress(_TooLargeError),
                    output.file(expected=plan.count_bytes) as new,
                ):
                    entries, size = write_archive(plan, new.descriptor, workers, phase)
                    source.check_unchanged()
                    if limit is None or size <= limit:
                        break
                    raise _TooLargeError
                # What is encoded anew has another size than what was counted.
                least = (least or size) * (limit or size) // size
            phase.stop()
        except OzxError as error:
            raise _with_pixels(error, source).at(Place(place.path).name) from None
        result = _result(place, output, root, source, plan)
        notes = (*result.notes, *said, *name_notes(output.place, has_out_dir=False), *swept_notes(new.swept))
        return replace(result, entries=entries, bytes=size, notes=notes)


def _with_pixels(error: OzxError, source: RepairedSource) -> OzxError:
    """Return an error of reading; if it is about a damaged chunk, its message begins with the pixels of the chunk."""
    found, hierarchy = _ENTRY.match(error.message), PartialHierarchy()
    if found is None:
        return error
    with suppress(OzxError):
        for key in filter(is_metadata_key, source.iter_keys()):
            hierarchy.add(key, parse_document(source.read(key), key))
        role = hierarchy.role(found[1])
        grid = None if role.array is None else hierarchy.grids.get(role.array)
        if role.kind == "chunk" and role.array is not None and grid is not None:
            axes = hierarchy.axes.get(role.array, ())
            where = describe_pixels(pixels_by_axis(axes, grid.region(role.place)))
            what = describe_array(*hierarchy.level_of(role.array))
            error.message = f"{what} is damaged within {where}: {error.message}"
    return error


def _encode(
    repaired: RepairedSource,
    place: Place,
    root: str,
    part: Source,
    subset: Subset,
    chunks: Iterable[Entry],
    workers: Workers,
) -> Iterable[Entry]:
    from ozx.images.writing.cropping import iter_encoded  # noqa: PLC0415 (loads zarr, which moving does not need)

    return iter_encoded(repaired, place, root, part, subset, chunks, workers)


def _result(place: Place, output: Output, root: str, source: RepairedSource, plan: SubsetPlan) -> ExtractResult:
    """Return the result before the file is written: without the file's entry count and size."""
    images, remote = plan.images, source.remote
    return ExtractResult(
        source=place.name,
        path=output.path,
        node=root,
        entries=0,
        bytes=0,
        ome_version=plan.version,
        images=images[:_DESCRIBED],
        image_count=len(images),
        notes=(*source.repaired, *plan.all_notes()),
        requests=None if remote is None else remote.requests,
        bytes_read=None if remote is None else remote.bytes_read,
    )


def _predict(place: Place, output: Output, root: str, source: RepairedSource, plan: SubsetPlan) -> ExtractResult:
    """Return the result that a run with the same options would have."""
    data = list(plan.read())
    entries = [*plan.iter_head(), *data]
    result = _result(place, output, root, source, plan)
    if plan.is_encoding:
        estimated = "sizes are estimates, because chunks are encoded again: they are those of the chunks that are read"
        result = replace(result, notes=(*result.notes, estimated))
    requests, received = result.requests, result.bytes_read or sum(entry.size for entry in data)
    if source.remote is not None and requests is not None:
        missing = [source.remote.missing(*span) for span in spans_of(data)]
        requests += sum(1 for length in missing if length)
        received += sum(missing)
    size = archive_size(entries, plan.comment)
    return replace(result, entries=len(entries), bytes=size, requests=requests, bytes_read=received, dry_run=True)


def _check_target(source: Place, output: Output) -> None:
    output.check_surroundings(source)
    if output.path.endswith(("/", os.sep, ".zarr")):
        raise UsageError(
            f"expected the name of a file to make, such as part.ozx; got {output.path}",
            hint="Extract into an .ozx file; ozx unpack makes a directory of it.",
        )
    output.check_file()
    if output.replaces(source):
        raise UsageError(f"{output.path} is the file to extract from", hint="Choose another name.")

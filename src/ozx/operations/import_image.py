"""import: convert image files, TIFF and those of microscopes, to .ozx files with all levels, in one pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ozx.calls import JsonResult, public_call
from ozx.errors import OzxError, UsageError
from ozx.flow.batch import describe_failure_of, run_batch
from ozx.flow.batch_checks import check_distinct
from ozx.flow.sinks.output import Output
from ozx.flow.sinks.target import check_name, name_notes, swept_notes
from ozx.flow.sinks.verification import measure_archive
from ozx.flow.tasks import absolute_source
from ozx.images.writing.hierarchy_writing import block_workers, count_bytes, write_hierarchy
from ozx.images.writing.new_image import NewHierarchy, PyramidChoice
from ozx.ome.conversion_05_06 import checked_version
from ozx.ome.edit.request import PixelSize, parse_edits
from ozx.ome.relayout.layout_choice import LayoutChoice
from ozx.ome.subset.region import (
    Bounds,
    ChannelsLike,
    RegionLike,
    Selection,
    parse_bounds,
    parse_channels,
    parse_range,
    parse_region,
)
from ozx.places.place import Place, StrPath, check_is_list
from ozx.progress import NO_PROGRESS, Progress, begin_phase
from ozx.readers.hierarchy import HierarchyOptions, plan_images, stem_of
from ozx.readers.images import Images, ReadingOptions
from ozx.readers.imported import first_source, growth_notes, has_images, other_metadata
from ozx.readers.registry import open_images
from ozx.readers.tiff.opening import count_files
from ozx.readers.tiff.pages import parse_axes

if TYPE_CHECKING:  # loads zarr and Pillow
    from ozx.images.thumbnail import Picture

# The most damaged parts that a result names.
_MOST_DAMAGE = 20
_NOT_COMPARED = (
    "the pixels were not read again; if parts of the file were filled with zeros, the output of the run that "
    "wrote the file lists them"
)


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result for one image file; true unless it failed.

    Attributes
    ----------
    source, path
        The image file, and the written file.
    status
        ``imported``; ``skipped`` when `resume` found the file complete, or for a part of another source; ``failed``.
    images
        Number of images in the file; 0 for a failure.
    entries, bytes
        Number of entries, and length of the file in bytes; 0 for a failure.
    notes
        Remarks, one sentence each.
    damage
        The first parts of the source that could not be read and became zeros in the file (`on_error`), one sentence
        each.
    part_of
        The source whose image this file is a part of, if that source is in the same batch; else None.
    joined
        Of a folder, what its files became, as in ``6 files → t 3, c 2, y 256, x 256``; else None.
    error
        For a failure ``{"code", "message", "rule", "hint"}``, else None.
    """

    source: str
    path: str
    status: Literal["imported", "skipped", "failed"]
    images: int = 0
    entries: int = 0
    bytes: int = 0
    notes: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    part_of: str | None = None
    joined: str | None = None
    error: dict[str, str | None] | None = None

    def __bool__(self) -> bool:
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        """Return one element of ``results`` in ``ozx import --json``."""
        return {**asdict(self), "notes": list(self.notes), "damage": list(self.damage)}


@dataclass(frozen=True, slots=True)
class ImportManyResult(JsonResult):
    """The results for several image files; true unless one failed.

    Attributes
    ----------
    results
        One for each source, in their order.
    """

    results: tuple[ImportResult, ...]

    def __bool__(self) -> bool:
        return all(self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ImportOptions:
    """The options of `import_image`, with the same names and defaults."""

    axes: str | Sequence[str] | None = None
    keep_singletons: bool = False
    series: int | None = None
    pattern: str | None = None
    region: RegionLike | None = None
    channels: ChannelsLike | None = None
    times: str | Bounds | None = None
    pixel_size: PixelSize | None = None
    unit: str | Mapping[str, str] | None = None
    channel_names: Sequence[str | None] | None = None
    colors: Sequence[str | None] | None = None
    name: str | None = None
    ome_xml: str = "keep"
    labels: bool = False
    reuse_levels: bool = False
    method: str | None = None
    downsample: str | Sequence[str] | None = None
    chunks: str | Mapping[str, int] | None = None
    shards: str | Mapping[str, int] = "auto"
    codec: str | None = None
    chunk_checksums: str | None = None
    ome_version: str = "0.5"
    on_error: str = "fail"
    thumbnail: bool = False
    force: bool = False
    resume: bool = False
    sync: bool = True
    executor: Executor | None = None


@dataclass(frozen=True, slots=True)
class _Order:
    """The validated options of an import."""

    reading: ReadingOptions
    options: HierarchyOptions
    layout: LayoutChoice
    thumbnail: bool
    force: bool
    resume: bool
    sync: bool
    executor: Executor | None
    ahead: int | None = None  # the most blocks submitted to an executor at a time


@public_call()
def import_image(  # noqa: PLR0913 (one argument for each option of the command)
    source: StrPath,
    out: StrPath | None = None,
    *,
    axes: str | Sequence[str] | None = None,
    keep_singletons: bool = False,
    series: int | None = None,
    pattern: str | None = None,
    region: RegionLike | None = None,
    channels: ChannelsLike | None = None,
    times: str | Bounds | None = None,
    pixel_size: PixelSize | None = None,
    unit: str | Mapping[str, str] | None = None,
    channel_names: Sequence[str | None] | None = None,
    colors: Sequence[str | None] | None = None,
    name: str | None = None,
    ome_xml: str = "keep",
    labels: bool = False,
    reuse_levels: bool = False,
    method: str | None = None,
    downsample: str | Sequence[str] | None = None,
    chunks: str | Mapping[str, int] | None = None,
    shards: str | Mapping[str, int] = "auto",
    codec: str | None = None,
    chunk_checksums: str | None = None,
    ome_version: str = "0.5",
    on_error: str = "fail",
    thumbnail: bool = False,
    force: bool = False,
    resume: bool = False,
    sync: bool = True,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> ImportResult:
    """Convert an image file, TIFF or one of a microscope, to an .ozx file with all levels, in one pass over the pixels.

    A file with one image becomes an image, a file with several images becomes a series (bioformats2raw layout), and the
    fields of an OME-XML plate become a plate. A folder of one plane per file becomes one image, a series or a plate.

    Parameters
    ----------
    source
        A TIFF file of any kind, a ``.companion.ome`` file, or with the extra ``formats`` a CZI, ND2, LIF or IMS file.
        Or a folder: of TIFF files whose names differ only in numbers of axes, as ``img_t001_c1.tif``; of Micro-Manager;
        or of a plate with an index file.
    out
        The file to write; by default ``cells.ome.tif`` becomes ``cells.ozx`` beside it.
    axes
        The dimensions longer than 1 in the order of the file, such as ``tczyx``, instead of those that the file names.
    keep_singletons, series
        Whether axes of length 1 stay; the number of the only image to import, counted from 0.
    pattern
        What varies in the names of the files of a folder: ``{t}``, ``{c}``, ``{z}``, ``{s}`` (positions) or
        ``{well}``, as in ``img_t{t}_c{c}.tif``; ``*`` stands for any text. Other files are left out.
    region, channels
        The pixels and channels to read, instead of all; see `ozx.extract`. They keep their places.
    times
        The time points to read: ``"2:5"``, one index, a range ``(start, stop)``, or in a unit, ``"10:60s"``.
    pixel_size, unit, channel_names, colors, name
        Values instead of those of the file; as for `ozx.edit`.
    ome_xml
        ``keep`` stores the original OME-XML as ``OME/METADATA.ome.xml``, ``drop`` does not.
    labels, reuse_levels
        Whether the image is a label image; whether smaller levels of the file are used, as far as they fit.
    method, downsample
        ``mean`` (the default), ``nearest`` (for labels) or ``mode``; the axes to halve, or ``none`` for the full
        resolution only.
    chunks, shards, codec, chunk_checksums
        Another layout than the default; see `ozx.repack`. By default, chunks in shards end in a checksum.
        ``chunk_checksums="add"`` also adds a checksum to chunks outside of shards, ``"drop"`` adds no checksum.
    on_error
        ``fail``, or ``fill``: zeros in place of damaged or missing parts, which the result lists.
    ome_version, thumbnail, force, sync
        The OME-Zarr version to write, ``"0.5"`` or ``"0.6"``; the others as for `ozx.pack`.
    resume
        Do nothing if `out` exists and has the same images.
    executor
        Executor that decodes, halves and encodes; by default one thread per core. The executor of Dask,
        ``Client.get_executor()``, uses the workers of a cluster, which need to see the file under the same path.
    progress
        Receives the number of bytes of pixels read.

    Returns
    -------
    ImportResult
        The written file, the number of its images, and the parts that could not be carried over.

    Raises
    ------
    FormatError
        `source` has another format, is damaged, or lacks other files that belong to it.
    UnsupportedError
        Its pixels cannot be decoded, or have a type that OME-Zarr images cannot have.
    UsageError
        `out` exists or is a URL that ozx only reads, or an option does not fit the file.
    ResourceError
        Reading or writing failed. After any error, `out` is as it was before.

    Examples
    --------
    >>> import numpy, tifffile
    >>> tifffile.imwrite("dots.ome.tif", numpy.eye(600, dtype="uint16"), tile=(256, 256), compression="zlib")
    >>> result = import_image("dots.ome.tif", pixel_size={"y": 0.65, "x": 0.65}, unit="micrometer")
    >>> result.path, result.images
    ('dots.ozx', 1)
    """
    given = locals()  # tests/surface/test_options.py compares the fields with the arguments
    options = _ImportOptions(**{field.name: given[field.name] for field in fields(_ImportOptions)})
    target = None if out is None else Place.output(out, remote=True)
    check_name("" if target is None else target.path, "an .ozx file")
    order = _parse(options)
    path = Place.local(source).path
    place = target or Place.output(_default_output(path))
    return _import_one(path, place, order, progress or NO_PROGRESS, first_source())


@public_call()
def import_images(
    sources: Iterable[StrPath],
    *,
    out_dir: StrPath | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    on_result: Callable[[ImportResult], object] | None = None,
    file_executor: Executor | None = None,
    **options: Any,
) -> ImportManyResult:
    """Import several image files, `jobs` at a time; an error in one file does not stop the other imports.

    If several files together form one image, the import of the first file covers all of them; the others are skipped.

    Parameters
    ----------
    sources
        The files.
    out_dir
        The folder for the files, created if it is missing; by default each file goes beside its source.
    jobs
        Number of sources imported at the same time; together they have one thread per core.
    progress
        Receives the number of bytes of pixels read.
    on_result
        Called with each result as soon as the result exists, in the calling thread.
    file_executor
        Executor that runs tasks for groups of files, instead of `jobs` threads, such as that of a Dask cluster.
        Its workers need to see the files under the same absolute paths, else the files fail; results have absolute
        paths. `progress` then gets no bytes, only regular calls of ``advance(0)``, in which it can cancel the batch;
        tasks that have begun continue after the call.
    **options
        As for `import_image`.

    Returns
    -------
    ImportManyResult
        The result for each source; a failed one has the status ``failed``, and the error.

    Raises
    ------
    UsageError
        Two sources would become the same file, a source is a URL, `out_dir` is a URL that ozx only reads, or an option
        is invalid; then nothing is imported.
    ResourceError
        `out_dir` cannot be made.

    Examples
    --------
    >>> import numpy, tifffile
    >>> tifffile.imwrite("cells.1.tif", numpy.eye(64, dtype="uint8"))
    >>> tifffile.imwrite("cells.2.tif", numpy.eye(64, dtype="uint8"))
    >>> many = import_images(["cells.1.tif", "cells.2.tif", "missing.tif"], out_dir="imported")
    >>> [(result.status, result.path) for result in many.results]
    [('imported', 'imported/cells.1.ozx'), ('imported', 'imported/cells.2.ozx'), ('failed', 'imported/missing.ozx')]
    """
    progress = progress or NO_PROGRESS
    if unknown := sorted(options.keys() - {field.name for field in fields(_ImportOptions)}):
        raise TypeError(f"import_images() got an unexpected keyword argument {unknown[0]!r}")
    check_is_list(sources, "ozx.import_image")
    parsed = _parse(_ImportOptions(**options))
    folder = None if out_dir is None else Place.output(out_dir, remote=True)
    paths = [Place.local(source).path for source in sources]
    names = (_default_output(path, None if folder is None else folder.path) for path in paths)
    targets = [Place.output(name, remote=True).path for name in names]
    check_distinct(paths, targets, verb="Import")
    if folder is not None:
        folder.make_folder()
    first_of = first_source(paths, parsed.reading)
    pairs = list(zip(paths, targets, strict=True))
    is_told: dict[str, Any] = {"what": "files", "progress": progress, "on_result": on_result}
    if file_executor is not None:
        parts, alone = _parts(list(map(absolute_source, paths)), parsed, first_of), replace(parsed, executor=None)
        first, again = (partial(_import_task, alone, parts, is_new=is_new) for is_new in (False, True))
        is_told |= {"executor": file_executor, "again": again}
        return ImportManyResult(run_batch(first, _failure, pairs, jobs=1, **is_told))
    with _sharing(parsed) if jobs > 1 and len(pairs) > 1 else nullcontext(parsed) as order:

        def work(path: str, target: str, told: Progress) -> ImportResult:
            return _import_one(path, Place(target), order, told, first_of)

        return ImportManyResult(run_batch(work, _failure, pairs, jobs=jobs, **is_told))


def _failure(path: str, target: str, error: OzxError) -> ImportResult:
    return ImportResult(path, target, "failed", error=describe_failure_of(path, target, error, can_resume=True))


def _parts(paths: Sequence[str], order: _Order, first_of: Callable[[Images], str]) -> dict[str, str]:
    """Map each source to the earlier source with the same image files; leave out sources without an earlier one."""
    parts = {}
    for path in paths:
        # Only OME-TIFF has images of several files. Errors are ignored here: the task of each file reports them.
        with suppress(Exception):
            if count_files(path) > 1:
                with open_images(path, order.reading) as found:
                    if (first := first_of(found)) != path:
                        parts[path] = first
    return parts


def _import_task(
    order: _Order, parts: Mapping[str, str], path: str, target: str, progress: Progress, *, is_new: bool
) -> ImportResult:
    """Import a file as a task of a cluster; if the cluster repeats the task, accept the output of its first run."""
    if path in parts:
        whole = _default_output(parts[path], os.path.dirname(target))
        return ImportResult(path, whole, "skipped", part_of=parts[path])
    if not is_new:
        return _import_one(path, Place(target), order, progress, first_source())
    result = _import_one(path, Place(target), replace(order, resume=True), progress, first_source())
    return replace(result, status="imported")


def _parse(asked: _ImportOptions) -> _Order:
    """Return the options of `import_image` after validation; raise `UsageError` if one is invalid."""
    for name, value, allowed in (
        ("on_error", asked.on_error, ("fail", "fill")),
        ("ome_xml", asked.ome_xml, ("keep", "drop")),
    ):
        if value not in allowed:
            raise UsageError(f"expected {' or '.join(allowed)} as {name}; got {value!r}")
    edits = {name: getattr(asked, name) for name in ("pixel_size", "unit", "channel_names", "colors", "name")}
    return _Order(
        ReadingOptions(
            None if asked.axes is None else parse_axes("".join(asked.axes)),
            asked.keep_singletons,
            "fill" if asked.on_error == "fill" else "fail",
            asked.series,
            with_levels=asked.reuse_levels,
            pattern=asked.pattern,
        ),
        HierarchyOptions(
            is_alone=asked.series is not None,
            edits=parse_edits(**edits) if any(value is not None for value in edits.values()) else None,
            keep_ome_xml=asked.ome_xml == "keep",
            pyramid=PyramidChoice.parse(asked.method, asked.downsample, is_label=asked.labels),
            is_label=asked.labels,
            version=checked_version(asked.ome_version),
            selection=_selection(asked),
        ),
        LayoutChoice.parse(asked.shards, asked.chunks, asked.codec, chunk_checksums=asked.chunk_checksums),
        thumbnail=asked.thumbnail,
        force=asked.force,
        resume=asked.resume,
        sync=asked.sync,
        executor=asked.executor,
    )


def _selection(asked: _ImportOptions) -> Selection | None:
    region, channels = parse_region(asked.region), parse_channels(asked.channels)
    if asked.times is not None:
        if "t" in region:
            raise UsageError("times are given twice: as times and in the region", hint="Give only one of them.")
        region["t"] = parse_range("t", asked.times) if isinstance(asked.times, str) else parse_bounds("t", asked.times)
    return Selection(region=region, channels=channels) if region or channels else None


@contextmanager
def _sharing(options: _Order) -> Iterator[_Order]:
    """Yield the options with an executor: the given executor, or a thread pool that all images share."""
    with block_workers(options.executor) as workers:
        yield replace(options, executor=workers.executor, ahead=workers.jobs)


def _default_output(source: str, out_dir: str | None = None) -> str:
    """Return the default output path of a source: ``scans/cells.ome.tif`` becomes ``scans/cells.ozx``."""
    if os.path.isdir(source):  # scans/ becomes scans.ozx, and . becomes ../scans.ozx
        source = os.path.normpath(source)
        source = os.path.abspath(source) if source.endswith(".") else source
    return os.path.join(os.path.dirname(source) if out_dir is None else out_dir, f"{stem_of(source)}.ozx")


def _import_one(
    source: str, place: Place, order: _Order, progress: Progress, first_of: Callable[[Images], str]
) -> ImportResult:
    output, target = Output(place, order.force, sync=order.sync), place.path
    output.check_surroundings()
    with open_images(source, order.reading) as found:
        result = ImportResult(source, target, "imported", found.count, joined=found.joined)
        first = first_of(found)
        if first != source:
            path = _default_output(first, os.path.dirname(target))
            return replace(result, status="skipped", path=path, part_of=first)
        if any(output.replaces(Place(path)) for path in (source, *found.files)):
            raise UsageError(f"{target} is the file to import", hint="Choose another name.")
        try:
            hierarchy, notes = plan_images(found, replace(order.options, target=place.name))
        except OzxError as error:
            raise error.at(source) from None
        result = replace(result, images=len(hierarchy.images), notes=(*found.notes, *notes))
        was_there = order.resume and place.exists()
        is_part = order.options.selection is not None
        if was_there:
            if has_images(place, hierarchy, is_part=is_part):
                return _skip(result, found, order)
            if not order.force:
                raise UsageError(
                    f"{target} exists, but does not have the images of {source}",
                    hint="Give force=True to replace it.",
                )
        output.check_file()
        try:
            return _write(result, output, found, hierarchy, order, progress)
        except UsageError:
            is_new = order.resume and not (was_there or order.force) and place.exists()
            if not (is_new and has_images(place, hierarchy, is_part=is_part)):
                raise
        return _skip(result, found, order)  # another run made it meanwhile


def _skip(result: ImportResult, found: Images, order: _Order) -> ImportResult:
    """Return the result for a file that was found complete; its pixels were not compared with the source.

    Of the notes, only those about the source apply.
    """
    place = Place(result.path)
    entries, size = measure_archive(place)
    not_compared = [_NOT_COMPARED] if order.reading.on_error == "fill" else []
    notes = (*found.notes, *not_compared, *other_metadata(place, order.options.edits))
    damage = _first_sentences(list(found.damage))
    return replace(result, status="skipped", entries=entries, bytes=size, notes=notes, damage=damage)


def _write(
    result: ImportResult,
    output: Output,
    found: Images,
    hierarchy: NewHierarchy,
    order: _Order,
    progress: Progress,
) -> ImportResult:
    said: list[str] = []
    damage = dict.fromkeys(found.damage)
    progress = begin_phase(progress, os.path.basename(result.path), count_bytes(hierarchy))
    with output.spooled() as new:

        def picture() -> Picture | None:
            from ozx.images.thumbnail import try_thumbnail  # noqa: PLC0415 (zarr and Pillow, slow to import)
            from ozx.store.opening import opened_hierarchy  # noqa: PLC0415

            drawn, notes = try_thumbnail(lambda: opened_hierarchy(Place(new.path)))
            said.extend(notes)
            return drawn

        try:
            entries, size = write_hierarchy(
                new.descriptor,
                hierarchy,
                order.layout,
                executor=order.executor,
                ahead=order.ahead,
                progress=progress,
                thumbnail=picture if order.thumbnail else None,
                on_damage=lambda sentences: damage.update(dict.fromkeys(sentences)),
            )
            found.files.check_unchanged()
        except OzxError as error:
            raise error.at(result.source) from None
    progress.stop()
    return replace(
        result,
        entries=entries,
        bytes=size,
        notes=(*result.notes, *growth_notes(found, size), *name_notes(output.place), *said, *swept_notes(new.swept)),
        damage=_first_sentences(list(damage)),
    )


def _first_sentences(sentences: list[str]) -> tuple[str, ...]:
    """Return the first sentences, and a last sentence with the number of omitted sentences."""
    more = len(sentences) - _MOST_DAMAGE
    return (*sentences[:_MOST_DAMAGE], *([f"and {more:,} more"] if more > 0 else ()))

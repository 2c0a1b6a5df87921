"""import: TIFF files become .ozx files, with their metadata and all resolution levels, in one pass."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from ozx.errors import OzxError, UsageError, resource_errors
from ozx.flow.batch import check_distinct, describe_failure, run_batch
from ozx.flow.sources.location import StrPath, given_output, given_source
from ozx.hierarchy.edit.request import parse_edits
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.images.tiff.axes import parse_axes
from ozx.images.tiff.hierarchy import HierarchyOptions
from ozx.images.tiff.importing import Claims, ImportOptions, ImportResult, default_output, import_file
from ozx.images.tiff.opening import TiffOptions
from ozx.images.writing.levels import PyramidChoice
from ozx.progress import NO_PROGRESS, Progress

__all__ = ["ImportManyResult", "ImportResult", "import_tiff", "import_tiffs"]


@dataclass(frozen=True, slots=True)
class ImportManyResult:
    """What became of several TIFF files.

    Attributes
    ----------
    results
        One for each source, in their order.
    """

    results: tuple[ImportResult, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer of ``ozx import --json``."""
        return {"schema": 1, "results": [result.to_dict() for result in self.results]}


@resource_errors()
def import_tiff(  # noqa: PLR0913 (one argument for each option of the command)
    source: StrPath,
    out: StrPath | None = None,
    *,
    axes: str | Sequence[str] | None = None,
    keep_singletons: bool = False,
    series: int | None = None,
    pixel_size: Mapping[str, float] | None = None,
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
    on_error: str = "fail",
    thumbnail: bool = False,
    force: bool = False,
    resume: bool = False,
    sync: bool = True,
    executor: Executor | None = None,
    progress: Progress = NO_PROGRESS,
) -> ImportResult:
    """Make one .ozx file of a TIFF file: OME-Zarr 0.5 with all resolution levels, in one pass over the pixels.

    One image becomes an image, several a series (bioformats2raw layout), the fields of an OME-XML plate a plate.

    Parameters
    ----------
    source
        A TIFF file of any kind, or a ``.companion.ome`` file.
    out
        The file to make; by default ``cells.ome.tif`` becomes ``cells.ozx`` beside it.
    axes
        What the dimensions longer than 1 are, in the order of the file, as in ``tczyx``, where the file does not say.
    keep_singletons
        Whether axes of length 1 stay.
    series
        The number of the only image that is wanted, from 0 on.
    pixel_size, unit, channel_names, colors, name
        What is known better than the file does; as for `ozx.edit`.
    ome_xml
        ``keep`` stores the original OME-XML as ``OME/METADATA.ome.xml``, ``drop`` does not.
    labels
        Whether the pixels are labels: the image becomes a label image.
    reuse_levels
        Whether smaller levels that are in the file are taken, as far as they fit, instead of made.
    method, downsample
        How levels are made: ``mean``, ``nearest`` or ``mode`` (by default ``mean``, and ``nearest`` for labels), and
        which axes are halved, ``none`` of them, or those that are chosen.
    chunks, shards, codec, chunk_checksums
        Another layout than the usual one; see `ozx.repack`. By default chunks in shards end in a checksum;
        ``chunk_checksums="add"`` gives one to chunks of their own too, ``"drop"`` to none.
    on_error
        ``fail``, or ``fill``: zeros in the place of what is damaged or missing, which the result tells.
    thumbnail
        Put a small picture into the file, ``Thumbnails/thumbnail.png``.
    force
        Whether an existing file may be replaced; the old one stays until the new one is complete.
    resume
        Do nothing where `out` exists and has the same images.
    sync
        Whether to wait until the file is on the disk.
    executor
        Who decodes, halves and encodes; by default one thread per core. ``Client.get_executor()`` of Dask has the
        workers of a cluster do it, which need to see the file under the same path.
    progress
        Told the bytes of pixels that were read.

    Returns
    -------
    ImportResult
        The file that was written, how many images are in it, and what could not be carried over.

    Raises
    ------
    FormatError
        It is no TIFF file, a damaged one, or other files that belong to it are missing.
    UnsupportedError
        Its pixels are of a type that no image has, or cannot be decoded.
    UsageError
        `out` exists or is a URL, or what is asked for does not fit the file.
    ResourceError
        Reading or writing failed. After any error nothing has the name `out` that had not before.

    Examples
    --------
    >>> import numpy, tifffile
    >>> tifffile.imwrite("dots.ome.tif", numpy.eye(600, dtype="uint16"), tile=(256, 256), compression="zlib")
    >>> result = import_tiff("dots.ome.tif", pixel_size={"y": 0.65, "x": 0.65}, unit="micrometer")
    >>> result.path, result.images
    ('dots.ozx', 1)
    """
    options = _parse_order(
        axes=axes,
        keep_singletons=keep_singletons,
        series=series,
        pixel_size=pixel_size,
        unit=unit,
        channel_names=channel_names,
        colors=colors,
        name=name,
        ome_xml=ome_xml,
        labels=labels,
        reuse_levels=reuse_levels,
        method=method,
        downsample=downsample,
        chunks=chunks,
        shards=shards,
        codec=codec,
        chunk_checksums=chunk_checksums,
        on_error=on_error,
        thumbnail=thumbnail,
        force=force,
        resume=resume,
        sync=sync,
        executor=executor,
    )
    target = None if out is None else given_output(out)
    path = given_source(source)
    return import_file(path, target or given_output(default_output(path)), options, progress, Claims())


@resource_errors()
def import_tiffs(
    sources: Iterable[StrPath],
    *,
    out_dir: StrPath | None = None,
    jobs: int = 1,
    progress: Progress = NO_PROGRESS,
    **options: Any,
) -> ImportManyResult:
    """Import several TIFF files, `jobs` at a time; one that fails does not stop the others.

    Of several files that are one image the first is imported, and the others are skipped.

    Parameters
    ----------
    sources
        The files.
    out_dir
        The folder for the files, made when it is missing; by default each file goes beside its source.
    jobs
        How many sources are imported at the same time; together they have one thread per core.
    progress
        Told the bytes of pixels that were read.
    **options
        As for `import_tiff`.

    Returns
    -------
    ImportManyResult
        What became of each source; one that failed has ``failed`` as its status, and the error.

    Raises
    ------
    UsageError
        Two sources would become the same file, `out_dir` or a source is a URL, or options mean nothing; nothing is
        imported then.
    ResourceError
        `out_dir` cannot be made.

    Examples
    --------
    >>> import numpy, tifffile
    >>> for name in ("cells.1.tif", "cells.2.tif"):
    ...     tifffile.imwrite(name, numpy.eye(64, dtype="uint8"))
    >>> many = import_tiffs(["cells.1.tif", "cells.2.tif", "missing.tif"], out_dir="imported")
    >>> [(result.status, result.path) for result in many.results]
    [('imported', 'imported/cells.1.ozx'), ('imported', 'imported/cells.2.ozx'), ('failed', 'imported/missing.ozx')]
    """
    parsed = _parse_order(**options)
    folder = None if out_dir is None else given_output(out_dir)
    paths = [given_source(source) for source in sources]
    targets = [given_output(default_output(path, folder)) for path in paths]
    check_distinct(paths, targets, verb="Import")
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    claims = Claims()
    pairs = list(zip(paths, targets, strict=True))
    sharing = _sharing(parsed) if jobs > 1 and len(pairs) > 1 else nullcontext(parsed)
    with sharing as order:

        def work(path: str, target: str, told: Progress) -> ImportResult:
            return import_file(path, target, order, told, claims)

        return ImportManyResult(run_batch(work, _failure, pairs, jobs=jobs, what="files", progress=progress))


def _parse_order(  # noqa: PLR0913 (as `import_tiff`)
    *,
    axes: str | Sequence[str] | None = None,
    keep_singletons: bool = False,
    series: int | None = None,
    pixel_size: Mapping[str, float] | None = None,
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
    on_error: str = "fail",
    thumbnail: bool = False,
    force: bool = False,
    resume: bool = False,
    sync: bool = True,
    executor: Executor | None = None,
) -> ImportOptions:
    """Return what `import_tiff` is asked for; `UsageError` where that means nothing."""
    if on_error not in ("fail", "fill"):
        raise UsageError(f"expected fail or fill for what is damaged; got {on_error!r}")
    if ome_xml not in ("keep", "drop"):
        raise UsageError(f"expected keep or drop for the original OME-XML; got {ome_xml!r}")
    known = (pixel_size, unit, channel_names, colors, name)
    option = HierarchyOptions(
        is_alone=series is not None,
        edits=None
        if known == (None,) * len(known)
        else parse_edits(pixel_size=pixel_size, unit=unit, channel_names=channel_names, colors=colors, name=name),
        keep_ome_xml=ome_xml == "keep",
        pyramid=PyramidChoice.parse(method or ("nearest" if labels else "mean"), downsample),
        is_label=labels,
    )
    asked = None if axes is None else parse_axes(axes if isinstance(axes, str) else "".join(axes))
    return ImportOptions(
        TiffOptions(asked, keep_singletons, "fill" if on_error == "fill" else "fail", series, with_levels=reuse_levels),
        option,
        LayoutChoice.parse(shards, chunks, codec, chunk_checksums=chunk_checksums),
        thumbnail,
        force,
        resume,
        sync,
        executor,
    )


@contextmanager
def _sharing(options: ImportOptions) -> Iterator[ImportOptions]:
    """Give options with which several images share one pool of threads, unless somebody else does the work."""
    if options.executor is not None:
        yield options
        return
    threads = os.cpu_count() or 1
    with ThreadPoolExecutor(threads, "ozx-image") as pool:
        yield replace(options, executor=pool, jobs=2 * threads)


def _failure(source: str, target: str, error: OzxError) -> ImportResult:
    return ImportResult(source, target, "failed", error=describe_failure(error))

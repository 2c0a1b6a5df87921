"""repack: rewrite any OME-Zarr hierarchy as an intact .ozx file or directory in the requested layout."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from ozx.calls import JsonResult, public_call
from ozx.errors import OzxError, UsageError
from ozx.flow.plans.ome_version import VersionChoice, in_version
from ozx.flow.plans.relayout import RelayoutPlan, plan_relayout
from ozx.flow.plans.zarr_v2 import as_04
from ozx.flow.repair.hierarchy import open_repaired
from ozx.flow.repair.source import RepairedSource
from ozx.flow.sinks.archive import write_archive
from ozx.flow.sinks.directory import write_directory
from ozx.flow.sinks.output import Output
from ozx.flow.sinks.target import check_name, name_notes, swept_notes
from ozx.flow.sinks.verification import check_archive
from ozx.flow.source_removal import check_nothing_left_out, record_in_place
from ozx.ome.relayout.layout_choice import LayoutChoice
from ozx.places.byte_source import FileSource, read_in_runs
from ozx.places.place import Place, StrPath
from ozx.progress import NO_PROGRESS, Progress, begin_phase, needs_total
from ozx.threads import working
from ozx.validation.container.one_hierarchy import check_new_metadata

# The most arrays that a result describes; a plate has tens of thousands of similar arrays.
_DESCRIBED = 100


@dataclass(frozen=True, slots=True)
class ArrayReport:
    """The report on one array: whether and how its chunks changed.

    Attributes
    ----------
    path
        Path of the array.
    treatment
        Treatment of its chunks: ``moved``, without decoding; ``zlib_to_gzip``, moved with the zlib frame replaced by a
        gzip frame; ``transcoded``, decoded and encoded.
    chunks, shards
        New lengths, in pixels; `shards` is None without shards.
    """

    path: str
    treatment: str
    chunks: tuple[int, ...]
    shards: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class RepackResult(JsonResult):
    """The result of a repack.

    Attributes
    ----------
    source, path
        The source, and the written file or directory.
    entries, bytes
        Number of entries, and length of the file in bytes. For a directory: number of files, and of bytes in them.
    ome_version
        OME-Zarr version of the result.
    upgraded
        Whether Zarr v2 (OME-Zarr 0.4) became v3.
    treatments
        Number of arrays by treatment, as in `ArrayReport`, or ``copied``. Empty if no option concerns arrays.
    arrays
        The first 100 arrays that were not copied.
    repaired
        Repaired faults of the source, one sentence each.
    notes
        Other remarks, one sentence each.
    verified
        Whether the file was read back and compared.
    """

    source: str
    path: str
    entries: int
    bytes: int
    ome_version: str
    upgraded: bool
    treatments: dict[str, int]
    arrays: tuple[ArrayReport, ...] = ()
    repaired: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    verified: bool = False


@public_call()
def repack(
    source: StrPath,
    out: StrPath,
    *,
    node: str = "",
    shards: str | Mapping[str, int] = "keep",
    chunks: str | Mapping[str, int] | None = None,
    codec: str | None = None,
    chunk_checksums: str | None = None,
    keep_numcodecs: bool = False,
    ome_version: str | None = None,
    drop_transformations: bool = False,
    thumbnail: bool = False,
    verify: bool = False,
    force: bool = False,
    replace_folder: bool = False,
    sync: bool = True,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> RepackResult:
    """Rewrite a hierarchy: repair it, upgrade it to OME-Zarr 0.5, and change its shards if requested.

    Chunks are moved without decoding. They are decoded and encoded only for other `chunks` or another `codec`, or if
    Zarr v3 lacks their codec.

    Parameters
    ----------
    source
        A directory, an .ozx or .zip file, or the URL of one, with OME-Zarr 0.4, 0.5 or 0.6.
    out
        A directory if the name ends in ``.zarr`` or a slash, or if a directory of this name exists; otherwise a file.
    node
        Path of a node below `path`, such as ``A/1/0`` or ``labels/cells``.
    shards
        ``"keep"`` for the present shards, ``"auto"``, ``"none"``, or lengths in pixels by axis: ``"y=4096,x=4096"`` or
        a mapping.
    chunks
        Other chunks, in pixels by axis: ``"y=512,x=512"`` or a mapping. Axes that are not named keep their lengths.
    codec
        Another compressor for every array: ``"zstd:3"``, ``"blosc-lz4:5"``, ``"gzip"``, ``"none"``, ….
    chunk_checksums
        ``"add"`` appends the codec ``crc32c``, and four bytes to each encoded chunk; ``"drop"`` checks and removes
        these bytes; ``"keep"`` leaves chunks unchanged. By default a checksum is added to chunks that move into shards,
        where no CRC-32 of the archive protects a single chunk.
    keep_numcodecs
        Keep chunks of Zarr v2 that only zarr-python can read in v3 (bz2, lzma, lz4) instead of transcoding them.
    ome_version, drop_transformations
        OME-Zarr version of the result, ``"0.5"`` or ``"0.6"``; by default that of the source, and 0.5 for 0.4. Only
        metadata change. 0.5 cannot express scenes, further coordinate systems and transformations. They are an error,
        or with `drop_transformations` they are left out with a note. ``"0.4"`` writes a directory of Zarr v2: shards
        become single chunks, and with `codec` chunks are encoded in a way that Zarr v2 has.
    thumbnail
        Put a small picture into `out`, ``Thumbnails/thumbnail.png``, right after the metadata. If none can be made, a
        note gives the reason.
    verify
        Read the file back and compare every value before the file gets its name.
    force
        Whether an existing `out` may be replaced: a file, or a directory that is empty or has Zarr metadata at its
        root. The old one stays until the new one is complete. The new one gets the mode and, where allowed, the owner
        of the old one.
    replace_folder
        Whether `out` may be any existing directory, which is replaced with everything in it.
    sync
        Whether to wait until the result is on the disk.
    jobs
        Number of threads; by default one per processor, at most four.
    executor
        Executor that decodes and encodes; by default a thread pool.
    progress
        Receives the number of bytes processed; with `verify`, each byte counts twice.

    Returns
    -------
    RepackResult
        The result, the treatment of each array, and the repairs.

    Raises
    ------
    FormatError
        The source is no OME-Zarr hierarchy, is damaged, or has a fault that cannot be repaired; `rule` names the broken
        rule.
    UnsupportedError
        Zarr v3 lacks a feature of the source, or an extension that is not understood forbids moving chunks.
    UsageError
        `out` exists and may not be replaced, is a URL that ozx only reads, or lies inside a hierarchy; or a layout does
        not fit the arrays.
    ResourceError
        Reading or writing failed. After any error, `out` is as it was before.

    Examples
    --------
    >>> result = repack("cells.ome.zarr", "sharded.ozx", shards="auto", force=True)
    >>> result.entries, result.treatments
    (18, {'copied': 2, 'moved': 4})
    """
    progress = progress or NO_PROGRESS
    place = Place.output(out, remote=True)
    target = place.path
    check_name(target, "an .ozx file")
    is_04 = ome_version == "0.4"
    version = VersionChoice("0.5" if is_04 else ome_version, drop_transformations)
    layout = LayoutChoice.parse(
        shards, chunks, codec, keep_numcodecs=keep_numcodecs, chunk_checksums=chunk_checksums, is_v2=is_04
    )
    is_directory = target.endswith(("/", os.sep, ".zarr")) or os.path.isdir(target)
    target = target.rstrip("/" + os.sep) or target
    output, old = Output(Place(target), force, replace_folder, sync), Place.parse(source, node)
    output.check_surroundings(old)
    if is_directory:
        Place.output(target)
        output.check_folder(old)
        if verify:
            hint = "Leave out verify=True, or write an .ozx file."
            raise UsageError("a directory cannot be verified", hint=hint)
    else:
        _check_file(output, is_04=is_04)
    recorded = record_in_place(old.path, target) if is_directory else None
    own = None if is_directory else _replaced_source(old, output)
    with open_repaired(old) as repaired, working(jobs, executor) as workers:
        read_in_runs(repaired.remote)
        try:
            if recorded is not None:
                check_nothing_left_out(target, repaired.left_out)
            plan = in_version(plan_relayout(repaired, layout), version)
            plan.notes += check_new_metadata(plan.metadata, path=repaired.name, node=old.node)
            plan = as_04(plan) if is_04 else plan
            if thumbnail:
                _add_thumbnail(repaired, plan)
            size = plan.count_bytes() * (2 if verify else 1) if needs_total(progress) else None
            progress = begin_phase(progress, os.path.basename(target), size)
            if is_directory:
                with output.folder(recorded) as folder:
                    entries, count = write_directory(plan, folder.path, workers, progress)
                    repaired.check_unchanged()
                swept = folder.swept
            else:
                check = (lambda written: check_archive(written, plan, workers, progress)) if verify else None
                check_old = partial(_check_own, own, repaired)
                with output.file(expected=plan.count_bytes, check=check, check_old=check_old) as new:
                    entries, count = write_archive(plan, new.descriptor, workers, progress)
                    _check_unchanged(repaired, target)
                swept = new.swept
            progress.stop()
        except OzxError as error:
            raise error.at(repaired.name) from None
        return RepackResult(
            old.name,
            target,
            entries,
            count,
            plan.version,
            plan.is_upgrade,
            _count(plan),
            _reports(plan),
            tuple(repaired.repaired),
            (*plan.all_notes(), *(() if is_directory else name_notes(output.place)), *swept_notes(swept)),
            verify,
        )


def _check_file(output: Output, *, is_04: bool) -> None:
    if is_04:
        hint = "Give a name that ends in .zarr, or leave out ome_version='0.4': .ozx files are Zarr v3."
        raise UsageError("expected a directory as output for OME-Zarr 0.4; found a file", path=output.path, hint=hint)
    output.check_file()


def _replaced_source(source: Place, output: Output) -> FileSource | None:
    """Return the source in its present state, if the output replaces it; else None."""
    if not (os.path.exists(output.path) and output.replaces(source)):
        return None
    own = FileSource(output.path)
    own.size()  # records the state of the file, which must not change from here on
    return own


def _check_own(own: FileSource | None, repaired: RepairedSource, path: str) -> None:
    """Check right before the target replaces the file `path` that this file is unchanged, if it is the source."""
    if own is not None:
        repaired.close()  # Windows replaces closed files only
        own.check_before_replacing(path)


def _check_unchanged(repaired: RepairedSource, target: str) -> None:
    """Check that the source has not changed; request the mark of an object that the target replaces."""
    repaired.check_unchanged()
    if getattr(repaired.remote, "url", None) == target:
        old: Any = copy(repaired.remote)
        old.size()  # compares the answer with the first one


def _add_thumbnail(repaired: RepairedSource, plan: RelayoutPlan) -> None:
    """Add a thumbnail of the source to the plan, or a note with the reason if none can be made."""
    from ozx.images.thumbnail import add_thumbnail, try_thumbnail  # noqa: PLC0415 (Pillow, slow to import)
    from ozx.store.read_only_stores import open_source_group  # noqa: PLC0415

    picture, notes = try_thumbnail(lambda: nullcontext(open_source_group(repaired, repaired.zarr_format)))
    plan.notes.extend(notes)
    if picture is not None:
        add_thumbnail(picture, plan)


def _reports(plan: RelayoutPlan) -> tuple[ArrayReport, ...]:
    return tuple(
        ArrayReport(array.path, array.treatment, array.new.chunks, array.new.shards)
        for array in islice(plan.arrays.values(), _DESCRIBED)
    )


def _count(plan: RelayoutPlan) -> dict[str, int]:
    """Return the number of arrays with each treatment (copied, moved, transcoded)."""
    counts = Counter[str](array.treatment for array in plan.arrays.values())
    return dict(sorted((counts | Counter(copied=plan.copied)).items()))

"""pack: convert OME-Zarr directories to .ozx files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ozx.atomic.renaming import CHECKSUM_ENDING, MANIFEST_ENDING
from ozx.calls import JsonResult, public_call
from ozx.errors import OzxError, UsageError
from ozx.file_changes import modified
from ozx.flow.batch import describe_failure_of, run_batch
from ozx.flow.batch_checks import check_distinct, check_room
from ozx.flow.entry import BytesPart, Entry
from ozx.flow.plan import Plan
from ozx.flow.plans.copy import plan_copy
from ozx.flow.plans.ome_version import VersionChoice, in_version
from ozx.flow.sinks.archive import write_archive
from ozx.flow.sinks.manifest import (
    Manifest,
    check_checksum_file,
    is_manifest_of,
    read_checksum_file,
    sha256_of,
    write_checksum_file,
    write_manifest,
)
from ozx.flow.sinks.output import Output
from ozx.flow.sinks.target import (
    BIOIMAGE_ENDING,
    check_name,
    default_output,
    entry_notes,
    folder_of_zip,
    name_notes,
    spelling_notes,
    stem_of_archive,
    swept_notes,
)
from ozx.flow.source_removal import (
    check_no_attributes,
    finish_source_removal,
    list_for_removal,
    record_for_removal,
    removal_turn,
    remove_source,
)
from ozx.flow.sources.directory import DirectorySource
from ozx.flow.sources.listing import list_directory
from ozx.flow.sources.wrong_sources import check_is_directory, refuse_folder_of_images
from ozx.ome.ro_crate import CRATE, Credits
from ozx.places.place import Place, StrPath, check_is_list
from ozx.progress import NO_PROGRESS, Progress, begin_phase, needs_total
from ozx.threads import Workers, working
from ozx.validation.container.one_hierarchy import check_new_metadata
from ozx.zarr.keys import ROOT_METADATA

if TYPE_CHECKING:
    from ozx.flow.sources.remote_directory import RemoteDirectorySource

    _DirectorySource = DirectorySource | RemoteDirectorySource


#: The root at the top of the archive (RFC-9); or in its only folder, as the BioImage Archive asks for.
LAYOUTS = ("ozx", "bioimage-archive")


@dataclass(frozen=True, slots=True)
class PackResult:
    """The result of packing one source; true unless it failed.

    Attributes
    ----------
    source, path
        The directory, and the written file.
    status
        ``packed``; ``skipped`` when `resume` found the file complete; ``failed``.
    entries, bytes
        Number of entries, and length of the file in bytes; 0 for a failure.
    left_out
        Files and empty directories (ending in a slash) that are no part of the hierarchy.
    notes
        Remarks, one sentence each.
    sha256
        The file's digest in hexadecimal digits, if requested and written.
    manifest_sha256
        The digest of the manifest, if one was written.
    verified, source_removed
        Whether the file was read back and compared; whether the whole source was deleted afterwards.
    error
        For a failure ``{"code", "message", "rule", "hint"}``, else None.
    """

    source: str
    path: str
    status: Literal["packed", "skipped", "failed"]
    entries: int = 0
    bytes: int = 0
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sha256: str | None = None
    manifest_sha256: str | None = None
    verified: bool = False
    source_removed: bool = False
    error: dict[str, str | None] | None = None

    def __bool__(self) -> bool:
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        """Return one element of ``results`` in ``ozx pack --json``."""
        return {**asdict(self), "left_out": list(self.left_out), "notes": list(self.notes)}


@dataclass(frozen=True, slots=True)
class PackManyResult(JsonResult):
    """The results of packing several sources; true unless one failed.

    Attributes
    ----------
    results
        One for each source, in their order.
    """

    results: tuple[PackResult, ...]

    def __bool__(self) -> bool:
        return all(self.results)


@public_call()
def pack(  # noqa: PLR0913 (one argument for each option of the command)
    source: StrPath,
    out: StrPath | None = None,
    *,
    force: bool = False,
    verify: bool = False,
    remove_source: bool = False,
    drop_attributes: bool = False,
    checksum: str | None = None,
    resume: bool = False,
    shards: str | Mapping[str, int] = "keep",
    chunks: str | Mapping[str, int] | None = None,
    codec: str | None = None,
    chunk_checksums: str | None = None,
    ome_version: str | None = None,
    drop_transformations: bool = False,
    thumbnail: bool = False,
    manifest: bool = False,
    layout: str = "ozx",
    author: str | Iterable[str] = (),
    license: str | None = None,  # noqa: A002 (the word of RO-Crate)
    sync: bool = True,
    progress: Progress | None = None,
) -> PackResult:
    """Pack the OME-Zarr hierarchy in a directory into one .ozx file, with all values unchanged.

    OME-Zarr 0.4 is upgraded to 0.5, with a note. Its chunks are moved without decoding if Zarr v3 has their codec.

    Parameters
    ----------
    source
        The directory with the root ``zarr.json``.
    out
        The file to write; by default ``cells.ome.zarr`` becomes ``cells.ozx`` beside it.
    force
        Whether an existing file may be replaced; the old one stays until the new one is complete.
    verify
        Read the synced file back and compare every value with the source before the file gets its name.
    remove_source
        Delete the source after the verification, file by file; implies `verify`. Files that change or appear during the
        removal stay, and a note names them; then `source_removed` is False.
    drop_attributes
        Remove a source although it has access control lists, extended attributes or hard links, which are then lost.
    checksum
        ``"sha256"`` writes ``OUT.sha256`` beside the file, in the format of `sha256sum`.
    resume
        Do not write `out` again if it exists and is complete: the archive can be opened, and its keys and sizes are
        those of the source; with `verify`, or if the source is newer, its values, too. Such a file is synced. If
        requested, a missing checksum or manifest is written, and an existing checksum is compared. A file that another
        run makes meanwhile is accepted, too.
    shards, chunks, codec, chunk_checksums, ome_version, drop_transformations
        Another layout or OME-Zarr version, as for `ozx.repack`; chunks are moved without decoding unless `chunks` or
        `codec` is given. Without any of these options every value stays unchanged.
    thumbnail
        Put a small picture into the file, ``Thumbnails/thumbnail.png``, right after the metadata. If none can be made,
        a note gives the reason.
    manifest
        Write ``OUT.manifest.json`` beside the file: the SHA-256, size and modification time of every source file,
        hashed from the bytes that are packed. If the layout changes, the manifest lists the values of the written file
        instead, without times.
    layout
        ``"ozx"`` (RFC-9), or ``"bioimage-archive"``: the file is ``NAME.ome.zarr.zip``, and the hierarchy is in its
        folder ``NAME.ome.zarr``.
    author, license
        With a license, an SPDX identifier such as ``"CC-BY-4.0"`` or a URL, the file gets ``ro-crate-metadata.json``
        (RO-Crate 1.1) with the name of the file, those of the authors, and the date of packing.
    sync
        Whether to wait until the file is on the disk.
    progress
        Receives the number of bytes processed; with `verify`, each byte counts twice.

    Returns
    -------
    PackResult
        The file, written or found complete.

    Raises
    ------
    FormatError
        The source is no OME-Zarr hierarchy, or has content forbidden in an .ozx file; `rule` names the broken rule.
    UnsupportedError
        The source is OME-Zarr 0.4 with a feature that Zarr v3 lacks, or an unknown extension forbids another layout.
    UsageError
        `out` exists, is a URL that ozx only reads, or lies inside the source; options contradict each other; the
        source to be removed holds files that are not packed, or attributes that would be lost.
    ResourceError
        Reading or writing failed; then `out` is as it was before. Only an error of `checksum`, `manifest` or
        `remove_source` may occur after `out` is complete. If the source changed meanwhile, nothing is removed.

    Examples
    --------
    >>> result = pack("cells.ome.zarr", force=True)
    >>> result.path, result.entries
    ('cells.ozx', 71)
    """
    progress = progress or NO_PROGRESS
    options = PackOptions(
        force=force,
        verify=verify or remove_source,
        remove_source=remove_source,
        drop_attributes=drop_attributes,
        checksum=checksum,
        resume=resume,
        thumbnail=thumbnail,
        manifest=manifest,
        sync=sync,
        shards=shards,
        chunks=chunks,
        codec=codec,
        chunk_checksums=chunk_checksums,
        version=VersionChoice(ome_version, drop_transformations),
        layout=layout,
        credits=Credits([author] if isinstance(author, str) else [*author], license),
    )
    target = None if out is None else Place.output(out, remote=True)
    check_name("" if target is None else target.path, "an .ozx file")
    root = _root(source)
    return pack_one(options, root, target or Place.output(_default_output(root, layout)), progress)


@public_call()
def pack_many(  # noqa: PLR0913 (one argument for each option of the command)
    sources: Iterable[StrPath | tuple[StrPath, StrPath]],
    *,
    out_dir: StrPath | None = None,
    jobs: int = 1,
    force: bool = False,
    verify: bool = False,
    remove_source: bool = False,
    drop_attributes: bool = False,
    checksum: str | None = None,
    resume: bool = False,
    shards: str | Mapping[str, int] = "keep",
    chunks: str | Mapping[str, int] | None = None,
    codec: str | None = None,
    chunk_checksums: str | None = None,
    ome_version: str | None = None,
    drop_transformations: bool = False,
    thumbnail: bool = False,
    manifest: bool = False,
    layout: str = "ozx",
    author: str | Iterable[str] = (),
    license: str | None = None,  # noqa: A002 (the word of RO-Crate)
    sync: bool = True,
    progress: Progress | None = None,
    on_result: Callable[[PackResult], object] | None = None,
    executor: Executor | None = None,
) -> PackManyResult:
    """Pack several directories, `jobs` at a time; an error in one directory does not stop the work on the others.

    Parameters
    ----------
    sources
        The directories; or pairs of a directory and the file to write.
    out_dir
        The folder for the files, created if it is missing; by default each file goes beside its source. A pair
        itself names its file.
    jobs
        Number of sources packed at the same time, each by a thread.
    force, verify, remove_source, drop_attributes, checksum, resume, thumbnail, manifest, layout, sync, progress
        As for `pack`.
    author, license, shards, chunks, codec, chunk_checksums, ome_version, drop_transformations
        As for `pack`.
    on_result
        Called with each result as soon as the result exists, in the calling thread.
    executor
        Executor that runs tasks for groups of files, instead of `jobs` threads, such as that of a Dask cluster.
        Its workers need to see the files under the same absolute paths, else the files fail; results have absolute
        paths. `progress` then gets no bytes, only regular calls of ``advance(0)``, in which it can cancel the batch;
        tasks that have begun continue after the call.

    Returns
    -------
    PackManyResult
        The result for each source; a failed one has the status ``failed``, and the error.

    Raises
    ------
    UsageError
        Two sources would become the same file, `out_dir` is a URL that ozx only reads, or options contradict each
        other; then nothing is packed.
    ResourceError
        `out_dir` cannot be made, or the file system has less room than the files need; then nothing is packed.

    Examples
    --------
    >>> many = pack_many(["cells.ome.zarr", "missing.ome.zarr"], out_dir="packed")
    >>> [(result.status, result.path) for result in many.results]
    [('packed', 'packed/cells.ozx'), ('failed', 'packed/missing.ozx')]
    >>> pack_many([("cells.ome.zarr", "first.ozx"), ("cells.ome.zarr/labels", "second.ozx")]).results[0].path
    'first.ozx'
    """
    progress = progress or NO_PROGRESS
    options = PackOptions(
        force=force,
        verify=verify or remove_source,
        remove_source=remove_source,
        drop_attributes=drop_attributes,
        checksum=checksum,
        resume=resume,
        thumbnail=thumbnail,
        manifest=manifest,
        sync=sync,
        shards=shards,
        chunks=chunks,
        codec=codec,
        chunk_checksums=chunk_checksums,
        version=VersionChoice(ome_version, drop_transformations),
        layout=layout,
        credits=Credits([author] if isinstance(author, str) else [*author], license),
    )
    check_is_list(sources, "ozx.pack")
    folder = None if out_dir is None else Place.output(out_dir, remote=True)
    roots, targets = [], []
    for given in sources:
        source, out = given if isinstance(given, tuple) else (given, None)
        root = _root(source)
        roots.append(root.path)
        targets.append(Place.output(_default_output(root, layout, folder) if out is None else out, remote=True).path)
    check_distinct(roots, targets, verb="Pack")
    if folder is not None:
        folder.make_folder()

    pairs = list(zip(roots, targets, strict=True))
    if not remove_source:  # otherwise, each removed source makes room for the next file
        check_room(pairs)
    is_told: dict[str, Any] = {"what": "sources", "progress": progress, "on_result": on_result}
    is_told |= {"executor": executor, "again": partial(_pack_again, options)}
    return PackManyResult(run_batch(partial(_pack_pair, options), _failure, pairs, jobs=jobs, **is_told))


def _failure(root: str, target: str, error: OzxError) -> PackResult:
    source = Place(root).name
    return PackResult(source, target, "failed", error=describe_failure_of(source, target, error, can_resume=True))


def _pack_pair(options: PackOptions, root: str, target: str, progress: Progress) -> PackResult:
    return pack_one(options, Place(root), Place(target), progress)


def _pack_again(options: PackOptions, root: str, target: str, progress: Progress) -> PackResult:
    """Pack a source as a task of a cluster; if the cluster repeats the task, accept the output of its first run."""
    return replace(_pack_pair(replace(options, resume=True), root, target, progress), status="packed")


def _default_output(root: Place, layout: str, folder: Place | None = None) -> str:
    """Return the default output path of a source; for a source at a URL, it is in the working directory."""
    ending = ".ozx" if layout == LAYOUTS[0] else BIOIMAGE_ENDING
    return default_output(root.local_name(), None if folder is None else folder.path, ending)


def _root(source: StrPath) -> Place:
    place = Place.parse(source)
    if place.kind() != "a URL" or place.node:
        place = Place.local(source)
    return Place(place.path.rstrip("/") or "/")


# Pack one source: list its files, write and verify the archive, then remove the source if requested.


@dataclass(frozen=True, slots=True)
class PackOptions:
    """The options of `ozx.operations.pack.pack`, with the same names."""

    force: bool
    verify: bool
    remove_source: bool
    drop_attributes: bool
    checksum: str | None
    resume: bool
    thumbnail: bool
    manifest: bool
    sync: bool
    shards: str | Mapping[str, int]
    chunks: str | Mapping[str, int] | None
    codec: str | None
    chunk_checksums: str | None
    version: VersionChoice
    layout: str
    credits: Credits

    def __post_init__(self) -> None:
        if self.checksum not in (None, "sha256"):
            raise UsageError(f"expected the checksum sha256; got {self.checksum!r}")
        if self.layout not in LAYOUTS:
            raise UsageError(f"expected the layout {' or '.join(LAYOUTS)}; got {self.layout!r}")
        if self.remove_source and not self.sync:
            raise UsageError("a source is removed only when its copy is on the disk", hint="Leave out sync=False.")


_OTHER = "The file is from another source, or the source has changed. Give force=True to replace the file."
_DIFFERS = (
    "The source changed since it was packed, or the source or the file is damaged (`ozx verify` checks the file). "
    "Give resume=True and force=True to pack the source again."
)


@dataclass(frozen=True, slots=True)
class _Packing:
    source: _DirectorySource
    output: Output
    options: PackOptions
    workers: Workers
    progress: Progress

    @property
    def place(self) -> Place:
        """The place from which the source is opened."""
        return Place(self.source.name if isinstance(self.source, DirectorySource) else self.source.url)

    def is_compared(self) -> bool:
        """Return whether the values of an existing archive must be compared with the source.

        They are compared if this is requested, or if the source is newer than the archive.
        """
        written = self.output.place.modified()
        if self.options.verify or written is None or not isinstance(self.source, DirectorySource):
            return self.options.verify
        listing = self.source.listing
        return any(modified(listing.path(key)) > written for key in listing.iter_keys())

    def verify(self, archive: Place, plan: Plan) -> None:
        """Compare the written archive with the plan from which it was written."""
        from ozx.flow.sinks.verification import check_archive  # noqa: PLC0415 (numpy)

        check_archive(archive, plan, self.workers, self.progress)


def pack_one(options: PackOptions, source: Place, target: Place, progress: Progress) -> PackResult:
    """Pack one source; see `ozx.operations.pack.pack`."""
    output, root = Output(target, options.force, sync=options.sync), source.path
    if source.kind() == "a URL" and not os.path.lexists(root):
        return _pack_remote(source, output, options, progress)
    if not options.remove_source:
        return _pack_directory(source, output, options, progress)
    with removal_turn(root, progress) as is_removed:
        is_gone = options.resume and not os.path.lexists(root)
        was_removed = is_gone and is_manifest_of(target.beside(MANIFEST_ENDING).path, root)
        if was_removed or (is_removed and os.path.exists(target.path)):
            skipped = _measured(PackResult(root, target.path, "skipped"))
            return _with_removal(skipped, (f"another run removed {root}",))
        return _pack_directory(source, output, options, progress)


def _pack_directory(source: Place, output: Output, options: PackOptions, progress: Progress) -> PackResult:
    """Pack a local directory."""
    root, target = source.path, output.path
    check_is_directory(root)
    output.check_surroundings(source)
    is_uploaded = output.place.kind() == "a URL"
    if is_uploaded and options.remove_source:
        raise UsageError(
            "a source is not removed after an upload",
            path=root,
            hint="Leave out remove_source=True, and remove the source yourself after a run with verify=True.",
        )
    finished = None if is_uploaded else finish_source_removal(root, target, remove=options.remove_source)
    if finished is not None:
        # The interrupted run had compared the file with the directory.
        return _with_removal(_measured(PackResult(root, target, "skipped", verified=True)), finished)
    record = record_for_removal(root) if options.remove_source else None
    if record is not None and not options.drop_attributes:
        check_no_attributes(root)
    listing = list_directory(root) if record is None else list_for_removal(root)
    refuse_folder_of_images(listing)
    notes = spelling_notes((*listing.metadata, *listing.legacy_keys))
    result = PackResult(root, target, "packed", left_out=tuple(listing.left_out), notes=notes)
    result = _pack_beside_others(result, output, DirectorySource(listing), options, progress)
    return result if record is None else _with_removal(result, remove_source(record, target))


def _pack_remote(place: Place, output: Output, options: PackOptions, progress: Progress) -> PackResult:
    """Pack a remote directory."""
    from ozx.flow.sources.remote_directory import list_remote_directory  # noqa: PLC0415 (few sources are remote)

    name = place.name
    if options.remove_source:
        raise UsageError("a source at a URL is never removed", path=name, hint="Leave out remove_source=True.")
    output.check_surroundings(place)
    source = list_remote_directory(place.path)
    refuse_folder_of_images(source.listing)
    result = PackResult(name, output.path, "packed", left_out=tuple(source.listing.left_out), notes=source.notes)
    return _pack_beside_others(result, output, source, options, progress)


def _pack_beside_others(
    result: PackResult, output: Output, source: _DirectorySource, options: PackOptions, progress: Progress
) -> PackResult:
    """Pack a source; with `resume`, accept a file that another run has made from the source meanwhile."""
    was_there = options.resume and output.place.exists()
    try:
        return _pack_listed(result, output, source, options, progress)
    except UsageError:
        if was_there or options.force or not options.resume or not output.place.exists():
            raise
    return _pack_listed(result, output, source, options, progress)


def _pack_listed(
    result: PackResult, output: Output, source: _DirectorySource, options: PackOptions, progress: Progress
) -> PackResult:
    listing = source.listing
    is_old = bool(listing.legacy_keys) and ROOT_METADATA not in listing.metadata
    # The existing file may have checksums behind its chunks; then it is compared with a plan that adds checksums.
    is_compared = options.resume and output.place.exists()
    with working() as workers:
        run = _Packing(source, output, options, workers, progress)
        has_same_chunks = options.chunks is None and options.codec is None and options.chunk_checksums in (None, "keep")
        if not is_old and options.shards == "keep" and has_same_chunks and not is_compared:
            return _pack_plan(result, in_version(plan_copy(source), options.version), (), run)
        # These modules need numpy, and importing numpy takes longer than packing a small directory.
        from ozx.flow.plans.relayout import iter_checksum_variants, plan_relayout  # noqa: PLC0415
        from ozx.ome.relayout.layout_choice import LayoutChoice  # noqa: PLC0415

        checksums = options.chunk_checksums
        layout = LayoutChoice.parse(options.shards, options.chunks, options.codec, chunk_checksums=checksums)
        try:
            plan = in_version(plan_relayout(source, layout), options.version)
            variants = (in_version(each, options.version) for each in iter_checksum_variants(source, layout))
            return _pack_plan(result, plan, variants, run)
        except OzxError as error:
            raise error.at(result.source) from None


def _pack_plan(result: PackResult, plan: Plan, variants: Iterable[Plan], run: _Packing) -> PackResult:
    """Write the archive of a plan; with `resume`, accept an existing file that matches the plan or a variant of it."""
    output, options = run.output, run.options
    changes, notes = _additions(run)
    result = replace(result, notes=(*result.notes, *notes))
    for change in changes:
        plan, variants = change(plan), map(change, variants)
    if options.resume and output.place.exists():
        from ozx.flow.sinks.verification import find_same_entries  # noqa: PLC0415 (numpy)

        complete = find_same_entries(output.place, plan, variants, run.workers)
        is_compared = complete is not None and run.is_compared()
        found = None if complete is None else _compare_existing(complete, run, with_values=is_compared)
        if complete is not None and found is None:
            return _finish_skipped(replace(result, verified=is_compared), complete, run)
        if not options.force:
            raise UsageError(
                f"{output.path} exists, but is not the complete copy of {result.source}{f': {found}' if found else ''}",
                hint=_DIFFERS if found else _OTHER,
            )
    output.check_file()
    for is_wanted, ending in ((options.checksum, CHECKSUM_ENDING), (options.manifest, MANIFEST_ENDING)):
        if is_wanted:
            output.beside(ending).check_file()
    said = check_new_metadata(plan.metadata, plan.legacy_keys, path=result.source)
    return _write(replace(result, notes=(*result.notes, *said)), plan, run)


def _additions(run: _Packing) -> tuple[list[Callable[[Plan], Plan]], list[str]]:
    """Return what adds the requested thumbnail, crate and folder to a plan, and notes."""
    options, target = run.options, run.output.place
    changes: list[Callable[[Plan], Plan]] = []
    notes: list[str] = []
    if options.thumbnail:
        from ozx.images.thumbnail import add_thumbnail, try_thumbnail  # noqa: PLC0415 (zarr and Pillow, slow to import)
        from ozx.store.opening import opened_hierarchy  # noqa: PLC0415

        picture, notes = try_thumbnail(lambda: opened_hierarchy(run.place))
        changes += [] if picture is None else [partial(add_thumbnail, picture)]
    if options.credits.license is not None:
        if CRATE in run.source:
            raise UsageError(
                f"it has {CRATE} already", path=run.place.name, hint="Leave out author and license, or remove the file."
            )
        crate = Entry(CRATE, (BytesPart(options.credits.crate(stem_of_archive(target.path))),))

        def add_crate(plan: Plan) -> Plan:
            plan.add(crate)
            return plan

        changes.append(add_crate)
    if options.layout != LAYOUTS[0]:
        changes.append(partial(replace, folder=folder_of_zip(target)))
    return changes, notes


def _with_removal(result: PackResult, notes: tuple[str, ...]) -> PackResult:
    return replace(result, notes=(*result.notes, *notes), source_removed=not os.path.lexists(result.source))


def _compare_existing(plan: Plan, run: _Packing, *, with_values: bool) -> str | None:
    """Compare an existing file with a plan that has equal keys and sizes; return the difference as a text, or None.

    The file is synced first.
    """
    options, place = run.options, run.output.place
    run.output.sync_existing()  # a run with --no-sync may have written it; only synced pages can be read from the disk
    if with_values:
        from ozx.flow.sinks.verification import find_difference  # noqa: PLC0415 (numpy)

        total = plan.count_bytes() if needs_total(run.progress) else None
        progress = begin_phase(run.progress, os.path.basename(place.path), total)
        difference = find_difference(place, plan, run.workers, progress)
        progress.stop()
        if difference is not None:
            return difference
    checksum = place.beside(CHECKSUM_ENDING)
    if options.force and options.checksum and checksum.exists():
        is_same = sha256_of(place) == read_checksum_file(checksum)
        return None if is_same else f"{checksum.path} has another SHA-256"
    return None


def _finish_skipped(result: PackResult, plan: Plan, run: _Packing) -> PackResult:
    """Write the checksum and the manifest of the existing file if an interrupted run omitted them."""
    options, place, digest = run.options, run.output.place, None
    if options.checksum and place.beside(CHECKSUM_ENDING).exists():
        digest = check_checksum_file(place)
    elif options.checksum:
        digest = sha256_of(place)
        write_checksum_file(run.output, digest)
    if options.manifest and not place.beside(MANIFEST_ENDING).exists():
        from ozx.flow.sinks.verification import manifest_of_archive  # noqa: PLC0415 (numpy)

        manifest = manifest_of_archive(place, result.source)
        result = replace(result, manifest_sha256=write_manifest(run.output, result.source, manifest))
    notes = (*result.notes, *plan.all_notes())
    return replace(_measured(result), status="skipped", notes=notes, sha256=digest)


def _write(result: PackResult, plan: Plan, run: _Packing) -> PackResult:
    options = run.options
    digest: str | None = None
    total = plan.count_bytes() * (2 if options.verify else 1) if needs_total(run.progress) else None
    progress = begin_phase(run.progress, os.path.basename(result.path), total)
    run = replace(run, progress=progress)
    is_last = options.checksum is None and not options.manifest  # the folder is synced after its last new file

    def check(written: Place) -> None:
        nonlocal digest
        if options.verify:
            run.verify(written, plan)
        if options.checksum:
            digest = sha256_of(written)

    output = run.output.absolute()
    is_checked = options.verify or options.checksum is not None
    checking = check if is_checked else None
    with run.output.file(expected=plan.count_bytes, check=checking, sync_name=is_last) as new:
        new.needed = plan.count_bytes
        manifest: Manifest | None = {} if options.manifest else None
        entries, size = write_archive(plan, new.descriptor, run.workers, progress, manifest)
    if digest is not None:
        write_checksum_file(output, digest, sync_name=not options.manifest)
    if manifest is not None:
        result = replace(result, manifest_sha256=write_manifest(output, result.source, manifest))
    progress.stop()
    named = name_notes(run.output.place) if options.layout == LAYOUTS[0] else ()
    said = [*named, *entry_notes(entries), *plan.all_notes(), *swept_notes(new.swept)]
    return replace(
        result, entries=entries, bytes=size, notes=(*result.notes, *said), sha256=digest, verified=options.verify
    )


def _measured(result: PackResult) -> PackResult:
    """Return the result with the entry count and size of the existing file."""
    from ozx.flow.sinks.verification import measure_archive  # noqa: PLC0415 (numpy)

    entries, size = measure_archive(Place(result.path))
    return replace(result, entries=entries, bytes=size)

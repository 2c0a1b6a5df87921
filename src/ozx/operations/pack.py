"""pack: OME-Zarr directories become .ozx files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from ozx.atomic.new_file import replacing_file
from ozx.atomic.renaming import CHECKSUM_ENDING, MANIFEST_ENDING
from ozx.atomic.syncing import sync_file
from ozx.atomic.targets import check_target
from ozx.errors import OzxError, UsageError, resource_errors
from ozx.flow.batch import check_distinct, describe_failure, run_batch
from ozx.flow.plan import Plan
from ozx.flow.plans.copy import plan_copy
from ozx.flow.plans.version import VersionChoice, in_version
from ozx.flow.sinks.archive import write_archive
from ozx.flow.sinks.checksum import check_checksum_file, sha256_of, write_checksum_file
from ozx.flow.sinks.manifest import Manifest, write_manifest
from ozx.flow.sinks.target import check_place, default_output, entry_notes, name_notes, swept_notes
from ozx.flow.source_removal import SourceRemoval, finish_source_removal
from ozx.flow.sources.attributes import check_no_attributes
from ozx.flow.sources.directory import DirectorySource
from ozx.flow.sources.listing import Listing, check_is_directory, list_directory, refuse_folder_of_images
from ozx.flow.sources.location import StrPath, given_output, given_source
from ozx.flow.space import check_room
from ozx.flow.workers import Workers, working
from ozx.hierarchy.keys import ROOT_METADATA
from ozx.operations.pack_result import PackManyResult, PackResult
from ozx.progress import NO_PROGRESS, Progress, needs_total
from ozx.validation.container.one_hierarchy import refuse_errors

__all__ = ["pack", "pack_many"]


@dataclass(frozen=True, slots=True)
class _Options:
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

    def __post_init__(self) -> None:
        if self.checksum not in (None, "sha256"):
            raise UsageError(f"expected the checksum sha256; got {self.checksum!r}")
        if self.remove_source and not self.sync:
            raise UsageError("a source is removed only when its copy is on the disk: leave out --no-sync (sync=False)")


@dataclass(frozen=True, slots=True)
class _Run:
    options: _Options
    workers: Workers
    progress: Progress

    def verify(self, archive: str, plan: Plan) -> None:
        """Compare an archive with its plan."""
        from ozx.flow.sinks.verification import check_archive  # noqa: PLC0415 (numpy)

        check_archive(archive, plan, self.workers, self.progress)


@resource_errors()
def pack(
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
    sync: bool = True,
    progress: Progress = NO_PROGRESS,
) -> PackResult:
    """Make one .ozx file of the OME-Zarr hierarchy in a directory, values byte for byte.

    OME-Zarr 0.4 is upgraded to 0.5, with a note; its encoded chunks are moved if 0.5 has their codec.

    Parameters
    ----------
    source
        The directory with the root ``zarr.json``.
    out
        The file to write; by default ``cells.ome.zarr`` becomes ``cells.ozx`` beside it.
    force
        Whether an existing file may be replaced; the old one stays until the new one is complete.
    verify
        Read the synced file back and compare every value with the source before it gets its name.
    remove_source
        Delete the source after that, file by file; implies `verify`. Files that change or appear meanwhile stay, and a
        note names them; then `source_removed` is False.
    drop_attributes
        Remove a source although it has access control lists, extended attributes or hard links, which are then lost.
    checksum
        ``"sha256"`` writes ``OUT.sha256`` beside the file, as `sha256sum` does.
    resume
        Write nothing if `out` exists and is complete: it opens, and its keys and sizes are those of the source. It is
        synced. If requested, a missing checksum or manifest is written, and an existing checksum compared.
    shards, chunks, codec, chunk_checksums, ome_version, drop_transformations
        Another layout or OME-Zarr version, as for `ozx.repack`; encoded chunks are moved unless `chunks` or `codec` are
        given. Without any of these every value stays unchanged.
    thumbnail
        Put a small picture into the file, ``Thumbnails/thumbnail.png``, right after the metadata. If none can be made,
        a note gives the reason.
    manifest
        Write ``OUT.manifest.json`` beside the file: the SHA-256, size and modification time of every source file,
        hashed from the bytes that are packed. In another layout, it has the values of the file, without times.
    sync
        Whether to wait until the file is on the disk.
    progress
        Receives the number of bytes read.

    Returns
    -------
    PackResult
        The file, written or found complete.

    Raises
    ------
    FormatError
        The source is no OME-Zarr hierarchy, or has content forbidden in an .ozx file; `rule` names the broken rule.
    UnsupportedError
        It is OME-Zarr 0.4 with a feature that Zarr v3 lacks, or an unknown extension forbids another layout.
    UsageError
        `out` exists, is a URL or lies inside the source, or options contradict each other; the source to be removed
        holds files that are not packed, or attributes that would be lost.
    ResourceError
        Reading or writing failed. After any error, `out` is as it was before; only `checksum` and `remove_source` come
        after that. Nothing of a source that changed meanwhile is removed.

    Examples
    --------
    >>> result = pack("cells.ome.zarr", force=True)
    >>> result.path, result.entries
    ('cells.ozx', 71)
    """
    layout = shards, chunks, codec, chunk_checksums, VersionChoice(ome_version, drop_transformations)
    options = _Options(
        force,
        verify or remove_source,
        remove_source,
        drop_attributes,
        checksum,
        resume,
        thumbnail,
        manifest,
        sync,
        *layout,
    )
    target = None if out is None else given_output(out)
    root = _root(source)
    return _pack_one(root, given_output(default_output(root)) if target is None else target, options, progress)


@resource_errors()
def pack_many(  # noqa: PLR0913 (one argument for each option of the command)
    sources: Iterable[StrPath],
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
    sync: bool = True,
    progress: Progress = NO_PROGRESS,
    on_result: Callable[[PackResult], object] | None = None,
) -> PackManyResult:
    """Pack several directories, `jobs` at a time; one that fails does not stop the others.

    Parameters
    ----------
    sources
        The directories.
    out_dir
        The folder for the files, created if it is missing; by default each file goes beside its source.
    jobs
        Number of sources packed at the same time, each by a thread.
    force, verify, remove_source, drop_attributes, checksum, resume, thumbnail, manifest, sync, progress
        As for `pack`.
    shards, chunks, codec, chunk_checksums, ome_version, drop_transformations
        As for `pack`.
    on_result
        Called with each result as soon as there is one, by the calling thread.

    Returns
    -------
    PackManyResult
        The result for each source; a failed one has the status ``failed``, and the error.

    Raises
    ------
    UsageError
        Two sources would become the same file, `out_dir` or a source is a URL, or options contradict each other; then
        nothing is packed.
    ResourceError
        `out_dir` cannot be made, or the file system has less room than the files need; then nothing is packed.

    Examples
    --------
    >>> many = pack_many(["cells.ome.zarr", "missing.ome.zarr"], out_dir="packed")
    >>> [(result.status, result.path) for result in many.results]
    [('packed', 'packed/cells.ozx'), ('failed', 'packed/missing.ozx')]
    """
    layout = shards, chunks, codec, chunk_checksums, VersionChoice(ome_version, drop_transformations)
    options = _Options(
        force,
        verify or remove_source,
        remove_source,
        drop_attributes,
        checksum,
        resume,
        thumbnail,
        manifest,
        sync,
        *layout,
    )
    folder = None if out_dir is None else given_output(out_dir)
    roots = [_root(source) for source in sources]
    targets = [given_output(default_output(root, folder)) for root in roots]
    check_distinct(roots, targets, verb="Pack")
    if folder is not None:
        os.makedirs(folder, exist_ok=True)

    def work(root: str, target: str, told: Progress) -> PackResult:
        return _pack_one(root, target, options, told)

    def failure(root: str, target: str, error: OzxError) -> PackResult:
        return PackResult(root, target, "failed", error=describe_failure(error))

    pairs = list(zip(roots, targets, strict=True))
    if not remove_source:  # else each file takes the room of its source
        new = [(root, os.path.dirname(target)) for root, target in pairs if not os.path.exists(target)]
        check_room((root for root, _ in new), (place for _, place in new))
    return PackManyResult(
        run_batch(work, failure, pairs, jobs=jobs, what="hierarchies", progress=progress, on_result=on_result)
    )


def _root(source: StrPath) -> str:
    return given_source(source).rstrip("/") or "/"


def _pack_one(root: str, target: str, options: _Options, progress: Progress) -> PackResult:
    check_is_directory(root)
    check_place(root, target)
    finished = finish_source_removal(root, target, remove=options.remove_source)
    if finished is not None:
        return _with_removal(_measured(PackResult(root, target, "skipped")), finished)
    removal = SourceRemoval(root) if options.remove_source else None
    if removal is not None and not options.drop_attributes:
        check_no_attributes(root)
    listing = list_directory(root) if removal is None else removal.list_source()
    refuse_folder_of_images(listing)
    result = PackResult(root, target, "packed", left_out=tuple(listing.left_out))
    result = _pack_listed(result, listing, options, progress)
    return result if removal is None else _with_removal(result, removal.run(target))


def _pack_listed(result: PackResult, listing: Listing, options: _Options, progress: Progress) -> PackResult:
    is_old = bool(listing.legacy_keys) and ROOT_METADATA not in listing.metadata
    # A file that is there may have checksums behind its chunks, which converted content is compared without.
    is_compared = options.resume and os.path.exists(result.path)
    with working() as workers:
        run = _Run(options, workers, progress)
        has_same_chunks = options.chunks is None and options.codec is None and options.chunk_checksums in (None, "keep")
        if not is_old and options.shards == "keep" and has_same_chunks and not is_compared:
            return _pack_plan(result, in_version(plan_copy(listing), options.version), (), run)
        # These need numpy, and are slow to import beside packing a small directory.
        from ozx.flow.plans.relayout import iter_checksum_variants, plan_relayout  # noqa: PLC0415
        from ozx.hierarchy.relayout.layout_choice import LayoutChoice  # noqa: PLC0415

        source, checksums = DirectorySource(listing), options.chunk_checksums
        layout = LayoutChoice.parse(options.shards, options.chunks, options.codec, chunk_checksums=checksums)
        try:
            plan = in_version(plan_relayout(source, layout), options.version)
            variants = (in_version(each, options.version) for each in iter_checksum_variants(source, layout))
            return _pack_plan(result, plan, variants, run)
        except OzxError as error:
            raise error.at(result.source) from None


def _pack_plan(result: PackResult, plan: Plan, variants: Iterable[Plan], run: _Run) -> PackResult:
    """Pack a plan; with `resume`, an existing file that matches one of `variants` counts as complete, too."""
    root, target, options = result.source, result.path, run.options
    if options.thumbnail:
        from ozx.images.pictures.thumbnail import try_thumbnail  # noqa: PLC0415 (zarr and Pillow, slow to import)
        from ozx.store.opening import opened_hierarchy  # noqa: PLC0415

        pictures, notes = try_thumbnail(lambda: opened_hierarchy(root))
        result = replace(result, notes=tuple(notes))
        for picture in pictures:
            plan.add(picture)
    if options.resume and os.path.exists(target):
        from ozx.flow.sinks.verification import find_same_entries  # noqa: PLC0415 (numpy)

        complete = find_same_entries(target, plan, variants, run.workers)
        if complete is not None:
            return _finish_skipped(result, complete, run)
        if not options.force:
            raise UsageError(
                f"{target} exists, but is not the complete copy of {root}",
                hint="Give --force (force=True) to replace it.",
            )
    check_target(target, force=options.force)
    for is_wanted, ending in ((options.checksum, CHECKSUM_ENDING), (options.manifest, MANIFEST_ENDING)):
        if is_wanted:
            check_target(target + ending, force=True)
    refuse_errors(plan.metadata, plan.legacy_keys, path=root)
    return _write(result, plan, run)


def _with_removal(result: PackResult, notes: tuple[str, ...]) -> PackResult:
    return replace(result, notes=(*result.notes, *notes), source_removed=not os.path.lexists(result.source))


def _finish_skipped(result: PackResult, plan: Plan, run: _Run) -> PackResult:
    """Finish what an interrupted run may have left: sync and verify the existing file, write its checksum."""
    options, digest = run.options, None
    if options.sync:
        sync_file(result.path)  # it may come from a run with --no-sync; only synced pages can be read from the disk
    if options.verify:
        run.verify(result.path, plan)
    if options.checksum and os.path.exists(result.path + CHECKSUM_ENDING):
        digest = check_checksum_file(result.path)
    elif options.checksum:
        digest = sha256_of(result.path)
        write_checksum_file(result.path, digest, sync=options.sync)
    if options.manifest and not os.path.exists(result.path + MANIFEST_ENDING):
        from ozx.flow.sinks.verification import manifest_of_archive  # noqa: PLC0415 (numpy)

        write_manifest(result.path, manifest_of_archive(result.path, result.source), sync=options.sync)
    notes = (*result.notes, *dict.fromkeys(plan.notes))
    return replace(_measured(result), status="skipped", notes=notes, sha256=digest, verified=options.verify)


def _write(result: PackResult, plan: Plan, run: _Run) -> PackResult:
    options, progress, digest = run.options, run.progress, None
    total = plan.count_bytes() * (2 if options.verify else 1) if needs_total(progress) else None
    progress.start(os.path.basename(result.path), total)
    is_last = options.checksum is None and not options.manifest  # the folder is synced with its last new file
    with replacing_file(result.path, force=options.force, sync=options.sync, sync_name=is_last) as new:
        new.needed = plan.count_bytes
        manifest = Manifest(result.source) if options.manifest else None
        entries, size = write_archive(plan, new.descriptor, run.workers, progress, manifest)
        if options.verify:
            if options.sync:
                os.fsync(new.descriptor)
            run.verify(new.path, plan)
        if options.checksum:
            digest = sha256_of(new.path)
    if digest is not None:
        write_checksum_file(result.path, digest, sync=options.sync, sync_name=manifest is None)
    if manifest is not None:
        write_manifest(result.path, manifest, sync=options.sync)
    progress.stop()
    said = (*name_notes(result.path), *entry_notes(entries), *dict.fromkeys(plan.notes), *swept_notes(new.swept))
    return replace(
        result, entries=entries, bytes=size, notes=(*result.notes, *said), sha256=digest, verified=options.verify
    )


def _measured(result: PackResult) -> PackResult:
    """Return the result with the numbers of entries and bytes of the existing file."""
    from ozx.flow.sinks.verification import measure_archive  # noqa: PLC0415 (numpy)

    entries, size = measure_archive(result.path)
    return replace(result, entries=entries, bytes=size)

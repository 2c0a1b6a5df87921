"""Pack one source: list its files, write and verify the archive, then remove the source if requested."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ozx.atomic.renaming import CHECKSUM_ENDING, MANIFEST_ENDING
from ozx.calls import JsonResult
from ozx.errors import OzxError, UsageError
from ozx.file_changes import modified
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
from ozx.flow.sinks.target import entry_notes, folder_of_zip, name_notes, spelling_notes, stem_of_archive, swept_notes
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
from ozx.places.place import Place
from ozx.progress import Progress, begin_phase, needs_total
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

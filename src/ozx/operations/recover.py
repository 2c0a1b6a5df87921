"""recover: write all recoverable values of a damaged archive to an intact archive."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from ozx.archive.coalesced_reads import REQUESTS
from ozx.archive.other_formats import LONGEST_SIGNATURE, find_format
from ozx.archive.recovery.directory import RecoveredDirectory, merge_directory
from ozx.archive.recovery.scan import LostEntry, iter_found_value, scan_archive
from ozx.atomic.locks import lock_file, unlock_file
from ozx.atomic.temporary import is_partial
from ozx.calls import plain_json, public_call
from ozx.errors import FormatError, OzxError, ResourceError, UnsupportedError, UsageError
from ozx.flow.entry import Entry
from ozx.flow.plan import Plan
from ozx.flow.plans.salvage import plan_salvage
from ozx.flow.repair.names import repair_found_names
from ozx.flow.repair.salvage import DamagedArray, LostChunk, RecoveredHierarchy, all_losses, count_losses, salvage
from ozx.flow.repair.shards import salvage_chunks
from ozx.flow.sinks.archive import write_archive
from ozx.flow.sinks.output import Output
from ozx.flow.sinks.target import check_name, swept_notes
from ozx.flow.sources.wrong_sources import folder_error
from ozx.ome.comment import parse_comment, warn_of_unknown_keys
from ozx.ome.partial_hierarchy import document_key, parse_metadata
from ozx.ome.recovered import losses_of, merge_losses, unmarkable, with_losses
from ozx.places.byte_source import ByteSource, FileSource, read_exactly
from ozx.places.place import Place, StrPath
from ozx.places.positional_reading import COPY, divided
from ozx.progress import NO_PROGRESS, Progress, begin_phase
from ozx.quoting import quote
from ozx.streaming.open_chunks import chunks_of
from ozx.streaming.recovered_chunks import waiting_values
from ozx.threads import map_ahead, working
from ozx.validation.container.rfc9 import check_surroundings
from ozx.zarr.json_reading import Document, as_object
from ozx.zarr.keys import METADATA, ROOT_METADATA, breadth_first, is_legacy_metadata_key, is_metadata_key

# The most keys that a result lists; their total number is always given.
_MOST_LISTED = 1000
_ENCRYPTED = "it is encrypted"


@dataclass(frozen=True, slots=True)
class RecoverResult:
    """The result of a recovery: saved and lost values; true only if it is `complete`.

    Attributes
    ----------
    source, path
        The damaged file, and the written file.
    entries, bytes
        Number of entries, and length of the new file in bytes.
    complete
        Whether it is proven that everything is recovered: False if something is, or may be, lost.
    directory
        Intact part of the central directory: ``whole``, ``part`` or ``none``.
    unconfirmed
        Number of keys that only one of the two headers of an entry contains, so that nothing confirms them.
    lost_count
        Number of entries known to be lost.
    lost
        The first thousand lost entries; each has a `name` and a `reason`.
    arrays
        Arrays with chunks that are, or may be, missing.
    lost_chunks_count
        Number of chunks that lie in damaged values and have no correct checksum. The recovered values lack these chunks
        unless `keep_unproven` keeps them.
    lost_chunks
        The first thousand of these chunks.
    made
        Keys of lost metadata documents, each replaced by its copy in consolidated metadata or by an empty group.
    notes
        Remarks, one sentence each.
    """

    source: str
    path: str
    entries: int
    bytes: int
    complete: bool
    directory: str
    unconfirmed: int
    lost_count: int
    lost: tuple[LostEntry, ...]
    arrays: tuple[DamagedArray, ...]
    lost_chunks_count: int
    lost_chunks: tuple[LostChunk, ...]
    made: tuple[str, ...]
    notes: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.complete

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON output of ``ozx recover --json`` as a dictionary."""
        return {
            "schema": 2,
            **plain_json(self),
            "arrays": [loss.to_dict() for loss in self.arrays],
            "lost": [{"key": entry.name, "reason": entry.reason} for entry in self.lost],
            "lost_chunks": [chunk.to_dict() for chunk in self.lost_chunks],
        }


@public_call()
def recover(
    path: StrPath,
    out: StrPath,
    *,
    force: bool = False,
    keep_unproven: bool = False,
    sync: bool = True,
    progress: Progress | None = None,
) -> RecoverResult:
    """Write each value of a damaged archive to an intact .ozx file if the CRC-32 of the value is right.

    The archive may be cut off, never finished (``NAME.partial`` of `ozx.OzxStore` or `ozx.stream`), without its
    directory, or damaged anywhere. Doubtful values are left out and reported. The new file says which pixels are
    missing: `ozx.inspect` and the notes of `ozx.open_image` have it, until `ozx.edit` forgets it.

    Parameters
    ----------
    path
        A damaged .ozx or ZIP file, or its URL; the file is not changed. A remote file is first copied into the folder
        for temporary files, because all of it is read.
    out
        The file to write.
    force
        Whether an existing file may be replaced; the old one stays until the new one is complete.
    keep_unproven
        Whether chunks in damaged values are kept though no checksum proves them. Their pixels may be wrong, and readers
        may refuse them.
    sync
        Whether to wait until the file is on the disk.
    progress
        Receives the number of bytes read: the file is read once to find values, and the values once more to copy them.

    Returns
    -------
    RecoverResult
        The recovered and the lost values.

    Raises
    ------
    FormatError
        There is nothing to recover: no entry of a ZIP file is left, or the root has no metadata.
    UnsupportedError
        Its entries are encrypted.
    UsageError
        `out` exists, is a URL or the damaged file itself, or lies in a hierarchy.
    ResourceError
        Reading or writing failed. After any error, `out` is as it was before.

    Examples
    --------
    >>> with open("cells.ozx", "rb") as whole, open("cells.cut.ozx", "wb") as cut:
    ...     _ = cut.write(whole.read(60_000))
    >>> result = recover("cells.cut.ozx", "cells.recovered.ozx")
    >>> result.complete, result.directory, result.arrays[0].path, result.arrays[0].found
    (False, 'none', '0', 10)
    """
    progress = progress or NO_PROGRESS
    output = Output(Place.output(out), force=force, sync=sync)
    target = output.path
    check_name(target, "an .ozx file")
    place = Place.file(path, "damaged file")
    file = Place(place.path).name
    _check_places(place, output)
    try:
        with _opened(place, target, progress) as source:
            size = source.size()
            _check_not_written(source)
            progress = begin_phase(progress, os.path.basename(target), 2 * size)
            directory = _find(source, progress)
            # An unfinished file was written by ozx, with the right names.
            repairs = () if is_partial(file) else repair_found_names(directory)
            found = salvage(source, directory, is_ordered=not is_partial(file))
            _check_usable(found, file)
            salvage_chunks(source, found, keep_unproven=keep_unproven)
            with (
                _waiting(source, found) as (waiting, count),
                output.file() as new,
                working() as workers,
            ):
                losses = count_losses(found, [entry.key for entry in waiting])
                plan = plan_salvage(source, found, waiting)
                unmarked = _mark(plan, found, losses)
                written = write_archive(plan, new.descriptor, workers, progress)
                source.check_unchanged()
        progress.stop()
    except OzxError as error:
        raise error.at(file) from None
    taken = [f"{count:,} chunks of unfinished shards were taken from {chunks_of(file)}"] if count else []
    return _result(file, target, found, losses, written, (*unmarked, *repairs, *taken, *swept_notes(new.swept)))


@contextmanager
def _opened(place: Place, target: str, progress: Progress) -> Iterator[FileSource]:
    """Yield the damaged file; for a URL, a temporary copy in the folder for temporary files (``TMPDIR``)."""
    source = place.open()
    if isinstance(source, FileSource):
        with closing(source):
            yield source
        return
    progress.start(os.path.basename(target), None)
    descriptor, path = tempfile.mkstemp(prefix="ozx-copy-")
    try:
        with open(descriptor, "wb") as file:
            size = source.size()

            def read(block: tuple[int, int]) -> bytes:
                return read_exactly(source, *block, "the file")

            for data in map_ahead(read, divided(0, size, COPY), REQUESTS):
                progress.advance(file.write(data))
        progress.stop()
        with closing(FileSource(path, source.name)) as copy:
            yield copy
    finally:
        source.close()
        os.unlink(path)


def _check_places(place: Place, output: Output) -> None:
    target = output.path
    if os.path.isdir(place.path):
        raise folder_error(place.path, "recover", "A directory needs no recovery: run ozx pack.")
    if output.replaces(place):
        raise UsageError(f"{target} is the damaged file itself", hint="Choose another name; the old file is kept.")
    output.check_file()
    # RFC-9 (R2, 2026-04-20): "OME-Zarr zip files SHALL NOT be embedded in a parent OME-Zarr hierarchy".
    for finding in check_surroundings(target):
        raise UsageError(f"{target}: {finding.message}", hint="Choose a path outside of this hierarchy.")


def _check_not_written(source: FileSource) -> None:
    """Raise an error if a lock on the file shows that another program is still writing the file."""
    if is_partial(source.name):
        if lock_file(source.descriptor()) is False:
            raise ResourceError(
                "another program is writing this file", hint="Wait until that program has closed the file."
            )
        unlock_file(source.descriptor())


@contextmanager
def _waiting(source: FileSource, found: RecoveredHierarchy) -> Iterator[tuple[list[Entry], int]]:
    """Yield a list of entries made from the chunks of a stream's unfinished shards, and the number of chunks."""
    path = chunks_of(source.name)
    if not is_partial(source.name) or not os.path.isfile(path):
        yield [], 0
        return
    taken = {found.key(index): index for index in found.indices}

    def document(array: str) -> Document | None:
        key = document_key(array)
        if key not in taken:
            return None
        return parse_metadata(key, b"".join(iter_found_value(source, found.entry(taken[key]))))

    with closing(FileSource(path)) as chunks:
        yield waiting_values(chunks, document, {*taken, *found.rebuilt})


def _find(source: ByteSource, progress: Progress) -> RecoveredDirectory:
    scan = scan_archive(source, progress)
    # A directory without the document of the root has lost headers.
    scan.is_listed_whole &= ROOT_METADATA in scan.listed.names or ROOT_METADATA not in scan.found.names
    if scan.end is not None:
        warn_of_unknown_keys(parse_comment(scan.end.comment), source.name)
    directory = merge_directory(source, scan)
    if len(directory.order):
        return directory
    if any(entry.reason == _ENCRYPTED for entry in scan.broken):
        raise UnsupportedError(
            "its entries are encrypted",
            rule="zip/encrypted",
            hint="Enter the password in the program that wrote the file, unpack it, then run ozx pack on the folder.",
        )
    if directory.lost:
        first = directory.lost[0]
        message = f"nothing can be recovered of {len(directory.lost):,} damaged entries; {first.name!r}: {first.reason}"
        raise FormatError(message, rule="zip/crc", hint="Copy or download the file again.")
    known = find_format(source.read_at(0, LONGEST_SIGNATURE))
    found = "no local file header" if source.size() else "an empty file"
    hint = None if known is None else known.hint(source.name)
    if not source.size() and is_partial(source.name):
        found = "an empty file, because its writer was killed before the first shard was complete"
        hint = "Nothing can be saved. In the next stream, flush() or sync_every keeps the frames of incomplete shards."
    raise FormatError(
        f"expected a damaged ZIP file; found {found if known is None else known.name}", rule="zip/not-a-zip", hint=hint
    )


def _check_usable(found: RecoveredHierarchy, file: str) -> None:
    """Raise `FormatError` if the metadata of the hierarchy's root is lost."""
    if "" in found.hierarchy.nodes or _is_legacy(found):
        return
    nodes = [path for path in found.hierarchy.nodes if path]
    what = f"{len(found.indices):,} values of {len(nodes):,} nodes can be read"
    hint = (
        f"7z x {quote(file)} -oDIR extracts the values. With the zarr.json of a similar image in DIR, "
        "ozx pack DIR makes an archive."
    )
    whole = file.partition(".partial")[0]
    if whole != file and os.path.exists(whole):
        hint = f"{whole} is the original file, which an interrupted writer does not change."
    below = next((path for path in sorted(nodes, key=len) if path.endswith(".zarr")), None)
    if below is not None:
        hint = (
            f"A hierarchy is in the folder {below}: 7z x {quote(file)} -oDIR unpacks the archive; then pack that "
            "folder."
        )
    reason = next((f" ({entry.reason})" for entry in found.lost if entry.name == ROOT_METADATA), "")
    raise FormatError(f"the root's {ROOT_METADATA} is lost{reason}; {what}", rule="rfc9/root", hint=hint)


def _mark(plan: Plan, found: RecoveredHierarchy, losses: Sequence[DamagedArray]) -> tuple[str, ...]:
    """Write into the root what the file lacks; return a note if the root cannot hold it."""
    new = all_losses(found, losses)
    if not new:
        return ()
    root = plan.metadata.get(METADATA)
    problem = "Zarr v2 has none" if root is None else unmarkable(root)
    if problem is not None:
        return (f"the file does not say that it is recovered, because its root {METADATA} is unchanged: {problem}",)

    def mark(document: Document) -> Document:
        old = losses_of(as_object(document.get("attributes")))
        return with_losses(document, merge_losses(old, new, are_others=found.directory.is_whole))

    plan.change_root(mark)
    return ()


def _is_legacy(found: RecoveredHierarchy) -> bool:
    return not any(is_metadata_key(found.key(index)) for index in found.indices) and any(
        is_legacy_metadata_key(found.key(index)) for index in found.indices
    )


def _result(
    file: str,
    target: str,
    found: RecoveredHierarchy,
    losses: Sequence[DamagedArray],
    written: tuple[int, int],
    others: tuple[str, ...],
) -> RecoverResult:
    directory = found.directory
    left = "whole" if directory.is_whole else "part" if any(directory.names_by) else "none"
    return RecoverResult(
        source=file,
        path=target,
        entries=written[0],
        bytes=written[1],
        complete=found.is_complete,
        directory=left,
        unconfirmed=found.unconfirmed,
        lost_count=len(found.lost),
        lost=tuple(found.lost[:_MOST_LISTED]),
        arrays=tuple(losses),
        lost_chunks_count=len(found.lost_chunks),
        lost_chunks=tuple(found.lost_chunks[:_MOST_LISTED]),
        made=tuple(sorted(found.made, key=breadth_first)),
        notes=(*_notes(found), *_level_notes(found, losses, target), *others),
    )


def _notes(found: RecoveredHierarchy) -> Iterator[str]:
    directory = found.directory
    if _is_legacy(found):
        yield "this is OME-Zarr 0.4 (Zarr v2) in a ZIP file, not an .ozx file; it stays Zarr v2"
    elif found.hierarchy.version is None:
        yield "this is zipped Zarr, but not OME-Zarr: its root zarr.json has no attributes.ome.version"
    if directory.replaced and not directory.is_accounted:
        yield "some keys have several listed values, as in two joined archives; it is unknown which values are valid"
    elif not directory.is_accounted:
        yield "the central directory is damaged or missing; the file may have had more entries"
    yield from _chunk_notes(found)
    if found.unconfirmed:
        yield (
            f"{found.unconfirmed:,} keys are in only one of the two headers of their entries, and no checksum covers "
            "keys; these keys fit the hierarchy"
        )
    if repeated := found.repeated + len(directory.replaced):
        yield f"{repeated:,} keys had several values; the last value of each key was taken"
    if directory.left_out:
        yield f"{directory.left_out:,} values were left out: they were deleted, or are parts of other values"
    if found.copied:
        yield f"taken from consolidated metadata, because the documents are lost: {', '.join(found.copied[:10])}"
    groups = [key for key in found.made if key not in found.copied]
    if groups:
        yield f"written as empty groups, because their metadata is lost: {', '.join(sorted(groups)[:10])}"


def _level_notes(found: RecoveredHierarchy, losses: Sequence[DamagedArray], target: str) -> Iterator[str]:
    """Yield a note if the full resolution of a single image is whole, and only smaller levels lack chunks.

    A file with label images or several images gets no note, because the commands in the note keep only one image.
    """
    lacking = {loss.path for loss in losses}
    if lacking and len(found.hierarchy.levels) == 1 and lacking <= set(found.hierarchy.levels[0][1:]):
        yield (
            "the full resolution is whole; only smaller levels lack chunks, so that pictures may be black. To make the "
            f"levels again: `ozx export {quote(target)} full.ome.tif --levels :1`, then `ozx import full.ome.tif`"
        )


def _chunk_notes(found: RecoveredHierarchy) -> Iterator[str]:
    if found.rebuilt:
        yield f"damaged values of which the chunks with a correct checksum are kept: {len(found.rebuilt):,}"
    if found.unlisted:
        yield (
            f"the central directory does not list {len(found.unlisted):,} entries, which were left out; they were "
            f"deleted, or the directory lost their headers: {', '.join(found.unlisted[:10])}"
        )
    if found.unproven:
        yield (
            f"damaged values that are left out, because no checksum proves any of their pixels: {found.unproven:,}; "
            "keep_unproven=True keeps them"
        )
    if kept := sum(chunk.is_kept for chunk in found.lost_chunks):
        yield f"chunks kept without a correct checksum: {kept:,}; their pixels may be wrong"

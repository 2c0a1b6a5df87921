"""Write a plan into an archive."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ozx.archive.writer import LOCAL_OVERHEAD, ArchiveWriter
from ozx.flow.entry import BytesPart, Entry, read_part
from ozx.flow.plan import Plan
from ozx.flow.sinks import fast_assembling, fast_packing
from ozx.flow.sinks.manifest import Manifest, hashed
from ozx.progress import Progress
from ozx.threads import Workers

if TYPE_CHECKING:
    from ozx.cloud.upload import Upload


def write_archive(
    plan: Plan, output: int | Upload, workers: Workers, progress: Progress, manifest: Manifest | None = None
) -> tuple[int, int]:
    """Write a plan to an upload or an empty file, and return the numbers of entries and bytes.

    `output` is the upload, or the descriptor of the file.

    The hash of each value is computed from the bytes that are written, and added to `manifest`.

    The bytes are the same on every system; POSIX systems write data by `fast_packing` or `fast_assembling`.
    """
    if plan.rooms is not None:
        if not isinstance(output, int):
            raise TypeError(
                "expected a local file, got an upload: uploads send metadata first, but this plan makes it last"
            )
        return _write_before_metadata(plan, plan.rooms, output, workers)
    writer = _open_writer(output)
    is_file, files = isinstance(output, int), None if plan.folder else plan.files
    root = None if files is None else files.root
    write_entries(writer, plan.iter_metadata(), progress, manifest, root)
    write_entries(writer, plan.iter_added(), progress, manifest)
    if is_file and files is not None and fast_packing.is_available():
        fast_packing.write_files(writer, files.root, files.folders, progress, manifest)
    elif is_file and manifest is None and fast_assembling.is_available():
        fast_assembling.write_entries(writer, plan.iter_data(workers), progress, workers.jobs)
    else:
        write_entries(writer, plan.iter_data(workers), progress, manifest, root)
    size = writer.finish(plan.comment)
    return writer.directory.entries, size


def _open_writer(output: int | Upload) -> ArchiveWriter:
    if isinstance(output, int):
        return ArchiveWriter(output)
    from ozx.cloud.upload import UploadWriter  # noqa: PLC0415 (few outputs are remote)

    return UploadWriter(output)


def _write_before_metadata(plan: Plan, rooms: Mapping[str, int], descriptor: int, workers: Workers) -> tuple[int, int]:
    """Write the data, then the metadata into the space reserved before the data, so that nothing is written twice."""
    data = ArchiveWriter(descriptor)
    data.skip_to(sum(LOCAL_OVERHEAD + len(key.encode()) + room for key, room in rooms.items()))
    _add_values(data, plan.iter_data(workers))
    written = _finish(plan, rooms, data)
    if plan.late is not None:
        _add_values(data, plan.late())  # at the place of the first central directory
        written = _finish(plan, rooms, data)
    return written


def _add_values(writer: ArchiveWriter, entries: Iterable[Entry]) -> None:
    for entry in entries:
        writer.add(entry.key, *(part.data if isinstance(part, BytesPart) else read_part(part) for part in entry.parts))


def _finish(plan: Plan, rooms: Mapping[str, int], data: ArchiveWriter) -> tuple[int, int]:
    """Write the metadata, the central directory and the comment."""
    end = data.flush()
    writer = ArchiveWriter(data.descriptor)
    for key, room in rooms.items():
        document = plan.metadata[key].ljust(room)
        if len(document) > room:
            raise RuntimeError(f"{key}: expected at most {room:,} bytes of metadata, got {len(document):,}")
        writer.add(key, document)
    writer.flush()
    writer.directory.extend(data.directory)
    writer.skip_to(end)
    entries, size = writer.directory.entries, writer.finish(plan.comment)
    os.ftruncate(data.descriptor, size)
    return entries, size


def write_entries(
    writer: ArchiveWriter,
    entries: Iterable[Entry],
    progress: Progress,
    manifest: Manifest | None = None,
    root: str | None = None,
) -> None:
    """Write `entries` to `writer` in order; read each entry only when it is written.

    With `root`, the manifest records each entry as a copy of the file in this directory with the same key.
    """
    for entry in entries:
        blocks = entry.iter_blocks() if manifest is None else hashed(entry, manifest, root)
        writer.add_blocks(entry.key, entry.size, _counted(blocks, progress))


def _counted(blocks: Iterator[bytes], progress: Progress) -> Iterator[bytes]:
    for block in blocks:
        yield block
        progress.advance(len(block))

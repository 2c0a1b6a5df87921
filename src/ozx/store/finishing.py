"""The end of an archive in the making: metadata to its head, directory to its end, and the final name.

Nothing that was written moves when the metadata fits into the room kept for it and little of the file is free: what is
free is filled by padding in the local header that follows (an extra field, APPNOTE 4.5). Else the file is written a
second time, without gaps.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass

from ozx.archive.byte_source import FileSource
from ozx.archive.positional_writing import write_all_at
from ozx.archive.reader import ArchiveReader
from ozx.archive.writer import LONGEST_PADDING, SHORTEST_PADDING, ArchiveWriter, local_header
from ozx.atomic.new_file import replacing_file
from ozx.errors import FormatError, NotOmeZarrWarning, RewrittenWarning
from ozx.flow.chunks.moving import move_entries
from ozx.hierarchy.comment import make_comment
from ozx.hierarchy.json.documents import parse_document
from ozx.hierarchy.json.values import as_object, as_text
from ozx.hierarchy.keys import ROOT_METADATA, breadth_first, hierarchy_order, is_metadata_key
from ozx.store.growing_file import GrowingFile, Slot
from ozx.store.metadata_reserve import document_room

__all__ = ["Unfinished", "finish"]

# How much of a file may be padding: more, and it is written a second time.
_MOST_PADDING = 0.02
# A file that is rewritten because it outgrew its room takes time from here on, so that the user is told.
_SILENTLY_REWRITTEN = 1 << 20


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What an archive will consist of.

    Attributes
    ----------
    growing
        The file with the values written so far.
    documents, slots
        Metadata in memory, and the places of values in the file, by key.
    base, base_indices
        The archive that is added to, and which of its entries are kept.
    """

    growing: GrowingFile
    documents: dict[str, bytes]
    slots: dict[str, Slot]
    base: ArchiveReader | None
    base_indices: list[int]


def finish(archive: Unfinished, *, require_ome: bool, force: bool, sync: bool) -> None:
    """Complete the file and give it its name.

    Parameters
    ----------
    archive
        What it consists of.
    require_ome
        Whether to raise, rather than to warn, when it is no OME-Zarr.
    force
        Whether a file of that name may be replaced.
    sync
        Whether to wait until it is on the disk.

    Raises
    ------
    FormatError
        It is no OME-Zarr; or the archive that is added to changed meanwhile.
    UsageError
        The name was taken meanwhile, and `force` is not given.
    """
    target = archive.growing.partial.target
    comment = _comment(archive.documents, target, require_ome=require_ome)
    documents = _in_order(archive.documents)
    slots = sorted(archive.slots.values(), key=lambda slot: slot.offset)
    archive.growing.forget_drafts()
    archive.growing.stop_reading()
    # The archive that is added to may be replaced while the new one is synced.
    base = None if archive.base is None else archive.base.source
    check_old = base.check_unchanged if isinstance(base, FileSource) else None
    head = sum(document_room(key, document) for key, document in documents)
    gaps = _gaps(head, slots)
    if _can_stay(gaps, len(documents), slots):
        _complete(archive, documents, slots, gaps, comment)
        archive.growing.partial.publish(force=force, sync=sync, check_old=check_old)
        return
    size = slots[-1].end
    if head > slots[0].offset and size > _SILENTLY_REWRITTEN:
        warnings.warn(
            f"{target}: the metadata ({head:,} bytes) outgrew the room kept for it ({slots[0].offset:,} bytes); "
            f"{size:,} bytes are written a second time. Writing the metadata before the first data avoids that.",
            RewrittenWarning,
            stacklevel=2,
        )
    with replacing_file(target, force=force, sync=sync, check_old=check_old) as new:
        _rewrite(archive, documents, ArchiveWriter(new.descriptor), comment)
    archive.growing.partial.remove()


def _comment(documents: dict[str, bytes], target: str, *, require_ome: bool) -> bytes:
    """Return the archive comment; empty, with a warning or an error, where this is no OME-Zarr."""
    problem = version = None
    root = documents.get(ROOT_METADATA)
    if root is None:
        problem = "it has no root zarr.json"
    else:
        try:
            attributes = as_object(parse_document(root, ROOT_METADATA).get("attributes"))
        except FormatError as error:
            problem = error.message
        else:
            version = as_text(as_object(attributes.get("ome")).get("version"))
    if version is not None:
        return make_comment(version, json_first=True)
    problem = problem or "its root zarr.json has no attributes.ome.version"
    if require_ome:
        raise FormatError(
            f"expected an OME-Zarr hierarchy; {problem}",
            path=target,
            rule="rfc9/one-hierarchy",
            hint="Write a root zarr.json with attributes.ome.version, or leave require_ome out.",
        )
    warnings.warn(f"{target}: this is zipped Zarr, but no OME-Zarr: {problem}", NotOmeZarrWarning, stacklevel=2)
    return b""


def _in_order(documents: dict[str, bytes]) -> list[tuple[str, bytes]]:
    """Return the metadata in the order of the archive; what Zarr v2 calls metadata comes behind."""
    current = sorted((key for key in documents if is_metadata_key(key)), key=breadth_first)
    legacy = sorted((key for key in documents if not is_metadata_key(key)), key=hierarchy_order)
    return [(key, documents[key]) for key in current + legacy]


def _gaps(head: int, slots: list[Slot]) -> list[int]:
    """Return how many bytes are free before each value; negative where the metadata reaches into the first one."""
    ends = [head, *(slot.end for slot in slots)]
    return [slot.offset - end for slot, end in zip(slots, ends, strict=False)]


def _can_stay(gaps: list[int], documents: int, slots: list[Slot]) -> bool:
    """Tell whether every gap can be filled by padding, and all of them are little of the file."""
    if not gaps:
        return True
    most = [LONGEST_PADDING] * len(gaps)
    # The metadata's own headers can be lengthened, too; each by some bytes less, so that no rest is too short.
    most[0] += documents * (LONGEST_PADDING - SHORTEST_PADDING)
    can_fill = all(gap == 0 or SHORTEST_PADDING <= gap <= limit for gap, limit in zip(gaps, most, strict=True))
    return can_fill and sum(gaps) <= _MOST_PADDING * slots[-1].end


def _complete(
    archive: Unfinished, documents: list[tuple[str, bytes]], slots: list[Slot], gaps: list[int], comment: bytes
) -> None:
    """Write the metadata, lengthen the headers behind gaps, add what is kept of the old archive, and the directory."""
    descriptor = archive.growing.partial.descriptor
    writer = ArchiveWriter(descriptor)
    spare = gaps[0] if gaps else 0
    for key, document in documents:
        padding = max(0, min(spare - LONGEST_PADDING, LONGEST_PADDING - SHORTEST_PADDING))
        padding = padding if padding >= SHORTEST_PADDING else SHORTEST_PADDING if padding else 0
        writer.add(key, document, padding=padding)
        spare -= padding
    writer.flush()
    for position, slot in enumerate(slots):
        gap = gaps[position] if position else spare
        if gap:
            header = local_header(slot.raw_name, slot.flags, slot.crc32, slot.size, gap)
            write_all_at(descriptor, header, slot.offset - gap)
        writer.directory.add(slot.raw_name, slot.flags, slot.crc32, slot.size, slot.offset - gap)
    if slots:
        writer.skip_to(slots[-1].end)
    _keep_base(archive, writer)
    os.ftruncate(descriptor, writer.flush())
    writer.finish(comment)


def _rewrite(archive: Unfinished, documents: list[tuple[str, bytes]], writer: ArchiveWriter, comment: bytes) -> None:
    """Write everything anew, without gaps and in hierarchy order."""
    for key, document in documents:
        writer.add(key, document)
    source = archive.growing.partial.descriptor
    for key in sorted(archive.slots, key=hierarchy_order):
        slot = archive.slots[key]
        writer.add_copied(slot.raw_name, slot.flags, slot.crc32, slot.size, source, slot.data_offset)
    _keep_base(archive, writer)
    writer.finish(comment)


def _keep_base(archive: Unfinished, writer: ArchiveWriter) -> None:
    if archive.base is None:
        return
    move_entries(archive.base, archive.base_indices, writer)

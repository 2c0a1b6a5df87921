"""Find and describe container faults that are repaired when the archive is rewritten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ozx.archive.columns import Columns
from ozx.archive.names.decoding import check_order
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import DEFLATE64, FLAG_DATA_DESCRIPTOR, LOCAL_SIGNATURE, STORED
from ozx.flow.repair.names import RepairedNames
from ozx.flow.repair.source import Repair
from ozx.flow.sources.archive_keys import ArchiveKeys
from ozx.hierarchy.comment import Comment, parse_comment
from ozx.hierarchy.keys import METADATA, order_fault


def name_repairs(names: RepairedNames) -> Iterator[Repair]:
    """Yield the repairs of entry names."""
    for tally, rule, what, done in (
        (names.backslashed, "zip/name", "names with backslashes between components", "slashes now"),
        (names.dotted, "zip/name", "names with empty components or '.'", "removed"),
        (names.unmarked, "zip/name-encoding", "names not declared as UTF-8", "declared now"),
        (names.folders, "zip/directory-entry", "entries for folders", "dropped"),
    ):
        if tally.count:
            yield Repair.of_many(rule, what, tally.count, done, tally.first)
    yield from litter_repairs(names.litter)


def litter_repairs(names: Sequence[str]) -> Iterator[Repair]:
    """Yield the repair that omits system files such as ``.DS_Store``."""
    if names:
        what = "files that desktops and editors leave behind"
        yield Repair.of_many("repair/litter", what, len(names), "left out", names[0])


def key_repairs(keys: ArchiveKeys, columns: Columns, path: str) -> Iterator[Repair]:
    """Yield a repair for duplicate keys.

    Check first that the central directory lists the entries of such a key in the order in which they are in the file.
    """
    if not keys.repeated:
        return
    same = 0
    for places in keys.repeated:
        rows = keys.rows[places]
        name = keys.names.raw_name(places[-1]).decode("utf-8", "replace")
        check_order(name, columns.header_offsets[rows].tolist(), path)
        alike = (columns.crc32s[rows] == columns.crc32s[rows[-1]]).all()
        same += bool(alike and (columns.uncompressed_sizes[rows] == columns.uncompressed_sizes[rows[-1]]).all())
    first = keys.names.raw_name(keys.repeated[0][-1]).decode("utf-8", "replace")
    done = "the last entry counts" + (f" (names whose entries have equal values: {same:,})" if same else "")
    yield Repair.of_many("zip/duplicate-name", "names of several entries", len(keys.repeated), done, first)


def container_repairs(
    reader: ArchiveReader, keys: ArchiveKeys, root_version: str | None, *, is_ome_zip: bool
) -> Iterator[Repair]:
    """Yield the repairs of the ZIP structure.

    `is_ome_zip`: whether the whole archive is one Zarr v3 hierarchy, so that RFC-9's rules of order and comment apply.
    """
    yield from _bytes_around(reader)
    yield from _entry_forms(reader.columns)
    if not reader.end.has_zip64_end:
        yield Repair("rfc9/zip64", "the archive was not in ZIP64 form")
    if reader.end.is_wrapped or len(reader) != reader.end.entries:
        yield Repair("zip/overflow", "counts, offsets or sizes were too large for their fields; ZIP64 holds them")
    if is_ome_zip:
        comment = parse_comment(reader.end.comment)
        yield from _order(keys, reader.columns, comment)
        yield from _comment(reader.end.comment, comment, root_version)


def _bytes_around(reader: ArchiveReader) -> Iterator[Repair]:
    end, offsets = reader.end, reader.columns.header_offsets
    leading = end.prepended or (int(offsets.min()) if len(offsets) else 0)
    # APPNOTE 4.1.9: bytes that begin with a local header are deleted entries.
    if end.prepended or (leading and reader.source.read_at(0, len(LOCAL_SIGNATURE)) != LOCAL_SIGNATURE):
        yield Repair.of_many("zip/prepended-bytes", "bytes before the archive", leading, "left out")
    if end.trailing:
        yield Repair.of_many("zip/trailing-bytes", "bytes after the archive", end.trailing, "left out")


def _entry_forms(columns: Columns) -> Iterator[Repair]:
    compressed = int((columns.methods != STORED).sum())
    if compressed:
        wide = int((columns.methods == DEFLATE64).sum())
        method = "deflate" if not wide else "Deflate64" if wide == compressed else "deflate and Deflate64"
        yield Repair.of_many("rfc9/stored", f"entries compressed by ZIP ({method})", compressed, "inflated")
    streamed = int(((columns.flags & FLAG_DATA_DESCRIPTOR) != 0).sum())
    if streamed:
        what = "entries with their sizes after the value (data descriptors)"
        yield Repair.of_many("repair/data-descriptor", what, streamed, "the sizes now come before the value")


def _order(keys: ArchiveKeys, columns: Columns, comment: Comment) -> Iterator[Repair]:
    rows = np.array(keys.find_all(keys.metadata), np.int64)
    rank = np.empty(len(columns), np.int64)
    rank[np.argsort(columns.header_offsets, kind="stable")] = np.arange(len(columns))
    values = np.cumsum(~columns.are_folders())[rows] - 1
    if comment.json_first and (values >= len(values)).any():
        message = f"the comment wrongly claimed that all {METADATA} come first (jsonFirst)"
        yield Repair("rfc9/json-first", message)
    if rows[0] or rank[rows[0]]:
        yield Repair("rfc9/root-first", f"the root's {METADATA} was not the first entry")
    for positions in (rows, rank[rows]):
        fault = order_fault(keys.metadata, positions)
        if fault is not None:
            message = f"the {METADATA} entries did not precede the data in breadth-first order: {' '.join(fault)}"
            yield Repair("rfc9/breadth-first", message)
            return


def _comment(data: bytes, comment: Comment, root_version: str | None) -> Iterator[Repair]:
    if not data:
        yield Repair("rfc9/comment", "there was no archive comment")
    elif comment.problem is not None:
        yield Repair("rfc9/comment", f"the archive comment did not follow RFC-9: {comment.problem}")
    if comment.has_trailing_nul:
        yield Repair("rfc9/comment-nul", "the archive comment ended in NUL")
    if comment.version is not None and root_version is not None and comment.version != root_version:
        message = f"the comment said OME-Zarr {comment.version}, the root {root_version}; the root's version is used"
        yield Repair("rfc9/comment-version", message)

"""Rules of RFC-9 (R2, 2026-04-20) about the archive: order of entries, comment and file name."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from ozx.archive.audit.facts import ArchiveFacts
from ozx.archive.records import method_name
from ozx.atomic.temporary import is_partial
from ozx.ome.comment import Comment
from ozx.validation.container.ambiguities import each_entry
from ozx.validation.report import Finding
from ozx.validation.rules.findings import make_finding
from ozx.zarr.entry_order import order_fault
from ozx.zarr.json_reading import as_object
from ozx.zarr.keys import LEGACY_METADATA, METADATA, ROOT_METADATA, is_legacy_metadata_key, is_metadata_key

#: Names and indexes of entries, in the order of the central directory.
Entries = list[tuple[str, int]]


def find_metadata(facts: ArchiveFacts) -> tuple[Entries, Entries]:
    """Return every ``zarr.json`` of an archive, and the entries with metadata of Zarr v2."""
    current, legacy = [], []
    for index, name in enumerate(facts.columns.iter_names()):
        if is_metadata_key(name):
            current.append((name, index))
        elif is_legacy_metadata_key(name):
            legacy.append((name, index))
    return current, legacy


def check_container(facts: ArchiveFacts, *, plain_only: bool = False) -> Iterator[Finding]:
    """Yield findings about an archive as a container: split archives, nested archives, ZIP64, compression."""
    columns, name = facts.columns, facts.columns.name
    # RFC-9: "OME-Zarr zip files SHALL NOT be split into multiple parts." APPNOTE 4.4.11.
    message = "entry {name!r} is in another part of a split archive"
    yield from each_entry(facts, "rfc9/not-split", facts.on_other_disk, message)
    # RFC-9: "OME-Zarr zip files SHALL NOT be embedded in a parent OME-Zarr hierarchy".
    by_content = set(facts.embedded.tolist())

    def embedded(entry: int, name: str) -> str:
        return f"entry {name!r} is an archive according to its {'content' if entry in by_content else 'name'}"

    archives = sorted(by_content | set(facts.archive_names))
    yield from each_entry(facts, "rfc9/not-embedded", archives, embedded)
    # RFC-9: "The ZIP64 format extension SHOULD be used, irrespective of the ZIP file size."
    local, central = (int(extras.has_zip64.sum()) for extras in (facts.local.extras, facts.central_extras))
    if not (facts.end.has_zip64_end or local or central):
        yield make_finding("rfc9/zip64", "no ZIP64 structure is used")
    elif not facts.end.has_zip64_end:
        message = (
            f"ZIP64 fields are used in {local:,} local headers and {central:,} headers of the central directory, but "
            "there is no ZIP64 end record"
        )
        yield make_finding("rfc9/zip64", message, severity="note")
    # RFC-9: "ZIP-level compression SHOULD be disabled in favor of Zarr-level compression codecs."
    if len(facts.compressed):
        entry = int(facts.compressed[0])
        found = method_name(int(columns.methods[entry]))
        message = f"{len(facts.compressed):,} of {len(columns):,} entries are compressed; the first is {found}"
        yield make_finding("rfc9/stored", message, entry=name(entry), severity="error" if plain_only else None)
    # RFC-9, review 3: no "archive comments beyond the specified ome JSON"; comments of entries count, too.
    if plain_only and len(facts.commented):
        entry = int(facts.commented[0])
        yield make_finding(
            "rfc9/comment", f"{len(facts.commented):,} entries have comments", entry=name(entry), severity="error"
        )


def check_order(facts: ArchiveFacts, metadata: Entries, comment: Comment) -> Iterator[Finding]:
    """Yield findings about the order of the entries; `metadata` is every ``zarr.json``."""
    names = [name for name, _ in metadata]
    rank = np.empty(len(facts.layout.order), np.int64)
    rank[facts.layout.order] = np.arange(len(rank))
    indices = np.array([index for _, index in metadata], np.int64)
    places = (("central directory", indices), ("file", rank[indices]))
    # RFC-9, jsonFirst: a reader may stop at the first entry that is no zarr.json; entries of folders do not count.
    values = np.cumsum(~facts.columns.are_folders())[indices] - 1
    if comment.json_first and (values >= len(values)).any():
        first = names[int(np.flatnonzero(values != np.arange(len(values)))[0])]
        yield make_finding(
            "rfc9/json-first",
            f"the archive comment declares jsonFirst, but {first!r} comes after an entry that is not a {METADATA}: "
            f"readers that rely on jsonFirst do not find this node",
            entry=first,
        )
    if ROOT_METADATA not in names:
        return
    # RFC-9: "The root-level zarr.json file SHOULD be the first ZIP file entry and the first entry in the central
    # directory header; other zarr.json files SHOULD follow immediately afterwards, in breadth-first order."
    root = names.index(ROOT_METADATA)
    wrong = [f"entry {int(positions[root]) + 1:,} in the {place}" for place, positions in places if positions[root]]
    if wrong:
        message = f"the root's {ROOT_METADATA} is {' and '.join(wrong)}"
        yield make_finding("rfc9/root-first", message, entry=ROOT_METADATA)
    for place, positions in places:
        fault = order_fault(names, positions)
        if fault is not None:
            key, what = fault
            yield make_finding("rfc9/breadth-first", f"in the {place} {key!r} {what}", entry=key)
            return


def check_comment(
    data: bytes, comment: Comment, root_version: str | None, *, plain_only: bool = False
) -> Iterator[Finding]:
    """Yield findings about the archive comment; with `plain_only`, malformed comments and undefined keys are errors."""
    # RFC-9: "The ZIP archive comment SHOULD contain a UTF-8-encoded JSON string with an ome attribute that holds a
    # version key".
    if not data:
        yield make_finding("rfc9/comment", "there is no archive comment")
    elif comment.problem is not None:
        message = f"the archive comment is not in the form of RFC-9: {comment.problem}"
        yield make_finding("rfc9/comment", message, severity="error" if plain_only else None)
    if data and comment.has_trailing_nul:
        yield make_finding("rfc9/comment-nul", "the archive comment ends in NUL")
    if comment.version is not None and root_version is not None and comment.version != root_version:
        message = f"the archive comment declares OME-Zarr {comment.version}, but the root has {root_version}"
        yield make_finding("rfc9/comment-version", message, entry=ROOT_METADATA, pointer="/attributes/ome/version")
    document = comment.document or {}
    ome = as_object(document.get("ome"))
    for place, found in (("", document), ("ome.", ome), ("ome.zipFile.", as_object(ome.get("zipFile")))):
        if "jsonFirst" in found:
            message = f"expected ome.zipFile.centralDirectory.jsonFirst; found {place}jsonFirst, where no reader looks"
            yield make_finding("rfc9/comment", message, severity="note")
    if comment.unknown:
        message = f"the archive comment has keys that RFC-9 does not define: {', '.join(comment.unknown[:5])}"
        yield make_finding("rfc9/comment-keys", message)
    others = sorted(document.keys() - {"ome"}) + sorted(f"ome.{key}" for key in ome.keys() - {"version", "zipFile"})
    if plain_only and others:
        message = f"the archive comment contains more than RFC-9 specifies: {', '.join(others[:5])}"
        yield make_finding("rfc9/comment", message, severity="error")


def check_file_name(path: str) -> Iterator[Finding]:
    """Yield a finding if a file's name does not end in ``.ozx``."""
    # RFC-9: "The name of OME-Zarr zip files SHOULD end with .ozx."
    name = os.path.basename(path)
    if not name.endswith(".ozx"):
        # `ozx recover` looks for other files of the writer beside NAME.partial.
        hint = "Do not rename the file. `ozx recover` makes a complete file from it." if is_partial(name) else None
        yield make_finding("rfc9/file-name", f"the name {name!r} does not end in .ozx", hint=hint)


def check_surroundings(path: str, *, is_directory: bool = False) -> Iterator[Finding]:
    """Yield a finding if the file or directory at `path` lies inside an OME-Zarr directory.

    For a directory, the finding is only a note.
    """
    # RFC-9: "OME-Zarr zip files SHALL NOT be embedded in a parent OME-Zarr hierarchy (as a sub-hierarchy or
    # otherwise)."
    folder = os.path.dirname(os.path.abspath(path))
    while True:
        name = next((name for name in (METADATA, *LEGACY_METADATA) if os.path.isfile(os.path.join(folder, name))), None)
        if name is not None:
            break
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent
    if is_directory:
        message = f"this directory is part of a larger hierarchy: {folder} has a {name}"
        hint = "No action is needed. A packed file contains only this directory, not the larger hierarchy."
        yield make_finding("rfc9/not-embedded", message, severity="note", hint=hint)
    else:
        message = f"the file lies inside a hierarchy: {folder} has a {name}"
        yield make_finding("rfc9/not-embedded", message)

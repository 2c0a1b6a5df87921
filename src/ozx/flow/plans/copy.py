"""Plan the copy of a directory, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from ozx.archive.records import LOCAL_SIGNATURE
from ozx.flow.entry import Entry, FileSpan, LazyPart
from ozx.flow.plan import Plan
from ozx.flow.sources.directory import DirectorySource, check_not_embedded
from ozx.flow.sources.listing import Listing
from ozx.flow.sources.source import StoredDocuments

if TYPE_CHECKING:
    from ozx.flow.sources.remote_directory import RemoteDirectorySource


def plan_copy(source: DirectorySource | RemoteDirectorySource) -> Plan:
    """Return the plan that copies a listed directory; read no file yet."""
    listing = source.listing
    metadata = StoredDocuments(listing.metadata, source.read)
    if isinstance(source, DirectorySource):
        return Plan(metadata, lambda _: iter_files(listing), listing.count_bytes, listing.legacy_keys, files=listing)

    def iter_data() -> Iterator[Entry]:
        return (source.entry(key) for key in listing.iter_keys() if key not in metadata)

    return Plan(metadata, lambda _: iter_data(), source.count_bytes, listing.legacy_keys)


def iter_files(listing: Listing) -> Iterator[Entry]:
    """Yield all files except metadata as entries; each file is opened when it is read."""
    for prefix, names in listing.folders.items():
        for name in names:
            file = FileSpan.of_file(f"{listing.root}/{prefix}{name}")
            yield Entry(prefix + name, (LazyPart(file.length, partial(_checked_blocks, file)),))


def _checked_blocks(file: FileSpan) -> Iterator[bytes]:
    """Yield the bytes of a whole file; raise an error if the file is an archive (``rfc9/not-embedded``)."""
    blocks = file.iter_blocks()
    first = next(blocks, b"")
    if first.startswith(LOCAL_SIGNATURE):
        check_not_embedded(file)
    yield first
    yield from blocks

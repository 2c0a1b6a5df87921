"""Plans: the entries to write into an archive or a directory.

A function of `ozx.flow.plans` makes a plan of a source; a sink of `ozx.flow.sinks` writes it. The sizes of all entries
are known before the entries are read, so that a sink can compute the offset of each entry at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ozx.errors import FormatError
from ozx.flow.entry import BytesPart, Entry
from ozx.flow.read_ahead import read_ahead
from ozx.flow.sources.listing import Listing
from ozx.flow.sources.source import StoredDocuments
from ozx.ome.comment import make_comment
from ozx.ome.versions import is_known, version_of
from ozx.threads import Workers
from ozx.zarr.json_changes import dump_like
from ozx.zarr.json_reading import Document, dump_document, parse_document
from ozx.zarr.keys import METADATA, breadth_first


@dataclass
class Plan:
    """The metadata and data entries to write, in order, with notes for the user."""

    metadata: Mapping[str, bytes]  # the ``zarr.json`` by key: the root's first, then breadth-first (RFC-9)
    data: Callable[[Workers], Iterable[Entry]]  # returns all other entries, in hierarchy order or as they are made
    count_bytes: Callable[[], int]  # returns the approximate number of bytes to write
    legacy_keys: Sequence[str] = ()  # keys that are metadata of Zarr v2
    # Differences from the source, as sentences; complete after the last entry.
    notes: list[str] = field(default_factory=list)
    # Entries written right after the metadata, instead of `data` with the same keys.
    added: list[Entry] = field(default_factory=list)
    # The directory whose unchanged files are `data`: a sink can pack these files without an `Entry` for each.
    files: Listing | None = None
    # The maximal length of each document, in the order of `metadata`, if metadata is complete only after all data. This
    # room is reserved before the data; spaces, which JSON allows (RFC 8259, section 2), fill the part that a document
    # does not need.
    rooms: Mapping[str, int] | None = None
    # Returns entries that are computed from the finished archive and added at its end.
    late: Callable[[], Iterable[Entry]] | None = None
    # The folder of the archive that becomes the root, with a slash: the layout of the BioImage Archive. Keys lack it.
    folder: str = ""

    @cached_property
    def version(self) -> str:
        """The OME-Zarr version in the root's metadata; empty if the root has no version."""
        if METADATA not in self.metadata:
            return "0.4" if ".zgroup" in self.metadata else ""
        try:
            root = parse_document(self.metadata[METADATA], METADATA)
        except FormatError:
            return ""
        return version_of(root) or ""

    def all_notes(self) -> list[str]:
        """Return each note once, and a warning about metadata of an unknown OME-Zarr version."""
        known = is_known(self.version or None, is_v3=".zgroup" not in self.metadata)
        warned = () if known else (f"warning: OME-Zarr {self.version} is unknown: its metadata was not checked",)
        return [*dict.fromkeys(self.notes), *warned]

    @property
    def comment(self) -> bytes:
        """The archive comment; empty if the root has no OME-Zarr version."""
        # RFC-9 (R2): jsonFirst is true because all metadata comes first, breadth-first.
        # RFC-9's comment stands for a root at the top of the archive.
        return make_comment(self.version, json_first=True) if self.version and not self.folder else b""

    def add(self, entry: Entry) -> None:
        """Insert an entry directly after the metadata; it replaces any data entry with the same key."""
        self.added.append(entry)
        if self.files is not None:
            self.files.drop(entry.key)

    def change_root(self, change: Callable[[Document], Document], added: Mapping[str, Document] | None = None) -> None:
        """Change the root's ``zarr.json``, which keeps its JSON style; add documents of new nodes, by key."""
        stored = self.metadata
        old = parse_document(stored[METADATA], METADATA)
        new = {key: dump_document(document) for key, document in (added or {}).items() if key not in stored}
        new[METADATA] = dump_like(change(old), old, stored[METADATA])
        keys = sorted({*stored, *new}, key=breadth_first)
        self.metadata = StoredDocuments(keys, lambda key: new[key] if key in new else stored[key])

    def iter_metadata(self) -> Iterator[Entry]:
        """Yield the metadata entries."""
        for key, value in self.metadata.items():
            yield Entry(self.folder + key, (BytesPart(value),))

    def iter_added(self) -> Iterator[Entry]:
        """Yield the added entries."""
        return map(self._inside, self.added)

    def iter_head(self) -> Iterator[Entry]:
        """Yield the metadata entries, then the added entries."""
        yield from self.iter_metadata()
        yield from self.iter_added()

    def iter_data(self, workers: Workers) -> Iterator[Entry]:
        """Yield all data entries; request remote entries in advance."""
        added = {entry.key for entry in self.added}
        return read_ahead(self._inside(entry) for entry in self.data(workers) if entry.key not in added)

    def iter_entries(self, workers: Workers) -> Iterator[Entry]:
        """Yield all entries in the order of an archive."""
        yield from self.iter_head()
        yield from self.iter_data(workers)

    def _inside(self, entry: Entry) -> Entry:
        return replace(entry, key=self.folder + entry.key) if self.folder else entry

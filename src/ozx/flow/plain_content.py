"""A directory as the content of an archive: every value byte for byte, by the fastest way there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from ozx.archive.writer import ArchiveWriter
from ozx.flow.entry import Entry
from ozx.flow.sinks import fast_packing
from ozx.flow.sinks.archive import write_entries
from ozx.flow.sources.directory import MetadataFiles, iter_entries
from ozx.flow.sources.listing import Listing
from ozx.hierarchy.comment import make_comment
from ozx.progress import Progress

__all__ = ["PlainContent"]


class PlainContent:
    """What an archive of a directory holds: `ozx.flow.content.Content`.

    Parameters
    ----------
    listing
        What the directory holds.
    """

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._metadata = MetadataFiles(listing)
        self._added: list[Entry] = []

    @property
    def metadata(self) -> Mapping[str, bytes]:
        """The ``zarr.json`` by key, read when asked for."""
        return self._metadata

    @property
    def legacy_keys(self) -> Sequence[str]:
        """Keys that are metadata of Zarr v2."""
        return self._listing.legacy_keys

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not plainly the same as in the source: nothing."""
        return ()

    def add(self, entry: Entry) -> None:
        """Have an entry written right after the metadata; it takes the place of a file of the same key."""
        self._listing.drop(entry.key)
        self._added.append(entry)

    def count_bytes(self) -> int:
        """Return about how many bytes will be written."""
        return self._listing.count_bytes()

    def is_in(self, archive: str) -> bool:
        """Tell whether `archive` is a sound archive with these keys and sizes."""
        from ozx.flow.sinks.verification import has_same_entries  # noqa: PLC0415 (numpy, which plain packing needs not)

        return has_same_entries(archive, self._iter_entries())

    def write(self, descriptor: int, version: str, progress: Progress) -> tuple[int, int]:
        """Write an archive into the empty file `descriptor`; return its number of entries and of bytes."""
        writer = ArchiveWriter(descriptor)
        write_entries(writer, chain(self._metadata.iter_entries(), self._added), progress)
        if fast_packing.is_available():
            fast_packing.write_files(writer, self._listing.root, self._listing.folders, progress)
        else:
            write_entries(writer, iter_entries(self._listing, self._listing.folders), progress)
        size = writer.finish(make_comment(version, json_first=True))
        return writer.directory.entries, size

    def verify(self, archive: str, progress: Progress) -> None:
        """Read `archive` back and compare every value; `ResourceError` where one differs."""
        from ozx.flow.sinks.verification import check_same_entries  # noqa: PLC0415 (numpy)

        check_same_entries(archive, self._iter_entries(), progress)

    def _iter_entries(self) -> Iterator[Entry]:
        from ozx.flow.sinks.verification import iter_files  # noqa: PLC0415 (numpy)

        return chain(self._added, iter_files(self._listing))

"""A directory in another layout or version as the content of an archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ozx.flow.conversion_sink import Workers, check_archive, iter_entries, write_archive
from ozx.flow.converting import convert
from ozx.flow.directory_source import DirectorySource
from ozx.flow.entry import Entry
from ozx.flow.listing import Listing
from ozx.flow.verification import has_same_entries
from ozx.hierarchy.layout_choice import LayoutChoice
from ozx.progress import Progress

__all__ = ["ConvertedContent"]


class ConvertedContent:
    """What an archive of a directory holds once it is laid out anew: `ozx.flow.content.Content`.

    Parameters
    ----------
    listing
        What the directory holds.
    layout
        How it is to be laid out.
    workers
        Who does the work.

    Raises
    ------
    FormatError, UnsupportedError, UsageError
        As `convert`.
    """

    def __init__(self, listing: Listing, layout: LayoutChoice, workers: Workers) -> None:
        self._listing = listing
        self._workers = workers
        self._conversion = convert(DirectorySource(listing), layout)

    @property
    def metadata(self) -> Mapping[str, bytes]:
        """The new ``zarr.json`` by key."""
        return self._conversion.metadata

    @property
    def legacy_keys(self) -> Sequence[str]:
        """Keys that are metadata of Zarr v2: of those that become v3 nothing is left."""
        return () if self._conversion.is_upgrade else self._listing.legacy_keys

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not plainly the same as in the source, as sentences; complete when all is written."""
        return self._conversion.all_notes()

    def add(self, entry: Entry) -> None:
        """Have an entry written right after the metadata; it takes the place of a file of the same key."""
        self._conversion.add(entry)

    def count_bytes(self) -> int:
        """Return about how many bytes will be written."""
        return self._listing.count_bytes()

    def is_in(self, archive: str) -> bool:
        """Tell whether `archive` is a sound archive with these keys and sizes."""
        return has_same_entries(archive, iter_entries(self._conversion, self._workers))

    def write(self, descriptor: int, version: str, progress: Progress) -> tuple[int, int]:
        """Write an archive into the empty file `descriptor`; return its number of entries and of bytes."""
        del version  # the conversion's own
        return write_archive(self._conversion, descriptor, self._workers, progress)

    def verify(self, archive: str, progress: Progress) -> None:
        """Read `archive` back and compare every value; `ResourceError` where one differs."""
        check_archive(self._conversion, archive, self._workers, progress)

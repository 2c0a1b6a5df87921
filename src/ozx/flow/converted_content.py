"""A directory in another layout or version as the content of an archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import get_args

from ozx.errors import OzxError
from ozx.flow.conversion import Conversion
from ozx.flow.conversion_sink import Workers, check_archive, iter_entries, write_archive
from ozx.flow.converting import convert
from ozx.flow.entry import Entry
from ozx.flow.sinks.verification import has_same_entries
from ozx.flow.sources.directory import DirectorySource
from ozx.flow.sources.listing import Listing
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.hierarchy.zarr.chunk_checksums import ChecksumOption
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
        self._layout = layout
        self._workers = workers
        self._added: list[Entry] = []
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
        self._added.append(entry)
        self._conversion.add(entry)

    def count_bytes(self) -> int:
        """Return about how many bytes will be written."""
        return self._listing.count_bytes()

    def is_in(self, archive: str) -> bool:
        """Tell whether `archive` is a sound archive with these keys and sizes.

        One whose chunks have checksums where these have none, or the other way round, is taken too; from then on it is
        what this content is compared with. The metadata tell, so that no chunk is encoded for a wrong guess.
        """
        for conversion in chain([self._conversion], self._iter_others()):
            if has_same_entries(archive, iter_entries(conversion, self._workers)):
                self._conversion = conversion
                return True
        return False

    def write(self, descriptor: int, version: str, progress: Progress) -> tuple[int, int]:
        """Write an archive into the empty file `descriptor`; return its number of entries and of bytes."""
        del version  # the conversion's own
        return write_archive(self._conversion, descriptor, self._workers, progress)

    def verify(self, archive: str, progress: Progress) -> None:
        """Read `archive` back and compare every value; `ResourceError` where one differs."""
        check_archive(self._conversion, archive, self._workers, progress)

    def _iter_others(self) -> Iterator[Conversion]:
        """Yield the conversions that differ from the one asked for in checksums alone, as far as there are any."""
        options: list[ChecksumOption | None] = [None, *get_args(ChecksumOption)]
        for option in options:
            if option == self._layout.checksums:
                continue
            try:
                conversion = convert(DirectorySource(self._listing), replace(self._layout, checksums=option))
            except OzxError:  # an array that is not understood here can be copied, but gets no checksums
                continue
            for entry in self._added:
                conversion.add(entry)
            yield conversion

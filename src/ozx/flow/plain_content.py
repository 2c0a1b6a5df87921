"""A directory as the content of an archive: every value byte for byte, by the fastest way there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ozx.archive.writer import ArchiveWriter
from ozx.flow import fast_packing
from ozx.flow.archive_sink import write_entries
from ozx.flow.directory_source import MetadataFiles, iter_entries
from ozx.flow.listing import Listing
from ozx.hierarchy.comment import make_comment
from ozx.progress import Progress

__all__ = ["PlainContent"]


class PlainContent:
    """What an archive of a directory holds.

    Parameters
    ----------
    listing
        What the directory holds.
    """

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._metadata = MetadataFiles(listing)

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

    def __len__(self) -> int:
        return len(self._listing)

    def count_bytes(self) -> int:
        """Return about how many bytes will be written."""
        return self._listing.count_bytes()

    def is_in(self, archive: str) -> bool:
        """Tell whether `archive` is a sound archive with these keys and sizes."""
        from ozx.flow.verification import has_same_keys  # noqa: PLC0415 (numpy, which plain packing needs not)

        return has_same_keys(archive, self._listing)

    def write(self, descriptor: int, version: str, progress: Progress) -> tuple[int, int]:
        """Write an archive into the empty file `descriptor`; return its number of entries and of bytes."""
        writer = ArchiveWriter(descriptor)
        write_entries(writer, self._metadata.iter_entries(), progress)
        if fast_packing.is_available():
            fast_packing.write_files(writer, self._listing.root, self._listing.folders, progress)
        else:
            write_entries(writer, iter_entries(self._listing, self._listing.folders), progress)
        return len(self), writer.finish(make_comment(version, json_first=True))

    def verify(self, archive: str, progress: Progress) -> None:
        """Read `archive` back and compare every value; `ResourceError` where one differs."""
        from ozx.flow.verification import check_same_values  # noqa: PLC0415 (numpy)

        check_same_values(archive, self._listing, progress)

"""Read a directory as a source, and its files as entries."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ozx.archive.directory import END_SEARCH_LENGTH
from ozx.archive.records import LOCAL_SIGNATURE
from ozx.crc32 import crc32
from ozx.errors import name_error
from ozx.file_changes import changed, regular_mark
from ozx.flow.entry import Entry, FileSpan, Part, check_no_archive, read_part
from ozx.flow.sources.listing import Listing
from ozx.places.positional_reading import open_for_reading
from ozx.zarr.json_reading import LongDocuments


class ListedSource:
    """The keys of a source that is a directory, on this computer or at a URL."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing

    @property
    def name(self) -> str:
        """The path of the directory, or its URL without a query."""
        return self.listing.root

    def __contains__(self, key: str) -> bool:
        return self.listing.has(key)

    def iter_keys(self) -> Iterator[str]:
        """Yield the keys in archive order."""
        return self.listing.iter_keys()


class DirectorySource(ListedSource):
    """A directory on this computer as an `ozx.flow.sources.source.Source`."""

    def __init__(self, listing: Listing) -> None:
        super().__init__(listing)
        self._checksums: dict[str, int] = {}
        self._long = LongDocuments()

    def exists(self, key: str) -> bool:
        """Return whether a file exists, including files that the listing omits."""
        return os.path.isfile(self.listing.path(key))

    def size(self, key: str) -> int:
        """Return the length in bytes of the file of a key."""
        return os.stat(self._path(key)).st_size

    def read(self, key: str) -> bytes:
        """Return the bytes of the file of a key."""
        data = read_file(self._path(key), key, self._long)
        checksum = crc32(data)
        if self._checksums.setdefault(key, checksum) != checksum:
            raise changed(self.listing.path(key))
        return data

    def part(self, key: str, offset: int = 0, length: int | None = None) -> FileSpan:
        """Return a span of a file; reading it raises `FormatError` if the file changes after this call."""
        whole = FileSpan.of_file(self._path(key))
        return whole.span(offset, whole.length - offset if length is None else length)

    def parts(self, keys: Sequence[str]) -> list[Part]:
        """Return the whole file of each key as a `FileSpan`; raise `OSError` for a missing file."""
        root = self.listing.root
        return [FileSpan.of_file(f"{root}/{key}") for key in keys]

    def entry(self, key: str) -> Entry:
        """Return the file of a key as an entry.

        `FormatError`: The file is a ZIP archive (``rfc9/not-embedded``), or not a regular file (``zip/special-file``).
        """
        part = self.part(key)
        if part.length >= len(LOCAL_SIGNATURE) and read_part(part.span(0, 4)) == LOCAL_SIGNATURE:
            check_not_embedded(part)
        return Entry(key, (part,))

    def _path(self, key: str) -> str:
        if not self.listing.has(key):
            raise KeyError(key)
        return self.listing.path(key)


def read_file(path: str, key: str, long: LongDocuments) -> bytes:
    """Return all bytes of a file."""
    descriptor = open_for_reading(path)
    try:
        before = regular_mark(os.fstat(descriptor), path)
        long.check(before[0], key)
        pieces = []
        while data := os.read(descriptor, 1 << 20):
            pieces.append(data)
        content = b"".join(pieces)
        if len(content) != before[0] or before != regular_mark(os.fstat(descriptor), path):
            raise changed(path)
    except OSError as error:
        name_error(error, path)
        raise
    finally:
        os.close(descriptor)
    return content


def check_not_embedded(file: FileSpan) -> None:
    """Check that a file that begins like an archive does not also end like an archive; see `check_no_archive`."""
    length = min(file.length, END_SEARCH_LENGTH)
    check_no_archive(read_part(file.span(file.length - length, length)), "this file", file.path)

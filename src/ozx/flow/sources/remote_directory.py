"""A directory behind a URL as a source, and its objects as entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ozx.archive.directory import END_SEARCH_LENGTH, ends_archive
from ozx.archive.records import LOCAL_SIGNATURE
from ozx.archive.remote.folder import RemoteFolder
from ozx.archive.remote.transport import Mark
from ozx.errors import FormatError
from ozx.flow.entry import Entry, Part
from ozx.flow.read_ahead import Place
from ozx.flow.sources.key_listing import list_keys
from ozx.flow.sources.listing import Listing
from ozx.flow.sources.remote_objects import RemoteObjects, find_objects

__all__ = ["ObjectPart", "RemoteDirectorySource", "list_remote_directory"]

_BLOCK = 16 << 20


class RemoteDirectorySource:
    """A directory behind a URL as an `ozx.flow.sources.source.Source`.

    Parameters
    ----------
    objects
        The objects below the URL; one that is another when it is read is an error.
    listing
        Their keys.
    """

    def __init__(self, objects: RemoteObjects, listing: Listing) -> None:
        self.listing = listing
        self.notes = tuple(objects.notes)
        self._objects = objects
        self.folder = objects.folder
        self._marks = objects.marks

    @property
    def name(self) -> str:
        """The directory's URL, without a query."""
        return self.folder.name

    @property
    def url(self) -> str:
        """The directory's URL, perhaps with a signature: not for messages."""
        return self.folder.url

    def __len__(self) -> int:
        return len(self.listing)

    def __contains__(self, key: str) -> bool:
        return self.listing.has(key)

    def exists(self, key: str) -> bool:
        """Tell whether there is such an object, also one that the listing leaves out."""
        return key in self._marks

    def iter_keys(self) -> Iterator[str]:
        """Yield the keys in archive order."""
        return self.listing.iter_keys()

    def size(self, key: str) -> int:
        """Return the length of an object."""
        return self._mark(key).size

    def read(self, key: str) -> bytes:
        """Return the bytes of an object.

        Raises
        ------
        FormatError
            It changed since it was listed, or is metadata of excessive length.
        KeyError
            The key is not in the listing.
        ResourceError
            The server cannot be reached, or refuses.
        """
        self._mark(key)
        return self._objects.read_document(key)

    def part(self, key: str, offset: int = 0, length: int | None = None) -> ObjectPart:
        """Return a span of an object."""
        mark = self._mark(key)
        return ObjectPart(self.folder, key, mark, offset, mark.size - offset if length is None else length)

    def parts(self, keys: Sequence[str]) -> list[Part]:
        """Return whole objects as parts."""
        return [self.part(key) for key in keys]

    def entry(self, key: str) -> Entry:
        """Return an object as an entry; reading it checks that it is no archive (``rfc9/not-embedded``)."""
        return Entry(key, (self.part(key),))

    def crc32(self, key: str) -> None:
        """Return None: ETags are no checksums of content."""
        del key

    def count_bytes(self) -> int:
        """Return the sum of the lengths of all objects, without a request."""
        return sum(self._mark(key).size for key in self.iter_keys())

    def check_unchanged(self) -> None:
        """Do nothing: every answer is compared with the listing when it arrives."""

    def close(self) -> None:
        """Do nothing: connections close on their own."""

    def _mark(self, key: str) -> Mark:
        if not self.listing.has(key):
            raise KeyError(key)
        return self._marks[key]


@dataclass(frozen=True, slots=True)
class ObjectPart:
    """A span of an object; reading compares the object with its listing."""

    folder: RemoteFolder
    key: str
    mark: Mark
    offset: int
    length: int

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the bytes, by a request for each 16 MiB.

        Raises
        ------
        FormatError
            The object changed since it was listed (``zip/changed``), or is an archive (``rfc9/not-embedded``).
        ResourceError
            The server cannot be reached, or refuses.
        """
        for start in range(self.offset, self.offset + self.length, _BLOCK):
            block = self.folder.read(self.key, start, min(_BLOCK, self.offset + self.length - start), self.mark)
            if start == 0 and block.startswith(LOCAL_SIGNATURE):
                self._check_not_embedded()
            yield block

    def place(self) -> Place:
        """Return the span of the object."""

        def read(offset: int, length: int) -> bytes:
            return self.folder.read(self.key, offset, length, self.mark)

        def take(offset: int, data: bytes) -> bytes:
            del offset
            if self.offset == 0 and data.startswith(LOCAL_SIGNATURE):
                self._check_not_embedded()
            return data

        return Place(self, self.offset, self.offset + self.length, read, take)

    def span(self, offset: int, length: int) -> ObjectPart:
        """Return a span of the span."""
        return ObjectPart(self.folder, self.key, self.mark, self.offset + offset, length)

    def _check_not_embedded(self) -> None:
        start = max(0, self.mark.size - END_SEARCH_LENGTH)
        if ends_archive(self.folder.read(self.key, start, self.mark.size - start, self.mark)):
            raise FormatError(
                f"{self.key} is a ZIP archive inside the hierarchy, which RFC-9 forbids",
                path=self.folder.name,
                rule="rfc9/not-embedded",
                hint="Move it out of the directory, then pack again.",
            )


def list_remote_directory(url: str) -> RemoteDirectorySource:
    """Return the directory at a URL as a source.

    Parameters
    ----------
    url
        The URL of the directory.

    Raises
    ------
    FormatError
        There is no hierarchy (``rfc9/root``), or it has a key that cannot become an entry.
    ResourceError
        The server cannot be reached, or refuses; there is no such bucket.
    """
    objects = find_objects(url)
    return RemoteDirectorySource(objects, list_keys(objects.folder.name, objects.marks))

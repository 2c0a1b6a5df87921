"""Read a remote directory as a source, and its objects as entries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ozx.archive.directory import END_SEARCH_LENGTH
from ozx.archive.records import LOCAL_SIGNATURE
from ozx.file_changes import Mark
from ozx.flow.entry import Entry, Part, check_no_archive
from ozx.flow.read_ahead import RemoteRange
from ozx.flow.sources.directory import ListedSource
from ozx.flow.sources.listing import Listing
from ozx.flow.sources.remote_objects import RemoteObjects, find_objects, list_keys
from ozx.places.positional_reading import REQUEST, divided
from ozx.places.remote.folder import RemoteFolder, md5_of


class RemoteDirectorySource(ListedSource):
    """A remote directory as an `ozx.flow.sources.source.Source`; every response is compared with the listing."""

    def __init__(self, objects: RemoteObjects, listing: Listing) -> None:
        super().__init__(listing)
        self.notes = tuple(objects.notes)
        self._objects = objects
        self.folder = objects.folder
        self._marks = objects.marks

    @property
    def url(self) -> str:
        """The directory's URL with its query, which may contain a signature; do not use it in messages."""
        return self.folder.url

    def exists(self, key: str) -> bool:
        """Return whether an object exists, including objects that the listing omits."""
        return key in self._marks

    def size(self, key: str) -> int:
        """Return the length in bytes of the object of a key."""
        return self._mark(key).size

    def read(self, key: str) -> bytes:
        """Return the bytes of the object of a key."""
        self._mark(key)
        return self._objects.read_document(key)

    def part(self, key: str, offset: int = 0, length: int | None = None) -> ObjectPart:
        """Return an `ObjectPart` that reads a span of an object."""
        mark = self._mark(key)
        return ObjectPart(self.folder, key, mark, offset, mark.size - offset if length is None else length)

    def parts(self, keys: Sequence[str]) -> list[Part]:
        """Return an `ObjectPart` for each key, which reads the whole object."""
        return [self.part(key) for key in keys]

    def entry(self, key: str) -> Entry:
        """Return an object as an entry; reading it raises an error if it is an archive (``rfc9/not-embedded``)."""
        return Entry(key, (self.part(key),))

    def count_bytes(self) -> int:
        """Return the total length in bytes of all objects, without a request."""
        return sum(self._mark(key).size for key in self.iter_keys())

    def _mark(self, key: str) -> Mark:
        if not self.listing.has(key):
            raise KeyError(key)
        return self._marks[key]


@dataclass(frozen=True, slots=True)
class ObjectPart:
    """A span of an object; reading checks that the object has not changed since the listing."""

    folder: RemoteFolder
    key: str
    mark: Mark
    offset: int
    length: int

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the bytes, with one request per 16 MiB."""
        digest = hashlib.md5(usedforsecurity=False)
        for block in self._blocks():
            if self._is_compared:
                digest.update(block)
            yield block
        if self._is_compared:
            self.folder.check_md5(self.key, self.mark, digest.digest(), self._blocks)

    def _blocks(self) -> Iterator[bytes]:
        for start, length in divided(self.offset, self.length, REQUEST):
            block = self.folder.read(self.key, start, length, self.mark)
            if start == 0 and block.startswith(LOCAL_SIGNATURE):
                self._check_not_embedded()
            yield block

    @property
    def _is_compared(self) -> bool:
        """Whether the part is a whole object of several blocks with an MD5; `RemoteFolder` compares a single block."""
        return self.length == self.mark.size > REQUEST and self.folder.may_have_md5(self.mark)

    def place(self) -> RemoteRange:
        """Return the byte range of this part in its object, with functions to request and check the bytes."""

        def read(offset: int, length: int) -> bytes:
            return self.folder.read(self.key, offset, length, self.mark)

        def take(offset: int, data: bytes) -> bytes:
            del offset
            if self.offset == 0 and data.startswith(LOCAL_SIGNATURE):
                self._check_not_embedded()
            if self._is_compared:
                self.folder.check_md5(self.key, self.mark, md5_of([data]), self._blocks)
            return data

        is_of_object_store = self.folder.can_list
        return RemoteRange(self, self.offset, self.offset + self.length, read, take, is_of_object_store)

    def span(self, offset: int, length: int) -> ObjectPart:
        """Return the range of `length` bytes from `offset` in this span."""
        return ObjectPart(self.folder, self.key, self.mark, self.offset + offset, length)

    def _check_not_embedded(self) -> None:
        start = max(0, self.mark.size - END_SEARCH_LENGTH)
        tail = self.folder.read(self.key, start, self.mark.size - start, self.mark)
        check_no_archive(tail, self.key, self.folder.name)


def list_remote_directory(url: str) -> RemoteDirectorySource:
    """Return the directory at a URL as a source."""
    objects = find_objects(url)
    return RemoteDirectorySource(objects, list_keys(objects.folder.name, objects.marks))

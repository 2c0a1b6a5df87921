"""Find the objects below a URL: list them, or else request the keys that the metadata refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ozx.archive.remote.errors import object_error
from ozx.archive.remote.folder import REQUESTS, RemoteFolder, RemoteObject
from ozx.archive.remote.transport import Mark
from ozx.errors import FormatError
from ozx.flow.sources.found_keys import find_keys
from ozx.hierarchy.json.limits import LongDocuments
from ozx.hierarchy.keys import is_legacy_metadata_key, is_metadata_key

# The maximal total length of the documents that are requested concurrently and kept.
_KEPT = 256 << 20


@dataclass
class RemoteObjects:
    """The objects below a URL, with their sizes and metadata."""

    folder: RemoteFolder  # the folder at the URL
    # The length and identity of each object by key; an error is raised if an object that is read has another mark.
    marks: Mapping[str, Mark]
    notes: list[str] = field(default_factory=list)  # sentences on what could not be found
    documents: dict[str, bytes] | None = None  # the metadata documents, once they are read
    _long: LongDocuments = field(default_factory=LongDocuments)

    def read_document(self, key: str) -> bytes:
        """Return a metadata document; the first call requests all documents concurrently."""
        self._long.check(self.marks[key].size, key)
        if self.documents is None:
            self.documents = {}
            wanted, room = [], _KEPT
            for other, mark in self.marks.items():
                if (is_metadata_key(other) or is_legacy_metadata_key(other)) and mark.size <= room:
                    wanted.append(other)
                    room -= mark.size
            with ThreadPoolExecutor(REQUESTS, "ozx-read") as threads:
                self.documents.update(zip(wanted, threads.map(self._read, wanted), strict=True))
        return self.documents[key] if key in self.documents else self._read(key)

    def _read(self, key: str) -> bytes:
        mark = self.marks[key]
        return self.folder.read(key, 0, mark.size, mark)


def find_objects(url: str, *, metadata_only: bool = False) -> RemoteObjects:
    """Find the objects below a URL, by a listing if possible.

    `FormatError`: There is no object below the URL or, on a server that cannot list files, no hierarchy
    (``rfc9/root``).
    """
    folder = RemoteFolder(url)
    if not folder.can_list:
        found = find_keys(folder, metadata_only=metadata_only)
        return RemoteObjects(folder, {each.key: each.mark for each in found.objects}, found.notes, found.documents)
    objects = folder.list_objects()
    if not objects:
        if folder.find("") is not None:
            raise object_error(folder.name)
        raise FormatError(
            "expected an OME-Zarr directory; the bucket has nothing below this URL",
            path=folder.name,
            rule="rfc9/root",
            hint="Check the URL; keys are case-sensitive.",
        )
    return RemoteObjects(folder, {each.key: each.mark for each in _without_folders(objects)})


def _without_folders(objects: Iterable[RemoteObject]) -> list[RemoteObject]:
    """Remove the empty objects with which some programs mark folders.

    obstore omits the slash at the end of their names.
    """
    found = list(objects)
    empty = {each.key for each in found if each.size == 0}
    if not empty:
        return found
    folders = {key[:end] for key in (each.key for each in found) for end in _slashes(key)}
    return [each for each in found if each.size or each.key not in folders]


def _slashes(key: str) -> Iterator[int]:
    return (place for place, letter in enumerate(key) if letter == "/")

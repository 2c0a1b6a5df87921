"""The view of a remote directory for `info`, `ls` and `cat`."""

from __future__ import annotations

from collections.abc import Iterator

from ozx.flow.sources.browsing import DirectoryView, Item, is_any_metadata_key
from ozx.flow.sources.remote_directory import ObjectPart
from ozx.flow.sources.remote_objects import find_objects
from ozx.hierarchy.keys import component_order


class RemoteDirectoryView(DirectoryView):
    """A view of a remote directory; if the server cannot list it, the view contains only metadata."""

    def __init__(self, url: str) -> None:
        self._objects = find_objects(url, metadata_only=True)
        super().__init__(self._objects.folder.name)
        self.notes = tuple(self._objects.notes)

    def iter_items(self, *, metadata_only: bool = False) -> Iterator[Item]:
        """Yield the objects of each folder before the objects of its sub-folders."""
        for key in sorted(self._objects.marks, key=_order):
            if not metadata_only or is_any_metadata_key(key):
                yield Item(key, self._objects.marks[key].size)

    def find(self, key: str) -> Item | None:
        """Return the object with the key `key`, or None."""
        mark = self._objects.marks.get(key)
        if mark is None and not self._objects.folder.can_list:
            found = self._objects.folder.find(key)
            mark = None if found is None else found.mark
        return None if mark is None else Item(key, mark.size)

    def names(self) -> list[str]:
        """Return the names of objects and folders directly below the URL."""
        return sorted({key.partition("/")[0] for key in self._objects.marks})

    def iter_value(self, item: Item) -> Iterator[bytes]:
        """Yield the bytes of an object in blocks; raise `FormatError` if the object changes while it is read."""
        folder, mark = self._objects.folder, self._objects.marks.get(item.key)
        if mark is None:
            yield folder.read(item.key)
        else:
            yield from ObjectPart(folder, item.key, mark, 0, mark.size).iter_blocks()

    def read_document(self, item: Item) -> bytes:
        """Return the value of a metadata object; raise `FormatError` if it is too long."""
        return self._objects.read_document(item.key)


def _order(key: str) -> tuple[list[tuple[int, str]], tuple[int, str]]:
    *folders, name = key.split("/")
    return list(map(component_order, folders)), component_order(name)

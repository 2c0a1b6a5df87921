"""ls: list the entries of an archive, or the files of a directory, without reading values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ozx.archive.records import method_name
from ozx.calls import public_call
from ozx.errors import resource_errors
from ozx.flow.sources.browsing import ArchiveView, DirectoryView, Item, open_view
from ozx.places.place import Place


class ListedEntry(NamedTuple):
    """One entry of a central directory, or one file of a directory.

    Attributes
    ----------
    key
        The store key: the entry's name, relative to the given node.
    size
        Length of the value in bytes.
    crc32, method
        CRC-32 and compression method of the value (``stored``, ``deflated``, …); None for a file of a directory.
    item, view
        The entry, and its archive or directory; `offset` needs both.

    Examples
    --------
    >>> entry = next(iter(list_entries("cells.ozx")))
    >>> entry.key, entry.method, entry.offset
    ('zarr.json', 'stored', 59)
    """

    key: str
    size: int
    crc32: int | None
    method: str | None
    item: Item
    view: ArchiveView | DirectoryView

    @property
    @public_call()
    def offset(self) -> int | None:
        """The offset of the stored bytes in the archive; each access reads the local header.

        A file of a directory, and an entry with a broken local header (see ``ozx validate``), has the offset None.

        Raises
        ------
        ResourceError
            The archive can no longer be read.
        """
        return self.view.data_offset(self.item)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of this entry as a dictionary.

        Raises
        ------
        ResourceError
            The archive can no longer be read.
        """
        return {"key": self.key, "size": self.size, "offset": self.offset, "crc32": self.crc32, "method": self.method}


@dataclass(frozen=True, slots=True)
class EntryListing:
    """The entries of an archive in the order of its central directory, or the files of a directory.

    Iteration reads the entries one by one, so that a million entries take no memory; it may be repeated.
    ``ozx ls --json`` prints `to_dict()`.

    Attributes
    ----------
    path
        The archive, directory or node, as given.
    nodes
        Whether only metadata keys are listed.
    """

    path: str
    nodes: bool
    _view: ArchiveView | DirectoryView

    def __iter__(self) -> Iterator[ListedEntry]:
        view = self._view
        with resource_errors():
            for item in view.iter_items(metadata_only=self.nodes):
                key, size, header = item
                if header is None:
                    yield ListedEntry(key, size, None, None, item, view)
                else:
                    yield ListedEntry(key, size, header.crc32, method_name(header.method), item, view)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON output as a dictionary; this reads every local header.

        Raises
        ------
        FormatError, UnsupportedError, ResourceError
            The central directory is damaged, or the file can no longer be read.
        """
        return {"schema": 2, "path": self.path, "entries": [entry.to_dict() for entry in self]}


@public_call()
def list_entries(path: str | os.PathLike[str], *, node: str = "", nodes: bool = False) -> EntryListing:
    """Return the entries of an archive, or the files of a directory.

    Parameters
    ----------
    path
        An ``.ozx`` file, another ZIP file, a URL of one, or a directory; or a node such as
        ``cells.ozx/labels/cells``, which selects the entries below a node, with keys relative to the node.
    node
        Path of a node below `path`, such as ``A/1/0`` or ``labels/cells``.
    nodes
        List only metadata: ``zarr.json``, and any metadata of Zarr v2. If the archive comment promises ``jsonFirst``,
        only the beginning of the central directory is read.

    Raises
    ------
    FormatError, UnsupportedError
        `path` is a file, but no readable archive; or the central directory is damaged (raised by iteration).
    UsageError
        There is no such node.
    ResourceError
        It does not exist or cannot be read.

    Examples
    --------
    >>> import os, tempfile, zipfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.zip")
    ...     with zipfile.ZipFile(path, "w") as archive:
    ...         archive.writestr("zarr.json", "{}")
    ...     [(entry.key, entry.size, entry.offset) for entry in list_entries(path)]
    [('zarr.json', 2, 39)]
    """
    place = Place.parse(path, node)
    return EntryListing(place.given, nodes, open_view(place))

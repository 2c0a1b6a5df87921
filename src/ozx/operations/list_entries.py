"""ls: list the entries of an archive, or the files of a directory; or the digests of their values."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ozx.archive.records import method_name
from ozx.calls import public_call
from ozx.errors import UsageError, resource_errors
from ozx.flow.sources.browsing import ArchiveView, DirectoryView, Item, open_view
from ozx.places.place import Place
from ozx.zarr.keys import paths_above


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


# Digests of the values, computed without unpacking: the lines of sha256sum, and DANDI's tree checksum.

DIGESTS = ("sha256sum", "zarr-checksum")


@public_call()
def iter_digests(path: str | os.PathLike[str], kind: str, *, node: str = "") -> Iterator[str]:
    """Return the lines that a program for checksums prints for the directory to which a file would be unpacked.

    `kind`: ``sha256sum``, one line for each value, which ``sha256sum -c`` takes in the directory; or
    ``zarr-checksum``, the one line by which DANDI names a Zarr hierarchy.
    """
    if kind not in DIGESTS:
        raise UsageError(f"expected the digests {' or '.join(DIGESTS)}; got {kind!r}")
    view = open_view(Place.parse(path, node))
    return _iter_sha256(view) if kind == DIGESTS[0] else iter([_zarr_checksum(view)])


def _iter_values(view: ArchiveView | DirectoryView, algorithm: str) -> Iterator[tuple[str, int, str]]:
    """Yield the key, length and digest of each value; each is checked against its CRC-32."""
    with resource_errors():
        for item in view.iter_items():
            if item.key.endswith("/"):
                continue  # an entry that stands for a folder
            digest, size = hashlib.new(algorithm, usedforsecurity=False), 0
            for block in view.iter_value(item):
                digest.update(block)
                size += len(block)
            yield item.key, size, digest.hexdigest()


def _iter_sha256(view: ArchiveView | DirectoryView) -> Iterator[str]:
    from ozx.flow.sinks.manifest import sha256_line  # noqa: PLC0415 (writers of files, which listing does not need)

    for key, _, digest in _iter_values(view, "sha256"):
        yield sha256_line(key, digest)


def _zarr_checksum(view: ArchiveView | DirectoryView) -> str:
    """Return DANDI's checksum: the MD5 of the list of what the root contains, each folder with its own checksum."""
    files: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    folders: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for key, size, digest in _iter_values(view, "md5"):
        folder, _, name = key.rpartition("/")
        files[folder].append({"digest": digest, "name": name, "size": size})
        counts[folder] += 1
    below = {folder for each in files for folder in (each, *paths_above(each))} - {""}
    for folder in sorted(below, key=lambda path: path.count("/"), reverse=True):
        above, _, name = folder.rpartition("/")
        digest, size = _of_folder(folders[folder], files[folder], counts[folder])
        folders[above].append({"digest": digest, "name": name, "size": size})
        counts[above] += counts[folder]
    return _of_folder(folders[""], files[""], counts[""])[0]


def _of_folder(folders: list[dict[str, Any]], files: list[dict[str, Any]], count: int) -> tuple[str, int]:
    """Return the checksum of a folder with `count` files in and below it, and their length."""
    lists = {"directories": folders, "files": files}
    for each in lists.values():
        each.sort(key=lambda one: str(one["name"]))
    size = sum(one["size"] for each in lists.values() for one in each)
    text = json.dumps(lists, separators=(",", ":")).encode("ascii")
    return f"{hashlib.md5(text, usedforsecurity=False).hexdigest()}-{count}--{size}", size

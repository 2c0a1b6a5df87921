"""Views of archives and directories for `info`, `ls` and `cat`, which also show what ozx cannot copy.

A view of a node shows only the keys below the node, relative to the node. `list_directory` and `ArchiveReader` prepare
a copy, and refuse entries and files that cannot be copied. A view reads as little as possible and shows everything.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from ozx.archive.directory import EndOfDirectory, iter_headers, read_end
from ozx.archive.entry_reading import ReadAheadSource, find_data, iter_value
from ozx.archive.names.decoding import check_order, entry_name
from ozx.archive.records import CENTRAL_HEADER, MASK_32, CentralHeader
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.ome.comment import Comment, parse_comment, warn_of_unknown_keys
from ozx.places.byte_source import ByteSource, FileSource, iter_exactly
from ozx.places.place import Place
from ozx.zarr.entry_order import component_order, hierarchy_order
from ozx.zarr.json_reading import LongDocuments
from ozx.zarr.keys import (
    LEGACY_METADATA,
    METADATA,
    ROOT_METADATA,
    is_legacy_metadata_key,
    is_metadata_key,
    node_of,
)

if TYPE_CHECKING:
    from ozx.archive.columns import Columns

# Above this, numpy reads the central directory so much faster that its import (0.1 s) pays.
MANY_ENTRIES = 50_000
# Comparing a name with this many others takes a tenth of a second.
_MOST_COMPARED = 2_000
_SHOWN = 3

_ENDINGS = (METADATA, *LEGACY_METADATA)


class Item(NamedTuple):
    """An entry of an archive or a file of a directory: its key relative to the viewed node, and its size in bytes.

    `header` is the entry's header in the central directory, None for a file.
    """

    key: str
    size: int
    header: CentralHeader | None = None


class ArchiveView:
    """A view of an archive, or of a node in it, that also shows entries which `ArchiveReader` refuses.

    `ahead` is the minimal number of bytes per read of metadata.
    """

    def __init__(self, source: ByteSource, node: str = "", *, ahead: int = 1 << 17) -> None:
        self.source = source
        self.node = node
        self._prefix = f"{node}/" if node else ""
        self.end: EndOfDirectory = read_end(source)
        self.comment: Comment = parse_comment(self.end.comment)
        warn_of_unknown_keys(self.comment, source.name)
        # Offsets of all entries, once they are known.
        self._starts: list[int] = []
        self._is_sorted = False
        # Metadata documents read in sequence are mostly adjacent.
        self._ahead = ReadAheadSource(source, ahead, keeps=True)
        self._long = LongDocuments()

    @property
    def name(self) -> str:
        """The path or URL of the archive."""
        return self.source.name

    @property
    def leading(self) -> list[Item]:
        """The ``zarr.json`` entries before the first data entry; entries for folders do not count."""
        return list(self._below(self._leading))

    @cached_property
    def _leading(self) -> list[Item]:
        headers = self._iter_columns() if self.end.may_wrap else iter_headers(self.source, self.end)
        items = (Item(entry_name(header), header.uncompressed_size, header) for header in headers)
        values = (item for item in items if not item.key.endswith("/"))
        return list(takewhile(lambda item: is_metadata_key(item.key), values))

    @property
    def top(self) -> Item | None:
        """The ``zarr.json`` of the archive's root, also above a viewed node; None if it is not the first entry."""
        return self._leading[0] if self._leading and self._leading[0].key == ROOT_METADATA else None

    @property
    def is_metadata_first(self) -> bool:
        """Whether all ``zarr.json`` entries come before the data, so that `leading` contains all of them.

        This is true if the comment declares it and the root's document is the first entry.

        RFC-9 (R2, 2026-04-20), ``jsonFirst``: a reader may stop at the first entry that is no ``zarr.json``.
        """
        return self.comment.json_first and bool(self._leading) and self._leading[0].key == ROOT_METADATA

    def iter_items(self, *, metadata_only: bool = False) -> Iterator[Item]:
        """Yield the entries in the order of the central directory, including entries for folders."""
        if metadata_only and self.is_metadata_first:
            yield from self.leading
            return
        for item in self._below(self._iter_all()):
            if not metadata_only or is_any_metadata_key(item.key):
                yield item

    def _iter_all(self) -> Iterator[Item]:
        is_big = self.end.entries > MANY_ENTRIES or self.end.may_wrap
        starts = []
        for header in self._iter_columns() if is_big else iter_headers(self.source, self.end):
            key = header.name.decode("ascii") if header.name.isascii() else entry_name(header)
            starts.append(header.header_offset)
            yield Item(key, header.uncompressed_size, header)
        self._starts, self._is_sorted = starts, False

    def _end_of_room(self, header: CentralHeader) -> int:
        """Return the largest offset at which an entry can end.

        This is the start of the next entry if it is known, else of the central directory.
        """
        if len(self._starts) > 1 and not self._is_sorted:
            self._starts, self._is_sorted = sorted(self._starts), True
        following = bisect_right(self._starts, header.header_offset)
        return self._starts[following] if following < len(self._starts) else self.end.directory_offset

    def _below(self, items: Iterable[Item]) -> Iterable[Item]:
        """Return the items inside the viewed node, with keys relative to it."""
        prefix = self._prefix
        if not prefix:
            return items
        length = len(prefix)
        return (item._replace(key=item.key[length:]) for item in items if item.key.startswith(prefix))

    def find(self, key: str) -> Item | None:
        """Return the last entry with the name `key`, or None."""
        if is_metadata_key(key) and self.is_metadata_first:
            found = [item for item in self.leading if item.key == key]
            if found:
                return found[-1]
        found = [item for item in self.iter_items() if item.key == key]
        if len(found) > 1:
            check_order(key, [_header_of(item).header_offset for item in found], self.name)
        return found[-1] if found else None

    def iter_value(self, item: Item) -> Iterator[bytes]:
        """Yield the value of an entry in blocks; verify its CRC-32 at the end."""
        header = _header_of(item)
        return iter_value(self.source, header, self._end_of_room(header))

    def read_document(self, item: Item) -> bytes:
        """Return the value of a metadata entry; raise `FormatError` if it is too long."""
        self._long.check(item.size, item.key)
        header = _header_of(item)
        return b"".join(iter_value(self._ahead, header, self._end_of_room(header)))

    def data_offset(self, item: Item) -> int | None:
        """Return the offset of an entry's data; None if its local header is missing or wrong.

        For a remote archive, no local header is requested if the central directory determines the offset.
        """
        try:
            header = _header_of(item)
            predicted = self._predict(header) if hasattr(self.source, "keep") else -1
            return predicted if predicted >= 0 else find_data(self.source, header, self._end_of_room(header))
        except (FormatError, UnsupportedError):
            return None

    def _predict(self, header: CentralHeader) -> int:
        from ozx.archive.remote_reading import predicted_data_offset  # noqa: PLC0415 (numpy)

        columns, rows, starts = self._rows
        following = bisect_right(starts, header.header_offset)
        limit = starts[following] if following < len(starts) else self.end.directory_offset
        return predicted_data_offset(columns, rows[header.header_offset], limit)

    @cached_property
    def _rows(self) -> tuple[Columns, dict[int, int], list[int]]:
        """The columns of the central directory, the row of each entry by offset, and the sorted offsets."""
        from ozx.archive.columns import read_columns  # noqa: PLC0415 (numpy)

        columns = read_columns(self.source, self.end)
        offsets = columns.header_offsets.tolist()
        return columns, {offset: row for row, offset in enumerate(offsets)}, sorted(offsets)

    def _iter_columns(self) -> Iterator[CentralHeader]:
        from ozx.archive.columns import read_columns  # noqa: PLC0415 (numpy)
        from ozx.archive.extra_fields import find_unicode_paths  # noqa: PLC0415 (numpy)

        columns = read_columns(self.source, self.end)
        named_twice = {index for index, _ in find_unicode_paths(columns)}
        rows = zip(
            (columns.starts + CENTRAL_HEADER.size).tolist(),
            columns.name_lengths.tolist(),
            columns.flags.tolist(),
            columns.methods.tolist(),
            columns.crc32s.tolist(),
            columns.compressed_sizes.tolist(),
            columns.uncompressed_sizes.tolist(),
            columns.header_offsets.tolist(),
            strict=True,
        )
        for index, (start, length, flags, method, checksum, compressed, uncompressed, offset) in enumerate(rows):
            name = columns.buffer[start : start + length]
            # The extra field may hold the name in Unicode, or the sizes.
            has_extra = index in named_twice or not name.isascii() or max(compressed, uncompressed) > MASK_32
            extra = columns.header(index).extra if has_extra else b""
            yield CentralHeader(0, flags, method, checksum, compressed, uncompressed, 0, offset, name, extra, 0)


class DirectoryView:
    """A view of a directory that shows all its files; symbolic links are followed, except in cycles."""

    node = ""  # a sub-directory shows a node
    notes: tuple[str, ...] = ()  # on what the view does not show

    def __init__(self, path: str) -> None:
        self.path = path
        self._long = LongDocuments()

    @property
    def name(self) -> str:
        """The path of the directory."""
        return self.path

    def iter_items(self, *, metadata_only: bool = False) -> Iterator[Item]:
        """Yield the files of each folder before the files of its sub-folders."""
        pending: list[tuple[str, tuple[str, ...]]] = [("", (os.path.realpath(self.path),))]
        while pending:
            prefix, above = pending.pop()
            files: list[os.DirEntry[str]] = []
            folders: list[tuple[str, tuple[str, ...]]] = []
            with os.scandir(self._path(prefix)) as entries:
                for entry in entries:
                    if entry.is_dir():
                        real = os.path.realpath(entry.path) if entry.is_symlink() else above[-1] + os.sep + entry.name
                        if real not in above:
                            folders.append((entry.name, (*above, real)))
                    elif not metadata_only or is_any_metadata_key(entry.name):
                        files.append(entry)
            for file in sorted(files, key=lambda file: component_order(file.name)):
                yield Item(prefix + file.name, _size_of(file))
            folders.sort(key=lambda folder: component_order(folder[0]), reverse=True)
            pending += [(f"{prefix}{name}/", reals) for name, reals in folders]

    def names(self) -> list[str]:
        """Return the names of the files and folders directly in the directory."""
        return sorted(os.listdir(self.path))

    def find(self, key: str) -> Item | None:
        """Return the file with the key `key`, or None."""
        path = self._path(key)
        return Item(key, os.stat(path).st_size) if os.path.isfile(path) else None

    def iter_value(self, item: Item) -> Iterator[bytes]:
        """Yield the bytes of a file in blocks; raise `FormatError` if the file changes while it is read."""
        source = FileSource(self._path(item.key))
        yield from iter_exactly(source, 0, source.size(), item.key)
        source.check_unchanged()

    def read_document(self, item: Item) -> bytes:
        """Return the value of a metadata file; raise `FormatError` if it is too long."""
        self._long.check(item.size, item.key)
        return b"".join(self.iter_value(item))

    def data_offset(self, item: Item) -> int | None:
        """Return None, since a file of a directory has no offset in an archive."""
        del item
        return None

    def _path(self, key: str) -> str:
        return os.path.join(self.path, key)


class RemoteDirectoryView(DirectoryView):
    """A view of a remote directory; if the server cannot list it, the view contains only metadata."""

    def __init__(self, url: str) -> None:
        from ozx.flow.sources.remote_objects import find_objects  # noqa: PLC0415 (few directories are remote)

        self._objects = find_objects(url, metadata_only=True)
        super().__init__(self._objects.folder.name)
        self.notes = tuple(self._objects.notes)

    def iter_items(self, *, metadata_only: bool = False) -> Iterator[Item]:
        """Yield the objects of each folder before the objects of its sub-folders."""
        for key in sorted(self._objects.marks, key=hierarchy_order):
            if not metadata_only or is_any_metadata_key(key):
                yield Item(key, self._objects.marks[key].size)

    def find(self, key: str) -> Item | None:
        """Return the object with the key `key`, or None."""
        mark = self._objects.marks.get(key)
        if mark is None and not self._objects.folder.can_list:
            mark = self._objects.folder.find(key)
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
            from ozx.flow.sources.remote_directory import ObjectPart  # noqa: PLC0415 (few directories are remote)

            yield from ObjectPart(folder, item.key, mark, 0, mark.size).iter_blocks()

    def read_document(self, item: Item) -> bytes:
        """Return the value of a metadata object; raise `FormatError` if it is too long."""
        return self._objects.read_document(item.key)


def at_root(place: Place) -> Place:
    """Return the place of the hierarchy's root: in a ``.zarr.zip``, it may be the only folder of the archive.

    The BioImage Archive asks for this layout: ``NAME.ome.zarr.zip`` with the folder ``NAME.ome.zarr``.
    """
    if place.node or not place.local_name().lower().endswith(".zarr.zip") or place.kind() == "a directory":
        return place
    from ozx.archive.reader import ArchiveReader  # noqa: PLC0415 (numpy, which info and ls do not need otherwise)

    with closing(place.open()) as source, suppress(FormatError, UnsupportedError):  # reported by whoever reads it
        names = ArchiveReader(source).columns.names()
        folder = min(names, default="").partition("/")[0]
        is_inside = folder.lower().endswith(".zarr") and all(name.startswith(f"{folder}/") for name in names)
        if is_inside and f"{folder}/{METADATA}" in names:
            return replace(place, node=folder)
    return place


def open_view(place: Place) -> ArchiveView | DirectoryView:
    """Return a view of a local or remote directory or archive, or of a node in an archive."""
    if os.path.isdir(place.path):
        return DirectoryView(place.path)
    if place.is_directory_url():
        return RemoteDirectoryView(place.path)
    place = at_root(place)
    source = place.open()
    # A remote request costs more time than the transfer of its bytes.
    view = ArchiveView(source, place.node, ahead=1 << 17 if isinstance(source, FileSource) else 1 << 20)
    if place.node:
        _check_node(view)
    return view


def _check_node(view: ArchiveView) -> None:
    """Raise `UsageError` if the view's node has no metadata."""
    whole = ArchiveView(view.source)
    nodes = {node_of(item.key) for item in whole.iter_items(metadata_only=True)}
    if view.node not in nodes:
        raise UsageError(f"it has no node {view.node!r}", path=view.source.name, hint=similar_nodes(view.node, nodes))


def similar_nodes(node: str, nodes: Iterable[str]) -> str:
    """Return a hint that lists existing nodes, for a message about a missing node.

    Examples
    --------
    >>> similar_nodes("labels/cell", ["", "labels", "labels/cells"])
    'Did you mean labels/cells or labels?'
    >>> similar_nodes("9", ["", "0", "1"])
    'Existing nodes: 0 and 1.'
    >>> similar_nodes("9", [""])
    'The only node is the root.'
    """
    import difflib  # noqa: PLC0415 (only errors need it)

    others = sorted(filter(None, nodes))
    alike = difflib.get_close_matches(node, others[:_MOST_COMPARED], _SHOWN)
    if alike:
        return f"Did you mean {' or '.join(alike)}?"
    if not others:
        return "The only node is the root."
    top = [other for other in others if "/" not in other] or others
    return f"Existing nodes: {' and '.join(top[:_SHOWN])}{', among others' if len(top) > _SHOWN else ''}."


def is_any_metadata_key(key: str) -> bool:
    """Return whether `key` is a metadata key of Zarr v3 or Zarr v2."""
    # Cheap test first: nearly all of a million keys fail it.
    return key.endswith(_ENDINGS) and (is_metadata_key(key) or is_legacy_metadata_key(key))


def _header_of(item: Item) -> CentralHeader:
    if item.header is None:
        raise TypeError("expected an entry of an archive; got a file of a directory")
    return item.header


def _size_of(file: os.DirEntry[str]) -> int:
    try:
        return file.stat().st_size
    except OSError:  # a broken link; reading it raises the error
        return 0

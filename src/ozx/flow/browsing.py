"""Looking into an archive or a directory without judging it: what `info`, `ls` and `cat` have in common.

`list_directory` and `ArchiveReader` prepare for moving everything and refuse what cannot be moved; here as little as
possible is read, and whatever is there is shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from ozx.archive.byte_source import ByteSource, FileSource, read_exactly
from ozx.archive.directory import EndOfDirectory, iter_headers, read_end
from ozx.archive.entry_reading import ReadAhead, entry_name, find_data, iter_value
from ozx.archive.records import CENTRAL_HEADER, CentralHeader
from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.comment import Comment, parse_comment
from ozx.hierarchy.keys import (
    LEGACY_METADATA,
    METADATA,
    ROOT_METADATA,
    component_order,
    is_legacy_metadata_key,
    is_metadata_key,
)

__all__ = ["ArchiveView", "DirectoryView", "Item", "is_any_metadata_key", "open_view"]

_BLOCK = 1 << 20
# From here on numpy's import (0.1 s) is paid back by reading the central directory several times as fast.
_MANY_ENTRIES = 50_000
# A metadata document is a few kilobytes, consolidated ones some megabytes; more is an attack on the memory.
_LONGEST_DOCUMENT = 1 << 28

_ENDINGS = (METADATA, *LEGACY_METADATA)


class Item(NamedTuple):
    """One entry of an archive or one file of a directory: its key, and the size of its value in bytes.

    `header` is the entry's header in the central directory, None for a file.
    """

    key: str
    size: int
    header: CentralHeader | None = None


class ArchiveView:
    """An archive that is looked into.

    Parameters
    ----------
    source
        The archive's bytes.

    Raises
    ------
    FormatError, UnsupportedError
        What `ozx.archive.directory.read_end` raises.
    """

    def __init__(self, source: ByteSource) -> None:
        self.source = source
        self.end: EndOfDirectory = read_end(source)
        self.comment: Comment = parse_comment(self.end.comment)
        # Metadata documents that are read one after the other mostly stand one behind the other.
        self._ahead = ReadAhead(source)

    @cached_property
    def leading(self) -> list[Item]:
        """The ``zarr.json`` entries before the first entry that is none."""
        headers = iter_headers(self.source, self.end)
        items = (Item(entry_name(header), header.uncompressed_size, header) for header in headers)
        return list(takewhile(lambda item: is_metadata_key(item.key), items))

    @property
    def is_metadata_first(self) -> bool:
        """Whether `leading` is all metadata there is: the comment promises it, and the root's does come first.

        RFC-9 (R2, 2026-04-20), ``jsonFirst``: a reader may stop at the first entry that is no ``zarr.json``.
        """
        return self.comment.json_first and bool(self.leading) and self.leading[0].key == ROOT_METADATA

    def iter_items(self, *, metadata_only: bool = False) -> Iterator[Item]:
        """Yield the entries in the order of the central directory, those of folders included."""
        if metadata_only and self.is_metadata_first:
            yield from self.leading
            return
        is_big = self.end.entries > _MANY_ENTRIES
        for header in self._iter_columns() if is_big else iter_headers(self.source, self.end):
            key = header.name.decode("ascii") if header.name.isascii() else entry_name(header)
            if not metadata_only or is_any_metadata_key(key):
                yield Item(key, header.uncompressed_size, header)

    def find(self, key: str) -> Item | None:
        """Return the entry called `key`, the last one where several are, or None."""
        if is_metadata_key(key) and self.is_metadata_first:
            found = [item for item in self.leading if item.key == key]
            if found:
                return found[-1]
        last = None
        for item in self.iter_items():
            if item.key == key:
                last = item
        return last

    def iter_value(self, item: Item) -> Iterator[bytes]:
        """Yield the value of an entry in blocks; its CRC-32 is checked at the end."""
        return iter_value(self.source, _header_of(item), self.end.directory_offset)

    def read_document(self, item: Item) -> bytes:
        """Return the value of a metadata entry; `FormatError` when no honest metadata is that long."""
        _check_document(item)
        return b"".join(iter_value(self._ahead, _header_of(item), self.end.directory_offset))

    def data_offset(self, item: Item) -> int | None:
        """Return where the bytes of an entry begin; None where its local header is missing or wrong."""
        try:
            return find_data(self.source, _header_of(item), self.end.directory_offset)
        except (FormatError, UnsupportedError):
            return None

    def _iter_columns(self) -> Iterator[CentralHeader]:
        from ozx.archive.columns import read_columns  # noqa: PLC0415 (numpy)

        columns = read_columns(self.source, self.end)
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
            extra = b"" if name.isascii() else columns.header(index).extra  # it may name the entry in Unicode
            yield CentralHeader(0, flags, method, checksum, compressed, uncompressed, 0, offset, name, extra, 0)


class DirectoryView:
    """A directory that is looked into; links are followed, except in circles.

    Parameters
    ----------
    path
        The directory.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def iter_items(self, *, metadata_only: bool = False) -> Iterator[Item]:
        """Yield the files, folder by folder: those of a folder before those of its sub-folders."""
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

    def find(self, key: str) -> Item | None:
        """Return the file that holds the value of `key`, or None."""
        path = self._path(key)
        return Item(key, os.stat(path).st_size) if os.path.isfile(path) else None

    def iter_value(self, item: Item) -> Iterator[bytes]:
        """Yield the bytes of a file in blocks; `FormatError` when it changes meanwhile."""
        source = FileSource(self._path(item.key))
        size = source.size()
        for offset in range(0, size, _BLOCK):
            yield read_exactly(source, offset, min(_BLOCK, size - offset), item.key)
        source.check_unchanged()

    def read_document(self, item: Item) -> bytes:
        """Return the value of a metadata file; `FormatError` when no honest metadata is that long."""
        _check_document(item)
        return b"".join(self.iter_value(item))

    def data_offset(self, item: Item) -> int | None:
        """Return None: a file of its own stands at no offset."""
        del item
        return None

    def _path(self, key: str) -> str:
        return os.path.join(self.path, key)


def open_view(path: str) -> ArchiveView | DirectoryView:
    """Return a look into the archive or the directory at `path`.

    Raises
    ------
    FormatError, UnsupportedError
        It is a file, but no archive that can be read.
    OSError
        There is nothing, or it cannot be opened.
    """
    return DirectoryView(path) if os.path.isdir(path) else ArchiveView(FileSource(path))


def is_any_metadata_key(key: str) -> bool:
    """Tell whether `key` is metadata of Zarr v3 or of Zarr v2.

    Examples
    --------
    >>> [is_any_metadata_key(key) for key in ("0/zarr.json", "0/.zarray", "0/c/0")]
    [True, True, False]
    """
    # The first test is the cheap one that nearly all of a million keys fail.
    return key.endswith(_ENDINGS) and (is_metadata_key(key) or is_legacy_metadata_key(key))


def _header_of(item: Item) -> CentralHeader:
    if item.header is None:
        raise TypeError("expected an entry of an archive; got a file of a directory")
    return item.header


def _check_document(item: Item) -> None:
    if item.size > _LONGEST_DOCUMENT:
        raise FormatError(f"{item.key}: {item.size:,} bytes are more than any metadata has")


def _size_of(file: os.DirEntry[str]) -> int:
    try:
        return file.stat().st_size
    except OSError:  # a link to nothing; whoever reads it will hear of it
        return 0

"""Reader of an archive's entries by index or name, from any thread or process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns, read_columns
from ozx.archive.directory import EndOfDirectory, read_end
from ozx.archive.entry_reading import (
    check_crc32,
    check_not_encrypted,
    check_stored_size,
    data_offset_behind,
    find_data,
    iter_value,
)
from ozx.archive.extra_fields import find_unicode_paths, iter_other_paths
from ozx.archive.names.decoding import check_order, name_fault
from ozx.archive.names.table import NameIndex
from ozx.archive.records import (
    DEFLATE64,
    DEFLATED,
    FLAG_ENCRYPTED,
    FLAG_STRONG_ENCRYPTION,
    LOCAL_HEADER,
    STORED,
    LocalHeader,
    method_name,
)
from ozx.archive.remote_reading import (
    Part,
    Steps,
    follow,
    follow_async,
    iter_steps,
    leading_span,
    predicted_data_offset,
)
from ozx.crc32 import crc32
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.places.byte_source import ByteSource, FileSource, read_exactly

if TYPE_CHECKING:
    from ozx.places.remote.source import RemoteSource

_LAST_OF_ASCII = 0x7F
_MOST_OVERLAPS = 100

READABLE_METHODS = (STORED, DEFLATED, DEFLATE64)

# An entry that declares more than 64 MiB at a ratio above 200 : 1 counts as a decompression bomb, and so do all entries
# together if they inflate to more than 1 TiB. Chunks are compressed already: ordinary archives stay near 1 : 1.
BOMB_SIZE = 64 << 20
BOMB_RATIO = 200
BOMB_TOTAL = 1 << 40


class ArchiveReader:
    """Reader of a ZIP archive from a path or a byte source; reads only the bytes that are needed."""

    def __init__(self, source: ByteSource | str) -> None:
        self.source: ByteSource = FileSource(source) if isinstance(source, str) else source

    def __len__(self) -> int:
        return len(self.columns) if self.end.may_wrap else self.end.entries

    def __getstate__(self) -> dict[str, object]:
        return {"source": self.source}

    @cached_property
    def end(self) -> EndOfDirectory:
        """The end records of the archive."""
        return read_end(self.source)

    @cached_property
    def columns(self) -> Columns:
        """The central directory as columns."""
        columns, end = read_columns(self.source, self.end), self.end
        for index in find_out_of_bounds(columns, end)[:1].tolist():
            raise FormatError(
                f"entry {columns.name(index)!r} declares {int(columns.compressed_sizes[index]):,} bytes at "
                f"{int(columns.header_offsets[index]):,}, but the central directory begins at {end.directory_offset:,}",
                path=self.source.name,
                rule="zip/bounds",
            )
        return columns

    @cached_property
    def name_index(self) -> NameIndex:
        """An index of the entries by name."""
        return NameIndex(self.columns)

    @cached_property
    def checked_offsets(self) -> NDArray[np.int64]:
        """The offset of the data of each entry whose local header was checked; -1 for the others."""
        return np.full(len(self.columns), -1, np.int64)

    @cached_property
    def sorted_offsets(self) -> NDArray[np.uint64]:
        """The sorted offsets of all local headers."""
        return np.sort(self.columns.header_offsets)

    def find(self, name: str) -> int | None:
        """Return the index of the last entry with this name, or None if there is no such entry."""
        if name.isascii():
            return self.name_index.find(name.encode("ascii"))
        index = self.name_index.find(name.encode("utf-8", "surrogateescape"))
        if index is not None and self.columns.name(index) != name:
            index = None
        other = self._in_other_encodings.get(name)
        return other if index is None else index if other is None else max(index, other)

    @cached_property
    def _in_other_encodings(self) -> dict[str, int]:
        """A map from each name that is not stored as UTF-8 to the last entry with this name."""
        columns = self.columns
        found: dict[str, int] = {}
        for rows, names in columns.iter_name_matrices():
            for index in rows[(names > _LAST_OF_ASCII).any(1)].tolist():
                name = columns.name(index)
                if name.encode("utf-8", "surrogateescape") != columns.raw_name(index):
                    found[name] = max(index, found.get(name, -1))
        return found

    def data_offset(self, index: int) -> int:
        """Check entry `index`, and return the offset of its data."""
        offset = int(self.checked_offsets[index])
        if offset < 0:
            offset = find_data(self.source, self.columns.header(index), self.end_of_room(index))
            self.checked_offsets[index] = offset
        return offset

    def checked_data_offset(self, index: int, local: LocalHeader) -> int:
        """Check entry `index` against its local header `local`, and return the offset of its data."""
        return data_offset_behind(self.source, self.columns.header(index), local, self.end_of_room(index))

    def read(self, index: int, offset: int = 0, length: int | None = None) -> bytes:
        """Return the value of entry `index`, or at most `length` bytes of it from `offset`.

        The CRC-32 is checked for a whole value and for a part of a compressed value. It cannot be checked for a part of
        a stored value, because only this part is read.
        """
        stop, size = self._stop(index, offset, length), int(self.columns.uncompressed_sizes[index])
        if self._remote is not None:
            return self._take(index, follow(self.source, self._steps(index, offset, stop)))
        if self.columns.methods[index] != STORED:
            return b"".join(self.iter_blocks(index))[offset:stop]
        start = self.data_offset(index) + offset
        data = read_exactly(self.source, start, stop - offset, "an entry") if stop > offset else b""
        if offset == 0 and stop == size:
            self.check_crc32(index, crc32(data))
        return data

    async def read_async(self, index: int, offset: int = 0, length: int | None = None) -> bytes:
        """Return the same result as `read`, without blocking the event loop if the source is remote."""
        source = self._remote
        if source is None:
            return self.read(index, offset, length)
        stop = self._stop(index, offset, length)
        return self._take(index, await follow_async(source, self._steps(index, offset, stop)))

    def prefetch_head(self) -> None:
        """Read the ``zarr.json`` entries at the start of a remote file with one request, and keep them in memory."""
        if self._remote is not None:
            offset, length = leading_span(self.columns, self.end.directory_offset)
            if length:
                self._remote.remember(offset, length)

    @cached_property
    def _remote(self) -> RemoteSource | None:
        """The source if it is remote; known by a method, because the import of its class takes long."""
        return cast("RemoteSource", self.source) if hasattr(self.source, "read_view_async") else None

    def _stop(self, index: int, offset: int, length: int | None) -> int:
        """Return the end offset of a read of `length` bytes from `offset`, limited to the size of the value."""
        if offset < 0 or (length is not None and length < 0):
            raise UsageError(f"expected an offset and a length of at least 0; got {offset} and {length}")
        size = int(self.columns.uncompressed_sizes[index])
        return size if length is None else min(size, offset + length)

    def _steps(self, index: int, start: int, stop: int) -> Steps:
        limit = self.end_of_room(index)
        return iter_steps(
            self.source,
            self.columns.header(index),
            limit,
            start,
            stop,
            data_offset=int(self.checked_offsets[index]),
            predicted=predicted_data_offset(self.columns, index, limit),
        )

    def _take(self, index: int, part: Part) -> bytes:
        data, data_offset = part
        if data_offset >= 0:
            self.checked_offsets[index] = data_offset
        return data

    def iter_blocks(self, index: int) -> Iterator[bytes]:
        """Yield the value of entry `index` in blocks of 1 MiB; check its CRC-32 after the last block."""
        offset = self.data_offset(index)
        yield from iter_value(self.source, self.columns.header(index), self.end_of_room(index), offset)

    def check_crc32(self, index: int, checksum: int) -> None:
        """Raise `FormatError` (``zip/crc``) if `checksum` is not the CRC-32 of entry `index`."""
        if checksum != self.columns.crc32s[index]:  # only then parse the header, which takes longer
            check_crc32(self.source, self.columns.header(index), checksum)

    def check(self, *, allow_bombs: bool = False, allow_duplicates: bool = False) -> None:
        """Raise an error for the first fault in the central directory that makes the archive unreadable.

        `allow_bombs` permits entries that inflate to enormous sizes. `allow_duplicates` permits several entries of one
        name: `find` returns the last one in the directory, which has to be the last one in the file, too.
        """
        self._check_methods()
        self._check_names(allow_duplicates=allow_duplicates)
        self._check_paths()
        self._check_sizes(allow_bombs=allow_bombs)

    def check_values(self) -> None:
        """Raise the errors of `check`, except those about refused or repeated names: the caller renames the entries."""
        self._check_methods()
        self._check_paths()
        self._check_sizes(allow_bombs=False)

    def _check_methods(self) -> None:
        columns, path = self.columns, self.source.name
        encrypted = np.flatnonzero(columns.flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION))
        if len(encrypted):
            check_not_encrypted(self.source, columns.header(int(encrypted[0])))
        unknown = np.flatnonzero(~np.isin(columns.methods, READABLE_METHODS))
        if len(unknown):
            index = int(unknown[0])
            raise UnsupportedError(
                f"entry {columns.name(index)!r}: expected a stored, deflated or Deflate64 entry; "
                f"found {method_name(int(columns.methods[index]))}",
                path=path,
                rule="zip/method",
                hint="Unpack it with the program that wrote it, then run ozx pack on the folder.",
            )

    def _check_names(self, *, allow_duplicates: bool) -> None:
        columns, path = self.columns, self.source.name
        is_ascii = True
        for index in columns.suspects().tolist():
            name = columns.name(index)
            is_ascii = is_ascii and columns.raw_name(index).isascii()
            fault = name_fault(name)
            if fault is not None:
                raise _refused_name(name, fault, path)
        for index in np.flatnonzero(columns.are_folders() & (columns.uncompressed_sizes > 0)).tolist():
            raise _refused_name(columns.name(index), "it ends in a slash, but the entry has bytes", path)
        self._check_duplicates(allow_duplicates=allow_duplicates, is_ascii=is_ascii)

    def _check_duplicates(self, *, allow_duplicates: bool, is_ascii: bool) -> None:
        columns, path = self.columns, self.source.name
        duplicates = self.name_index.duplicates()
        if allow_duplicates:
            for raw, indices in duplicates:
                check_order(raw.decode("utf-8", "replace"), columns.header_offsets[indices].tolist(), path)
            return
        repeated = [raw.decode("utf-8", "replace") for raw, _ in duplicates]
        if not (repeated or is_ascii):  # different bytes may stand for the same text
            repeated = [name for name, count in Counter(columns.names()).items() if count > 1]
        if repeated:
            raise FormatError(
                f"several entries are called {repeated[0]!r}; programs differ in which of these entries they read",
                path=path,
                rule="zip/duplicate-name",
            )

    def _check_paths(self) -> None:
        """Raise an error if different programs see different names of an entry (APPNOTE 4.6.9)."""
        for entry, other in iter_other_paths(self.columns, find_unicode_paths(self.columns)):
            name, path = self.columns.name(entry), other.decode("utf-8", "replace")
            raise FormatError(
                f"entry {name!r} has a Unicode Path field that names it {path!r}; readers use different names",
                path=self.source.name,
                rule="zip/unicode-path",
            )

    def end_of_room(self, index: int) -> int:
        """Return the offset of the local header, or of the central directory, that follows an entry in the file."""
        starts = self.sorted_offsets
        following = int(np.searchsorted(starts, self.columns.header_offsets[index], "right"))
        return int(starts[following]) if following < len(starts) else self.end.directory_offset

    def _check_sizes(self, *, allow_bombs: bool) -> None:
        columns, path = self.columns, self.source.name
        stored = columns.methods == STORED
        uneven = np.flatnonzero(stored & (columns.compressed_sizes != columns.uncompressed_sizes))
        if len(uneven):
            check_stored_size(self.source, columns.header(int(uneven[0])))
        for first, second in overlapping_pairs(columns)[:1]:
            raise FormatError(
                f"entries {columns.name(first)!r} and {columns.name(second)!r} overlap", path=path, rule="zip/overlap"
            )
        if allow_bombs:
            return
        sizes, bombs = columns.uncompressed_sizes, find_bombs(columns)
        total = sum(sizes[~stored].tolist())
        if len(bombs) or total > BOMB_TOTAL:
            what = f"entry {columns.name(int(bombs[0]))!r}" if len(bombs) else "its entries"
            size = int(sizes[bombs[0]]) if len(bombs) else total
            raise FormatError(
                f"{what} would decompress to {size:,} bytes, like a decompression bomb",
                path=path,
                rule="zip/bomb",
                hint="If you trust the origin of the file, allow it: allow_bombs=True.",
            )


def _refused_name(name: str, fault: str, path: str) -> FormatError:
    return FormatError(f"entry name {name!r} is refused: {fault}", path=path, rule="zip/name")


def overlapping_pairs(columns: Columns) -> list[tuple[int, int]]:
    """Return at most 100 pairs of overlapping entries, the earlier entry of each pair first."""
    order = np.argsort(columns.header_offsets, kind="stable")
    starts = columns.header_offsets[order]
    ends = starts + columns.compressed_sizes[order] + columns.name_lengths[order] + np.uint64(LOCAL_HEADER.size)
    return list(iter_overlaps(order, starts, ends))


def iter_overlaps(entries: NDArray[np.int64], starts: NDArray[Any], ends: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield at most 100 pairs of overlapping `entries`, the earlier entry of each pair first."""
    furthest = np.maximum.accumulate(ends)
    for position in np.flatnonzero(starts[1:] < furthest[:-1])[:_MOST_OVERLAPS].tolist():
        yield int(entries[np.argmax(ends[: position + 1])]), int(entries[position + 1])


def find_bombs(columns: Columns) -> NDArray[np.int64]:
    """Return the entries with the compression ratio of a decompression bomb."""
    sizes = columns.uncompressed_sizes
    # Divide, because a product of a compressed size and the ratio could wrap around.
    is_bomb = (columns.methods != STORED) & (sizes > BOMB_SIZE) & (sizes // BOMB_RATIO > columns.compressed_sizes)
    return np.flatnonzero(is_bomb)


def find_out_of_bounds(columns: Columns, end: EndOfDirectory) -> NDArray[np.int64]:
    """Return the entries that extend beyond the start of the central directory."""
    limit = np.uint64(end.directory_offset)
    # Do not compare the sum alone: it could wrap around.
    beyond = (columns.header_offsets > limit) | (columns.compressed_sizes > limit)
    return np.flatnonzero(beyond | (columns.header_offsets + columns.compressed_sizes > limit))

"""Entries out of an archive, by index or by name, at any offset, from any thread or process.

The central directory is the truth, the local header the witness: an entry whose two headers disagree is not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ozx.archive.byte_source import ByteSource, FileSource, read_exactly
from ozx.archive.columns import Columns, read_columns
from ozx.archive.crc32 import crc32
from ozx.archive.directory import EndOfDirectory, read_end
from ozx.archive.inflate import iter_inflated
from ozx.archive.name_index import NameIndex
from ozx.archive.names import are_plain_names, name_fault
from ozx.archive.records import (
    DEFLATE64,
    DEFLATED,
    FLAG_DATA_DESCRIPTOR,
    FLAG_ENCRYPTED,
    FLAG_STRONG_ENCRYPTION,
    FLAG_UTF8,
    LOCAL_HEADER,
    LOCAL_SIGNATURE,
    STORED,
    LocalHeader,
    method_name,
    resolve_zip64,
)
from ozx.errors import FormatError, UnsupportedError, UsageError

__all__ = ["BOMB_RATIO", "BOMB_SIZE", "BOMB_TOTAL", "READABLE_METHODS", "ArchiveReader", "header_contradiction"]

READABLE_METHODS = (STORED, DEFLATED, DEFLATE64)

# An entry that declares more than 64 MiB at more than 200 : 1, or entries that inflate to more than 1 TiB in all,
# are taken for a decompression bomb: chunks are compressed already, so that honest archives stay near 1 : 1.
BOMB_SIZE = 64 << 20
BOMB_RATIO = 200
BOMB_TOTAL = 1 << 40

_BLOCK = 1 << 20
# A local file header nearly always fits here, so that one read brings it whole.
_HEADER_GUESS = 512


class ArchiveReader:
    """A ZIP archive open for reading; nothing is read before it is asked for.

    Parameters
    ----------
    source
        The archive's bytes, or the path of a local file.

    Examples
    --------
    >>> reader = ArchiveReader("cells.ozx")
    >>> reader.read(reader.find("zarr.json"), 0, 1)
    b'{'
    """

    def __init__(self, source: ByteSource | str) -> None:
        self.source: ByteSource = FileSource(source) if isinstance(source, str) else source

    def __len__(self) -> int:
        return self.end.entries

    def __getstate__(self) -> dict[str, object]:
        return {"source": self.source}

    @cached_property
    def end(self) -> EndOfDirectory:
        """What the end records say."""
        return read_end(self.source)

    @cached_property
    def columns(self) -> Columns:
        """The central directory as columns."""
        columns = read_columns(self.source, self.end)
        _check_bounds(self.source, columns, self.end)
        return columns

    @cached_property
    def name_index(self) -> NameIndex:
        """The entries by name."""
        return NameIndex(self.columns)

    @cached_property
    def _data_offsets(self) -> NDArray[np.int64]:
        return np.full(len(self.columns), -1, np.int64)

    @cached_property
    def _sorted_offsets(self) -> NDArray[np.uint64]:
        return np.sort(self.columns.header_offsets)

    def find(self, name: str) -> int | None:
        """Return the index of the entry called `name`, the last one where several are, or None."""
        if name.isascii():
            return self.name_index.find(name.encode("ascii"))
        index = self.name_index.find(name.encode("utf-8", "surrogateescape"))
        if index is not None and self.columns.name(index) == name:
            return index
        # Stored in another encoding.
        return max((i for i, found in enumerate(self.columns.names()) if found == name), default=None)

    def data_offset(self, index: int) -> int:
        """Return where the bytes of entry `index` begin: after its own local header, which is checked first.

        Raises
        ------
        FormatError
            The local header is missing or contradicts the central directory (``zip/local-header``), the bytes run into
            another entry (``zip/overlap``), or a stored entry has two sizes (``zip/stored-size``).
        UnsupportedError
            The entry is encrypted (``zip/encrypted``).
        """
        offset = int(self._data_offsets[index])
        if offset < 0:
            self._check_not_encrypted(index)
            offset = self.checked_data_offset(index, self.local_header(index))
            self._data_offsets[index] = offset
        return offset

    def checked_data_offset(self, index: int, local: LocalHeader) -> int:
        """Return where the bytes of entry `index` begin, given its local header; raises as `data_offset` does."""
        columns, start = self.columns, int(self.columns.header_offsets[index])
        contradiction = header_contradiction(columns, index, local)
        if contradiction is not None:
            raise FormatError(
                f"entry {columns.name(index)!r}: {contradiction} (local file header at {start:,})",
                path=self.source.name,
                rule="zip/local-header",
            )
        if columns.methods[index] == STORED:
            self._check_stored_size(index)
        offset = start + local.length
        limit = self._end_of_room(index)
        if offset + int(columns.compressed_sizes[index]) > limit:
            what = "the central directory" if limit == self.end.directory_offset else f"the entry at {limit:,}"
            raise FormatError(
                f"entry {columns.name(index)!r} runs into {what}", path=self.source.name, rule="zip/overlap"
            )
        return offset

    def local_header(self, index: int) -> LocalHeader:
        """Return the local file header of entry `index` as it stands."""
        start = int(self.columns.header_offsets[index])
        data = self.source.read_at(start, _HEADER_GUESS)
        try:
            needed = LOCAL_HEADER.size
            if len(data) >= needed and data.startswith(LOCAL_SIGNATURE):
                needed += int.from_bytes(data[26:28], "little") + int.from_bytes(data[28:30], "little")
            if needed > len(data):
                data = read_exactly(self.source, start, needed, "a local file header")
            return LocalHeader.from_bytes(data)
        except FormatError as error:
            name = self.columns.name(index)
            message = f"entry {name!r}, local file header at {start:,}: {error.message}"
            raise FormatError(message, path=self.source.name, rule=error.rule) from None

    def read(self, index: int, offset: int = 0, length: int | None = None) -> bytes:
        """Return the value of entry `index`, or `length` bytes of it from `offset`, clamped to its end.

        A whole value is checked against its CRC-32; a part of a stored one is one read and cannot be.

        Raises
        ------
        FormatError
            As `data_offset`; the CRC-32 differs (``zip/crc``); the data does not inflate (``zip/inflate``).
        UnsupportedError
            The entry is encrypted or uses another method (``zip/encrypted``, ``zip/method``).
        UsageError
            `offset` or `length` is negative.
        """
        if offset < 0 or (length is not None and length < 0):
            raise UsageError(f"expected an offset and a length of at least 0; got {offset} and {length}")
        size = int(self.columns.uncompressed_sizes[index])
        stop = size if length is None else min(size, offset + length)
        if self.columns.methods[index] == STORED and (offset or stop < size):
            start = self.data_offset(index) + offset
            return b"" if stop <= offset else read_exactly(self.source, start, stop - offset, "an entry")
        return b"".join(self.iter_blocks(index))[offset:stop]

    def iter_blocks(self, index: int) -> Iterator[bytes]:
        """Yield the value of entry `index` in blocks of about 1 MiB; the CRC-32 is checked at the end.

        Raises what `read` raises; a wrong CRC-32 is known only after the last block.
        """
        columns = self.columns
        checksum = 0
        try:
            if columns.methods[index] == STORED:
                blocks = self._iter_stored(index)
            else:
                size = int(columns.uncompressed_sizes[index])
                blocks = iter_inflated(int(columns.methods[index]), self._iter_stored(index), size)
            for block in blocks:
                checksum = crc32(block, checksum)
                yield block
        except (FormatError, UnsupportedError) as error:
            if error.path is None:
                error.message = f"entry {columns.name(index)!r}: {error.message}"
            raise error.at(self.source.name) from None
        self.check_crc32(index, checksum)

    def check_crc32(self, index: int, checksum: int) -> None:
        """Raise `FormatError` (``zip/crc``) when `checksum` is not the CRC-32 of entry `index`."""
        expected = int(self.columns.crc32s[index])
        if checksum != expected:
            raise FormatError(
                f"entry {self.columns.name(index)!r}: expected CRC-32 {expected:08x}, found {checksum:08x}; "
                "its bytes are damaged",
                path=self.source.name,
                rule="zip/crc",
            )

    def check(self, *, allow_bombs: bool = False) -> None:
        """Raise for the first reason why this archive is not read as a whole; looks at the directory only.

        Raises
        ------
        FormatError
            Names are unsafe or not unique, entries overlap, or a stored size is no size
            (``zip/name``, ``zip/duplicate-name``, ``zip/overlap``, ``zip/stored-size``, ``zip/bomb``).
        UnsupportedError
            An entry is encrypted or uses an unknown method (``zip/encrypted``, ``zip/method``).
        """
        columns, path = self.columns, self.source.name
        encrypted = np.flatnonzero(columns.flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION))
        if len(encrypted):
            self._check_not_encrypted(int(encrypted[0]))
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
        self._check_names()
        self._check_sizes(allow_bombs=allow_bombs)

    def _check_not_encrypted(self, index: int) -> None:
        if self.columns.flags[index] & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION):
            raise UnsupportedError(
                f"entry {self.columns.name(index)!r} is encrypted",
                path=self.source.name,
                rule="zip/encrypted",
                hint="Unpack it with the password in the program that wrote it, then run ozx pack on the folder.",
            )

    def _check_names(self) -> None:
        columns, path = self.columns, self.source.name
        is_ascii = True
        for first, raw_names in columns.iter_name_blocks():
            if are_plain_names(raw_names):
                continue
            for index, raw in enumerate(raw_names, first):
                is_ascii = is_ascii and raw.isascii()
                name = columns.name(index)
                fault = name_fault(name)
                if fault is not None:
                    raise FormatError(f"entry name {name!r} is refused: {fault}", path=path, rule="zip/name")
        repeated = [raw.decode("utf-8", "replace") for raw, _ in self.name_index.duplicates()]
        if not (repeated or is_ascii):  # different bytes may stand for the same text
            repeated = [name for name, count in Counter(columns.names()).items() if count > 1]
        if repeated:
            raise FormatError(
                f"several entries are called {repeated[0]!r}; readers differ in which they see",
                path=path,
                rule="zip/duplicate-name",
            )

    def _check_stored_size(self, index: int) -> None:
        stored, original = int(self.columns.compressed_sizes[index]), int(self.columns.uncompressed_sizes[index])
        if stored != original:
            raise FormatError(
                f"entry {self.columns.name(index)!r} is stored, but declares {stored:,} bytes stored and "
                f"{original:,} original",
                path=self.source.name,
                rule="zip/stored-size",
            )

    def _end_of_room(self, index: int) -> int:
        """Return where the next local header, or the central directory, begins."""
        starts = self._sorted_offsets
        following = int(np.searchsorted(starts, self.columns.header_offsets[index], "right"))
        return int(starts[following]) if following < len(starts) else self.end.directory_offset

    def _check_sizes(self, *, allow_bombs: bool) -> None:
        columns, path = self.columns, self.source.name
        stored = columns.methods == STORED
        uneven = np.flatnonzero(stored & (columns.compressed_sizes != columns.uncompressed_sizes))
        if len(uneven):
            self._check_stored_size(int(uneven[0]))
        for first, second in overlapping_pairs(columns)[:1]:
            raise FormatError(
                f"entries {columns.name(first)!r} and {columns.name(second)!r} overlap", path=path, rule="zip/overlap"
            )
        if allow_bombs:
            return
        sizes = columns.uncompressed_sizes
        # Multiplying could wrap around: a size beyond 2**55 is a bomb whatever its ratio.
        bombs = np.flatnonzero(~stored & (sizes > BOMB_SIZE) & (sizes // BOMB_RATIO > columns.compressed_sizes))
        total = sum(sizes[~stored].tolist())
        if len(bombs) or total > BOMB_TOTAL:
            what = f"entry {columns.name(int(bombs[0]))!r} would inflate" if len(bombs) else "its entries would inflate"
            size = int(sizes[bombs[0]]) if len(bombs) else total
            raise FormatError(
                f"{what} to {size:,} bytes, as a decompression bomb does",
                path=path,
                rule="zip/bomb",
                hint="If you trust its origin, ask for it with --allow-bombs.",
            )

    def _iter_stored(self, index: int) -> Iterator[bytes]:
        offset, missing = self.data_offset(index), int(self.columns.compressed_sizes[index])
        while missing:
            length = min(_BLOCK, missing)
            yield read_exactly(self.source, offset, length, f"entry {self.columns.name(index)!r}")
            offset, missing = offset + length, missing - length


def overlapping_pairs(columns: Columns) -> list[tuple[int, int]]:
    """Return pairs of entries of which one begins before the other can have ended.

    A local header is at least as long as its fixed part and the name; its extra field is not looked at here.
    """
    order = np.argsort(columns.header_offsets, kind="stable")
    starts = columns.header_offsets[order]
    ends = starts + columns.compressed_sizes[order] + columns.name_lengths[order] + np.uint64(LOCAL_HEADER.size)
    furthest = np.maximum.accumulate(ends)
    late = np.flatnonzero(starts[1:] < furthest[:-1])
    pairs = []
    for position in late.tolist():
        culprit = int(np.argmax(ends[: position + 1]))
        pairs.append((int(order[culprit]), int(order[position + 1])))
        if len(pairs) == 100:  # enough to tell
            break
    return pairs


def header_contradiction(columns: Columns, index: int, local: LocalHeader) -> str | None:
    """Return what the local header says otherwise than the central directory, or None when they agree.

    Sizes and CRC-32 may be zero in a local header whose bit 3 announces a data descriptor (APPNOTE 4.4.4).
    """
    flags, method = int(columns.flags[index]), int(columns.methods[index])
    if local.name != columns.raw_name(index):
        return f"the local header names it {local.name.decode('utf-8', 'replace')!r}"
    if not local.name.isascii() and (local.flags ^ flags) & FLAG_UTF8:
        return "its two headers declare different encodings of the name"
    if local.method != method:
        return f"the local header says {method_name(local.method)}, the central directory {method_name(method)}"
    if (local.flags ^ flags) & FLAG_ENCRYPTED:
        return "its two headers disagree on encryption"
    try:
        uncompressed, compressed = resolve_zip64((local.uncompressed_size, local.compressed_size), local.extra)
    except FormatError as error:
        return f"in the local header {error.message}"
    pairs = (
        ("CRC-32", local.crc32, int(columns.crc32s[index])),
        ("stored size", compressed, int(columns.compressed_sizes[index])),
        ("original size", uncompressed, int(columns.uncompressed_sizes[index])),
    )
    for field, here, there in pairs:
        if here != there and not (here == 0 and local.flags & FLAG_DATA_DESCRIPTOR):
            return f"the local header says {field} {here:,}, the central directory {there:,}"
    return None


def _check_bounds(source: ByteSource, columns: Columns, end: EndOfDirectory) -> None:
    """Compare what entries declare with the bytes there are, before anything is read or taken memory for."""
    limit = np.uint64(end.directory_offset)
    # Not `offset + size > limit`, which could wrap around.
    beyond = np.flatnonzero((columns.header_offsets > limit) | (columns.compressed_sizes > limit))
    if len(beyond) == 0:
        beyond = np.flatnonzero(columns.header_offsets + columns.compressed_sizes > limit)
    if len(beyond):
        index = int(beyond[0])
        raise FormatError(
            f"entry {columns.name(index)!r} declares {int(columns.compressed_sizes[index]):,} bytes at "
            f"{int(columns.header_offsets[index]):,}, but the central directory begins at {end.directory_offset:,}",
            path=source.name,
            rule="zip/bounds",
        )

"""The central directory as one array per field: fast to read and small in memory for a million entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ozx.archive.directory import EndOfDirectory, check_headers_before, is_header_at, iter_headers, read_directory
from ozx.archive.names.decoding import entry_name
from ozx.archive.names.table import NameTable
from ozx.archive.records import (
    CENTRAL_HEADER,
    CENTRAL_SIGNATURE,
    LOCAL_HEADER,
    MASK_16,
    MASK_32,
    STORED,
    CentralHeader,
    central_header_length,
    resolve_zip64,
)
from ozx.errors import FormatError
from ozx.places.byte_source import ByteSource

# APPNOTE 4.3.12, as in `records.CENTRAL_HEADER`.
_FIELDS = (
    "signature version_made_by version_needed flags method time date crc32 compressed_size uncompressed_size "
    "name_length extra_length comment_length disk internal_attributes external_attributes header_offset"
)
_TYPES = "u4" + 6 * " u2" + 3 * " u4" + 5 * " u2" + 2 * " u4"
_HEADER = np.dtype(list(zip(_FIELDS.split(), _TYPES.split(), strict=True))).newbyteorder("<")
_SIGNATURE = int.from_bytes(CENTRAL_SIGNATURE, "little")
_LENGTHS_OFFSET = 28  # of name, extra field and comment
_SEARCHED_AT_A_TIME = 1 << 18
# Writers without ZIP64 write offsets and sizes modulo 2**32.
_MODULUS = MASK_32 + 1
# An extra field (4.3.7) and a data descriptor (4.3.9): all that an entry has beside header, name and value.
_MOST_MORE = MASK_16 + 24
# The search reads some local headers for each 4 GiB that the offsets do not show.
_MOST_MISSING = 1 << 12


@dataclass(frozen=True, slots=True)
class Columns(NameTable):
    """The headers of a central directory as columns, with ZIP64 values resolved; row i is entry i.

    `buffer` holds the bytes of the central directory, and `starts` the position of each header in it.
    """

    name_offset: ClassVar[int] = CENTRAL_HEADER.size

    header_offsets: NDArray[np.uint64]  # of the local headers, from the file's first byte
    compressed_sizes: NDArray[np.uint64]
    uncompressed_sizes: NDArray[np.uint64]
    crc32s: NDArray[np.uint32]
    methods: NDArray[np.uint16]
    flags: NDArray[np.uint16]

    def name(self, index: int) -> str:
        """Return the name of entry `index` as text."""
        raw = self.raw_name(index)
        return raw.decode("ascii") if raw.isascii() else entry_name(self.header(index))

    def iter_names(self) -> Iterator[str]:
        """Yield the names of all entries in directory order, with few of them in memory at a time."""
        for first, raw_names in self.iter_name_blocks():
            joined = b"\0".join(raw_names)
            if joined.isascii() and joined.count(b"\0") == len(raw_names) - 1:
                yield from joined.decode("ascii").split("\0")
            else:
                yield from map(self.name, range(first, first + len(raw_names)))

    def names(self) -> list[str]:
        """Return the names of all entries in directory order."""
        return list(self.iter_names())

    def are_folders(self) -> NDArray[np.bool_]:
        """Return for each entry whether its name ends in a slash, which marks a folder."""
        last = np.frombuffer(self.buffer, np.uint8)[self.starts + (CENTRAL_HEADER.size - 1) + self.name_lengths]
        are_folders: NDArray[np.bool_] = (last == ord("/")) & (self.name_lengths > 0)
        return are_folders

    def field(self, dtype: str, offset: int) -> NDArray[Any]:
        """Return the values of the fixed field at `offset` in all headers of the central directory."""
        return gather(self.buffer, dtype, self.starts + offset)

    def header(self, index: int) -> CentralHeader:
        """Return the header of entry `index`; its offset counts from the beginning of the file."""
        header = CentralHeader.from_bytes(self.buffer, int(self.starts[index]))
        return header._replace(
            header_offset=int(self.header_offsets[index]),
            compressed_size=int(self.compressed_sizes[index]),
            uncompressed_size=int(self.uncompressed_sizes[index]),
        )


def read_columns(source: ByteSource, end: EndOfDirectory) -> Columns:
    """Read the central directory of `source` as columns."""
    try:
        columns = parse_columns(read_directory(source, end), end.entries, end.prepended, may_wrap=end.may_wrap)
    except FormatError as error:
        raise error.at(source.name) from None
    if end.is_wrapped:
        _unwrap(source, columns, end.directory_offset)
    last, size = -1, 0
    if len(columns):
        row = int((columns.header_offsets + columns.compressed_sizes).argmax())
        last, size = int(columns.header_offsets[row]), int(columns.compressed_sizes[row])
        size += int(columns.name_lengths[row])
    check_headers_before(source, end.directory_offset, last, size)
    return columns


def iter_resolved_headers(source: ByteSource, end: EndOfDirectory) -> Iterator[CentralHeader]:
    """Yield the headers like `iter_headers`, also if their numbers wrapped."""
    if not end.may_wrap:
        return iter_headers(source, end)
    columns = read_columns(source, end)
    return map(columns.header, range(len(columns)))


def parse_columns(buffer: bytes, entries: int, prepended: int = 0, *, may_wrap: bool = False) -> Columns:
    """Parse a central directory with `entries` headers, modulo 65,536 if `may_wrap`; add `prepended` to all offsets.

    Headers have no fixed length. The function takes each signature for the beginning of a header, then checks that each
    header ends where the next one begins. If this fails, because a name, a number or an extra field contains a
    signature, it drops the signatures at which no header ends. In a block where this fails, too, it follows the
    headers one by one.
    """
    most = len(buffer) // CENTRAL_HEADER.size if may_wrap else entries
    starts, stop = _find_headers(buffer, most)
    is_wrapped = may_wrap and (len(starts) - entries) % (MASK_16 + 1) == 0
    if stop != len(buffer) or not (len(starts) == entries or is_wrapped):
        _check_headers(buffer, most)
        raise FormatError(
            f"the end record declares {entries:,} entries; the central directory has {len(starts):,}",
            rule="zip/directory",
        )
    headers = gather(buffer, _HEADER, starts)
    columns = Columns(
        buffer=buffer,
        starts=starts,
        name_lengths=headers["name_length"].copy(),
        header_offsets=headers["header_offset"].astype(np.uint64),
        compressed_sizes=headers["compressed_size"].astype(np.uint64),
        uncompressed_sizes=headers["uncompressed_size"].astype(np.uint64),
        crc32s=headers["crc32"].copy(),
        methods=headers["method"].copy(),
        flags=headers["flags"].copy(),
    )
    _resolve_zip64(columns, headers)
    if prepended:
        _shift(columns.header_offsets, prepended)
    return columns


def _find_headers(buffer: bytes, entries: int) -> tuple[NDArray[np.int64], int]:
    """Return the positions of the headers, and the end of the last one.

    The search ends where no header follows, or after more than `entries` headers. In blocks: a comparison of the whole
    buffer would take as much memory again.
    """
    last = len(buffer) - CENTRAL_HEADER.size + 1
    found, total, stop = [np.empty(0, np.int64)], 0, 0
    while stop < last and total <= entries:
        count = min(_SEARCHED_AT_A_TIME, last - stop)
        words: NDArray[np.uint32] = np.ndarray((count,), "<u4", buffer, stop, (1,))
        lengths: NDArray[np.uint16] = np.ndarray((count, 3), "<u2", buffer, stop + _LENGTHS_OFFSET, (1, 2))
        places = np.flatnonzero(words == _SIGNATURE)
        ends = places + CENTRAL_HEADER.size + lengths[places].sum(1, dtype=np.int64)
        if not _is_chain(places, ends):  # drop the signatures at which no header ends
            is_end = np.zeros(count, bool)
            is_end[0] = is_end[ends[ends < count]] = True
            places, ends = places[is_end[places]], ends[is_end[places]]
        if _is_chain(places, ends):
            starts, stop = places + stop, int(ends[-1]) + stop
        else:
            starts, stop = _follow_signatures(buffer, stop, stop + count)
        if len(starts) == 0:
            break
        found.append(starts)
        total += len(starts)
    return np.concatenate(found), stop


def _is_chain(places: NDArray[np.int64], ends: NDArray[np.int64]) -> bool:
    return len(places) > 0 and places[0] == 0 and np.array_equal(ends[:-1], places[1:])


def _follow_signatures(buffer: bytes, position: int, stop: int) -> tuple[NDArray[np.int64], int]:
    """Return the positions of the headers that begin before `stop`, and the end of the last one.

    Signatures within names, extra fields and numbers do not count, however many there are.
    """
    starts: list[int] = []
    while position < stop and buffer.startswith(CENTRAL_SIGNATURE, position):
        starts.append(position)
        position += central_header_length(buffer, position)
    return np.array(starts, np.int64), position


def numbers(data: bytes | bytearray, dtype: Any) -> NDArray[Any]:
    """Return a view of `data`; element i is the value of type `dtype` that begins at byte i, aligned or not."""
    kind = np.dtype(dtype)
    return np.ndarray((max(0, len(data) - kind.itemsize + 1),), kind, data, 0, (1,))


def gather(data: bytes | bytearray, dtype: Any, positions: NDArray[np.int64]) -> NDArray[Any]:
    """Return the values of type `dtype` at the byte offsets `positions` of `data`."""
    found: NDArray[Any] = numbers(data, dtype)[positions]
    return found


def _check_headers(buffer: bytes, entries: int) -> None:
    """Raise the error of the first header that is wrong or missing, or of bytes behind the last header."""
    position = count = 0
    while position < len(buffer) and count < entries:
        position, count = position + CentralHeader.from_bytes(buffer, position).length, count + 1
    if position != len(buffer):
        raise FormatError(
            f"the end record declares {count:,} entries, but the central directory has "
            f"{len(buffer) - position:,} bytes after its {count:,} entries",
            rule="zip/directory",
        )


def _shift(offsets: NDArray[np.uint64], prepended: int) -> None:
    if len(offsets) and int(offsets.max()) + prepended > np.iinfo(np.uint64).max:
        raise FormatError(
            f"a local file header lies beyond offset 2**64, because {prepended:,} bytes lie before the archive",
            rule="zip/bounds",
        )
    offsets += np.uint64(prepended)


def _resolve_zip64(columns: Columns, headers: NDArray[np.void]) -> None:
    narrow = ("uncompressed_size", "compressed_size", "header_offset")
    sentinels = np.zeros(len(headers), bool)
    for field in narrow:
        sentinels |= headers[field] == MASK_32
    for index in np.flatnonzero(sentinels).tolist():
        header = headers[index]
        start = int(columns.starts[index]) + CENTRAL_HEADER.size + int(header["name_length"])
        extra = columns.buffer[start : start + int(header["extra_length"])]
        uncompressed, compressed, offset = resolve_zip64(tuple(int(header[field]) for field in narrow), extra)
        columns.uncompressed_sizes[index] = uncompressed
        columns.compressed_sizes[index] = compressed
        columns.header_offsets[index] = offset


def _unwrap(source: ByteSource, columns: Columns, directory_offset: int) -> None:
    """Replace offsets and sizes modulo 2**32 in `columns` by the true ones.

    The Finder of macOS and old versions of minizip write them, although APPNOTE 4.4.1.4 demands ZIP64. Exactly one
    reading must fit: the entries stand in the order of the directory and fill the file up to the directory.
    The size of a deflated value that exceeds 4 GiB is the least possible one; inflating the value proves it.
    """
    offsets, sizes = columns.header_offsets, columns.compressed_sizes
    is_fitting = not offsets[0] and bool((sizes <= directory_offset).all())
    least = sizes.astype(np.int64) + columns.name_lengths + LOCAL_HEADER.size
    rooms = np.diff(np.append(offsets, np.uint64(directory_offset)).astype(np.int64) % _MODULUS) % _MODULUS
    rooms += np.maximum(least - rooms + _MODULUS - 1, 0) // _MODULUS * _MODULUS
    starts = np.append(0, np.cumsum(rooms))
    missing = (directory_offset - int(starts[-1])) // _MODULUS
    if not is_fitting or not 0 <= missing <= _MOST_MISSING:
        raise _contradiction(source)
    starts += _find_shifts(source, columns, starts, missing) * _MODULUS
    more, rest = np.divmod(np.diff(starts) - least, _MODULUS)
    # A number from a ZIP64 field is the true one.
    is_wrong = (rest > _MOST_MORE) | ((offsets >= _MODULUS) & (starts[:-1] != offsets.astype(np.int64)))
    if (is_wrong | ((sizes >= _MODULUS) & (more > 0))).any():
        raise _contradiction(source)
    offsets[:] = starts[:-1]
    for index in np.flatnonzero(more).tolist():
        sizes[index] += more[index].astype(np.uint64) * np.uint64(_MODULUS)
        # 5 bytes precede each stored block of a deflate stream, so that it is hardly longer than its value.
        stored, size = int(sizes[index]), int(columns.uncompressed_sizes[index])
        shortest = stored if columns.methods[index] == STORED else stored - stored // 1024 - 16
        columns.uncompressed_sizes[index] = size + max(0, -((size - shortest) // _MODULUS)) * _MODULUS


def _find_shifts(source: ByteSource, columns: Columns, starts: NDArray[np.int64], missing: int) -> NDArray[np.int64]:
    """Return how often 2**32 is missing in each of `starts`: never in the first one, `missing` times in the last one.

    The value before each increase exceeds 4 GiB. As the numbers never decrease, few local headers need be read.
    """
    shifts = np.full(len(starts), missing)
    pending = [(0, 0, len(starts) - 1)]
    while pending:
        low, first, last = pending.pop()
        high, middle = int(shifts[last]), (first + last) // 2
        if low == high or middle == first:
            shifts[first:last] = low
            continue
        header, start = columns.header(middle), int(starts[middle])
        found = [shift for shift in range(low, high + 1) if is_header_at(source, header, start + shift * _MODULUS)]
        if len(found) != 1:
            raise _contradiction(source)
        shifts[middle] = found[0]
        pending += [(low, first, middle), (found[0], middle, last)]
    return shifts


def _contradiction(source: ByteSource) -> FormatError:
    return FormatError(
        "it exceeds 4 GiB, but has no ZIP64 records, and the numbers in its central directory, modulo 2**32, do not "
        "determine the places of its entries",
        path=source.name,
        rule="zip/directory",
    )


# 4.4.2.2: systems with the attributes of DOS: FAT, HPFS, NTFS (as numbered by APPNOTE and by Info-ZIP) and VFAT.
_DOS_SYSTEMS = (0, 6, 10, 11, 14)
_DOS_VOLUME_LABEL, _DOS_DIRECTORY = 0x08, 0x10
# unzip also looks for labels in entries from Atari.
_LABEL_SYSTEMS = (*_DOS_SYSTEMS, 5)
_UNIX_SYSTEMS = (3, 19)  # 19 is macOS


def find_kinds(columns: Columns, directories: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return the entries that are no regular files by their attributes (APPNOTE 4.4.15), as four arrays of indices.

    Symbolic links; Unix devices, pipes and sockets; folders, without `directories`, whose names end in a slash; volume
    labels.
    """
    # 4.4.2 and 4.4.15: the upper byte names the system of these attributes.
    system, attributes = columns.field("<u2", 4) >> 8, columns.field("<u4", 38)
    # No test of the system: unzip also makes links of entries from VMS, Atari and BeOS, and 7-Zip of entries from DOS.
    symlinks = np.flatnonzero(attributes >> 28 == 0o12)
    kind = (attributes >> 28) * np.isin(system, _UNIX_SYSTEMS)
    is_folder = kind == 0o04
    is_folder |= ((attributes & _DOS_DIRECTORY) != 0) & np.isin(system, _DOS_SYSTEMS)
    is_folder[directories] = False
    is_label = ((attributes & _DOS_VOLUME_LABEL) != 0) & np.isin(system, _LABEL_SYSTEMS)
    special = np.flatnonzero(~np.isin(kind, (0, 0o04, 0o10, 0o12)))
    return symlinks, special, np.flatnonzero(is_folder), np.flatnonzero(is_label)

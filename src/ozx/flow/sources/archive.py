"""Read an archive as a source, and its values as entries."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice

from ozx.archive.directory import END_SEARCH_LENGTH
from ozx.archive.entry_blocks import usual_local_header
from ozx.archive.entry_reading import iter_value
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import LOCAL_SIGNATURE, STORED
from ozx.archive.remote_reading import predicted_data_offset
from ozx.crc32 import crc32
from ozx.errors import FormatError
from ozx.file_changes import shrank
from ozx.flow.entry import (
    BytesPart,
    Entry,
    Part,
    check_no_archive,
    fill_from_blocks,
    find_runs,
    iter_divided,
    iter_single,
)
from ozx.flow.read_ahead import RemoteRange
from ozx.flow.sources.archive_keys import ArchiveKeys
from ozx.places.byte_source import ByteSource, FileSource, MemorySource, OpenFileSource, read_exactly
from ozx.places.positional_reading import MOST_AT_ONCE, MOST_IN_RUN, READ, divided
from ozx.zarr.json_reading import LongDocuments

# The bytes that are requested with a value for its local header; a longer header takes a second request.
_MOST_HEADER = 1 << 12
# Inflated shards are temporary files. Two are kept: one for each of two reading threads.
_MOST_INFLATED = 2


class ArchiveSource:
    """An archive as an `ozx.flow.sources.source.Source`; entries for folders are omitted.

    Every value that is read is checked against its CRC-32. A value is checked as a whole before its first span is
    returned, except for stored values of remote archives and without `checks_before_spans`: these spans are not
    checked.
    """

    def __init__(
        self, reader: ArchiveReader, keys: ArchiveKeys | None = None, *, checks_before_spans: bool = True
    ) -> None:
        self.reader = reader
        self.checks_before_spans = checks_before_spans
        if keys is not None:
            self._keys = keys
        self._checked: set[int] = set()
        self._inflated: OrderedDict[int, OpenFileSource] = OrderedDict()
        self._lock = threading.Lock()
        self._long = LongDocuments()

    @cached_property
    def _keys(self) -> ArchiveKeys:
        return ArchiveKeys.of_files(self.reader.columns)

    @property
    def name(self) -> str:
        """The path or URL of the archive."""
        return self.reader.source.name

    def __contains__(self, key: str) -> bool:
        return self._keys.find(key) is not None

    def iter_keys(self) -> Iterator[str]:
        """Yield the keys in the order in which ozx writes them."""
        return iter(self._keys)

    def size(self, key: str) -> int:
        """Return the length of a value after decompression."""
        return int(self.reader.columns.uncompressed_sizes[self._row(key)])

    def read(self, key: str) -> bytes:
        """Return a value after verifying its CRC-32; raise `FormatError` if it is metadata that is too long."""
        row = self._row(key)
        self._long.check(int(self.reader.columns.uncompressed_sizes[row]), key)
        return self.reader.read(row)

    def part(self, key: str, offset: int = 0, length: int | None = None) -> Part:
        """Return a `Part` that reads a value, or a span of the value."""
        whole = ArchivedPart(self, self._row(key))
        if offset == 0 and length is None:
            return whole
        return whole.span(offset, whole.length - offset if length is None else length)

    def parts(self, keys: Sequence[str]) -> list[Part]:
        """Return a `Part` for each key, which reads the whole value or spans of the value."""
        return [ArchivedPart(self, row) for row in self._keys.find_all(keys)]

    def entry(self, key: str) -> Entry:
        """Return the value of a key as an entry.

        Reading raises `FormatError` if the value is a ZIP archive itself (``rfc9/not-embedded``): a check now would
        cost a read, or a round trip, for each entry.
        """
        return Entry(key, (ArchivedPart(self, self._row(key), key),))

    def check_not_embedded(self, key: str, tail: bytes) -> None:
        """Check that a value that begins like an archive does not also end like an archive; see `check_no_archive`."""
        hint = "Unpack the file, move the inner archive out of the folder, then pack the folder."
        check_no_archive(tail, key, self.name, hint)

    def check_unchanged(self) -> None:
        """Raise `FormatError` (``zip/changed``) if the archive changed since the first read."""
        self.reader.source.check_unchanged()

    def check_value(self, row: int) -> None:
        """Verify the CRC-32 of a value once, before spans of the value are read."""
        if row not in self._checked:
            if self.reader.columns.methods[row] == STORED:
                _check_stored(self.reader, row)
            else:
                self.inflated(row)
            self._checked.add(row)

    def inflated(self, row: int) -> OpenFileSource:
        """Return a seekable copy of a deflated value; the last few copies are cached."""
        with self._lock:
            value = self._inflated.pop(row, None) or _inflate(self.reader, row)
            self._inflated[row] = value
            if len(self._inflated) > _MOST_INFLATED:
                self._inflated.popitem(last=False)
            return value

    def _row(self, key: str) -> int:
        row = self._keys.find(key)
        if row is None:
            raise KeyError(key)
        return row


@dataclass(frozen=True, slots=True)
class ArchivedPart:
    """The value of an entry, decompressed if needed; reading verifies its CRC-32."""

    source: ArchiveSource
    index: int
    # Of a value that must not be a ZIP archive itself, which RFC-9 forbids (``rfc9/not-embedded``): reading checks it.
    key: str | None = None

    @property
    def reader(self) -> ArchiveReader:
        """The archive."""
        return self.source.reader

    @property
    def length(self) -> int:
        """The number of bytes after decompression."""
        return int(self.reader.columns.uncompressed_sizes[self.index])

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the value in blocks; raise the same errors as `ArchiveReader.read`."""
        blocks = self.reader.iter_blocks(self.index)
        return blocks if self.key is None else self._iter_checked(self.key, blocks)

    def span(self, offset: int, length: int) -> _ArchivedSpan:
        """Return a span of the value, after verifying the CRC-32 of the whole value.

        A stored value is not verified in a remote archive, and without `ArchiveSource.checks_before_spans`.
        """
        reader = self.reader
        is_checked = isinstance(reader.source, FileSource) and self.source.checks_before_spans
        if is_checked or reader.columns.methods[self.index] != STORED:
            self.source.check_value(self.index)
        if self.key is not None and offset == 0 and is_checked and reader.read(self.index, 0, 4) == LOCAL_SIGNATURE:
            self.source.check_not_embedded(self.key, reader.read(self.index, max(0, self.length - END_SEARCH_LENGTH)))
        return _ArchivedSpan(self.source, self.index, offset, length)

    def place(self) -> RemoteRange | None:
        """Return the remote span of the entry with its local header; None for a local archive."""
        reader, index = self.reader, self.index
        if isinstance(reader.source, FileSource):
            return None
        header, limit = reader.columns.header(index), reader.end_of_room(index)
        start = header.header_offset
        stop = min(limit, start + header.compressed_size + _MOST_HEADER)  # bytes that belong to no entry may follow

        def take(offset: int, data: bytes) -> bytes:
            try:
                value = b"".join(iter_value(MemorySource(data, reader.source.name, offset), header, limit))
            except FormatError:
                if stop == limit:
                    raise
                value = b"".join(reader.iter_blocks(index))  # its local header is longer
            self._check_not_embedded(value)
            return value

        return RemoteRange(reader.source, start, stop, partial(read_exactly, reader.source, what="an entry"), take)

    def read_into(self, *views: memoryview) -> None:
        """Fill `views` with the value, a single one directly from the file if possible; see `entry.read_into`."""
        if len(views) == 1:
            self.read_run([(self,)], views, 0)
        else:
            fill_from_blocks(self, *views)

    def read_run(self, values: Sequence[Sequence[Part]], views: Sequence[memoryview], first: int) -> list[int]:
        """Read this value into ``views[first]``, and those of `values` that follow it in the file into the next views.

        One call reads them all, if possible. Return the CRC-32 of each; ``values[first]`` consists of this part.
        """
        run = _find_run(self, values, first)
        headers = _read_vectors(self.reader, run, views[first : first + len(run)])
        checksums = []
        for number, (part, expected) in enumerate(run):
            view = views[first + number]
            # Parsing a header takes five times as long as comparing it with the expected one.
            if not headers or headers[number] != expected:
                part.read_alone(view)
            checksums.append(part.checked_crc32(view))
        return checksums

    def read_alone(self, view: memoryview) -> None:
        """Fill `view` with the value, after parsing the local header."""
        if self.reader.columns.methods[self.index] == STORED:
            _read_into(self.reader.source, [view], self.reader.data_offset(self.index))
        else:
            fill_from_blocks(self, view)

    def checked_crc32(self, value: memoryview) -> int:
        """Return the CRC-32 of the value that was read; raise an error if it is not that of the entry."""
        self._check_not_embedded(value)
        checksum = crc32(value)
        self.reader.check_crc32(self.index, checksum)
        return checksum

    def _iter_checked(self, key: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
        end, begins = b"", None
        for block in blocks:
            begins = block.startswith(LOCAL_SIGNATURE) if begins is None else begins
            if begins:
                end = (end + block)[-END_SEARCH_LENGTH:]
            yield block
        if begins:
            self.source.check_not_embedded(key, end)

    def _check_not_embedded(self, value: bytes | memoryview) -> None:
        if self.key is not None and value[: len(LOCAL_SIGNATURE)] == LOCAL_SIGNATURE:
            self.source.check_not_embedded(self.key, bytes(value[-END_SEARCH_LENGTH:]))


def iter_entries(reader: ArchiveReader, indices: Iterable[int]) -> Iterator[Entry]:
    """Yield the entries with `indices`; each value is read, decompressed and checked on access."""
    source = ArchiveSource(reader)
    for index in indices:
        yield Entry(reader.columns.name(index), (ArchivedPart(source, index),))


@dataclass(frozen=True, slots=True)
class _ArchivedSpan:
    """A span of an entry's value."""

    source: ArchiveSource
    index: int
    offset: int
    length: int

    def iter_blocks(self) -> Iterator[bytes]:
        return iter_divided(self)

    def span(self, offset: int, length: int) -> _ArchivedSpan:
        return _ArchivedSpan(self.source, self.index, self.offset + offset, length)

    def place(self) -> RemoteRange | None:
        reader, index = self.source.reader, self.index
        if isinstance(reader.source, FileSource) or reader.columns.methods[index] != STORED:
            return None
        start, length = _data_offset(reader, index) + self.offset, self.length

        def take(offset: int, data: bytes) -> bytes:
            return data[start - offset : start - offset + length]

        return RemoteRange(
            reader.source, start, start + length, partial(read_exactly, reader.source, what="an entry"), take
        )

    def read_run(self, values: Sequence[Sequence[Part]], views: Sequence[memoryview], first: int) -> list[None]:
        """Read this span, and those that follow in `values`, in the order of the file; see `FileSpan.read_run`."""
        spans = [*iter_single(_ArchivedSpan, values, first)]
        for run in find_runs([((id(span.source), span.index), span.offset, span.length) for span in spans]):
            span = spans[run[0]]
            length = sum([spans[row].length for row in run])
            span.span(0, length).read_into(*[views[first + row] for row in run])
        return [None] * len(spans)

    def read_into(self, *views: memoryview) -> None:
        reader = self.source.reader
        if reader.columns.methods[self.index] == STORED:
            _read_into(reader.source, views, _data_offset(reader, self.index) + self.offset)
        else:
            _read_into(self.source.inflated(self.index), views, self.offset)


def _inflate(reader: ArchiveReader, index: int) -> OpenFileSource:
    """Decompress a value into a temporary file, from which all spans are read."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the source)
    value = OpenFileSource(file)
    weakref.finalize(value, file.close)
    for block in reader.iter_blocks(index):
        file.write(block)
    return value


def _data_offset(reader: ArchiveReader, index: int) -> int:
    """Return the offset of a stored value.

    The local header is read only if the central directory does not suffice.
    """
    if not isinstance(reader.source, FileSource):
        predicted = predicted_data_offset(reader.columns, index, reader.end_of_room(index))
        if predicted >= 0:
            return predicted
    return reader.data_offset(index)


def _read_into(source: ByteSource, views: Sequence[memoryview], offset: int) -> None:
    length = sum(map(len, views))
    if not isinstance(source, FileSource):
        fill_from_blocks(BytesPart(read_exactly(source, offset, length, "an entry")), *views)
    elif source.read_vectors_at(views, offset) != length:
        raise shrank(source.name)


def _find_run(part: ArchivedPart, values: Sequence[Sequence[Part]], first: int) -> list[tuple[ArchivedPart, bytes]]:
    """Return a part and the values that follow it without a gap, each with its usual local header.

    If the header of the first part is unpredictable, the part is the whole run, with empty bytes for its header.
    """
    reader, columns = part.reader, part.reader.columns
    run: list[tuple[ArchivedPart, bytes]] = []
    position = int(columns.header_offsets[part.index])
    for parts in islice(values, first, first + MOST_IN_RUN):
        following = parts[0] if len(parts) == 1 else None
        if not isinstance(following, ArchivedPart) or following.reader is not reader:
            break
        index = following.index
        if columns.methods[index] != STORED or columns.header_offsets[index] != position:
            break
        if not (expected := usual_local_header(columns, index)):
            break
        run.append((following, expected))
        position += len(expected) + following.length
    # Entries without a gap end where the next one begins; only the last one may extend too far.
    if run and position > reader.end_of_room(run[-1][0].index):
        run.pop()
    return run or [(part, b"")]


def _read_vectors(
    reader: ArchiveReader, run: Sequence[tuple[ArchivedPart, bytes]], views: Sequence[memoryview]
) -> list[bytearray]:
    """Read the local headers and values of a run by one call; return the headers, or nothing if this is impossible."""
    source, preadv = reader.source, getattr(os, "preadv", None)
    headers = [bytearray(len(expected)) for _, expected in run]
    if preadv is None or not isinstance(source, FileSource) or not headers[0]:
        return []
    vectors = [*chain.from_iterable(zip(headers, views, strict=True))]
    if sum(map(len, vectors)) > MOST_AT_ONCE:
        return []
    count = preadv(source.descriptor(), vectors, int(reader.columns.header_offsets[run[0][0].index]))
    return headers if count == sum(map(len, vectors)) else []


def _check_stored(reader: ArchiveReader, row: int) -> None:
    offset, size = reader.data_offset(row), int(reader.columns.uncompressed_sizes[row])
    buffer, checksum = memoryview(bytearray(min(READ, size))), 0
    for start, length in divided(offset, size, READ):
        view = buffer[:length]
        _read_into(reader.source, [view], start)
        checksum = crc32(view, checksum)
    reader.check_crc32(row, checksum)

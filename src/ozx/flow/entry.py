"""Entries: store keys with values that are read later, or kept in a spool until they are written."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, groupby, islice, pairwise
from typing import IO, Any, NamedTuple, Protocol, TypeVar

from ozx.archive.directory import ends_archive
from ozx.errors import FormatError, name_error
from ozx.file_changes import FileMark, changed, mark_of, other_length, regular_mark
from ozx.places.positional_reading import MOST_IN_RUN, READ, divided, open_for_reading, read_vectors_at

P = TypeVar("P")


class Part(Protocol):
    """A value, or a byte range of a value: in memory, or read later from a file or a server."""

    @property
    def length(self) -> int:
        """The number of bytes in the part."""

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the bytes; blocks from a file have at most about 1 MiB."""


class Span(Part, Protocol):
    """A `Part` of which any byte range can be read separately."""

    def span(self, offset: int, length: int) -> Span:
        """Return the range of `length` bytes from `offset` in this span, without reading the bytes."""


def iter_divided(span: Span) -> Iterator[bytes]:
    """Yield the bytes of a span in blocks, read through one reused buffer."""
    buffer = memoryview(bytearray(min(READ, span.length)))
    for offset, length in divided(0, span.length, READ):
        read_into(span.span(offset, length), buffer[:length])
        yield bytes(buffer[:length])


@dataclass(frozen=True, slots=True)
class BytesPart:
    """A part whose bytes are in memory."""

    data: bytes | bytearray | memoryview

    @property
    def length(self) -> int:
        """The number of bytes."""
        return len(self.data)

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the bytes."""
        yield bytes(self.data)

    def span(self, offset: int, length: int) -> BytesPart:
        """Return the range of `length` bytes from `offset`."""
        return BytesPart(self.data[offset : offset + length])


class LazyPart(NamedTuple):
    """A part whose blocks a function reads or makes."""

    length: int
    iter_blocks: Callable[[], Iterator[bytes]]
    place: Callable[[], Any] | None = None  # of bytes on a server, see `ozx.flow.read_ahead.place_of`


class FileSpan(NamedTuple):
    """A span of a file that must not change; spans are tuples, to save memory in lists of a million spans."""

    path: str  # the file
    offset: int  # the span in the file
    length: int
    mark: FileMark  # the required mark of the file

    @classmethod
    def of_file(cls, path: str) -> FileSpan:
        """Return a span of the whole file in its current state."""
        mark = regular_mark(os.stat(path), path)
        return cls(path, 0, mark[0], mark)

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the bytes; raise `FormatError` (``zip/changed``) if the file changed."""
        return iter_divided(self)

    def span(self, offset: int, length: int) -> FileSpan:
        """Return the range of `length` bytes from `offset` in this span."""
        return FileSpan(self.path, self.offset + offset, length, self.mark)

    def read_into(self, *views: memoryview) -> None:
        """Fill `views` with the span's bytes, directly from the file; together, they must have the span's length."""
        _read_file(self.path, self.mark, [(self.offset, views)])

    def read_run(self, values: Sequence[Sequence[Part]], views: Sequence[memoryview], first: int) -> list[None]:
        """Read this span into ``views[first]``, and those that follow in `values`, in the order of their files.

        Each file is opened once, and adjacent spans are read by one call. ``values[first]`` consists of this span.
        """
        spans = [*iter_single(FileSpan, values, first)]
        runs = find_runs([((span.path, span.mark), span.offset, span.length) for span in spans])
        for (path, mark), pieces in groupby(runs, lambda run: (spans[run[0]].path, spans[run[0]].mark)):
            _read_file(path, mark, [(spans[run[0]].offset, [views[first + row] for row in run]) for run in pieces])
        return [None] * len(spans)


def _read_file(path: str, mark: FileMark, pieces: Iterable[tuple[int, Sequence[memoryview]]]) -> None:
    """Fill the views of each piece from its offset in a file; raise `FormatError` if the file changed."""
    descriptor = open_for_reading(path)
    try:
        before = os.fstat(descriptor)
        # Never read from a pipe that replaced the file.
        is_same = mark_of(before) == mark and all(
            read_vectors_at(descriptor, views, offset) == sum(map(len, views)) for offset, views in pieces
        )
        after = os.fstat(descriptor)
    except OSError as error:
        name_error(error, path)
        raise
    finally:
        os.close(descriptor)
    if not is_same or mark_of(after) != mark:
        raise changed(path)


def iter_single(kind: type[P], values: Sequence[Sequence[Part]], first: int) -> Iterator[P]:
    """Yield the parts of the values from `first` on, as long as each consists of one part of this kind."""
    for parts in islice(values, first, None):
        if len(parts) != 1 or not isinstance(part := parts[0], kind):
            return
        yield part


def find_runs(places: Sequence[tuple[Any, int, int]]) -> Iterator[list[int]]:
    """Yield the rows of adjacent spans, in file order; a place is a file, an offset and a length."""
    run: list[int] = []
    end: tuple[Any, int] | None = None
    for row in sorted(range(len(places)), key=places.__getitem__):
        file, offset, length = places[row]
        if run and (end != (file, offset) or len(run) == MOST_IN_RUN):
            yield run
            run = []
        run.append(row)
        end = (file, offset + length)
    if run:
        yield run


@dataclass(frozen=True, slots=True)
class Entry:
    """A store key with its value, which consists of one or more consecutive parts."""

    key: str
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """The length of the value in bytes."""
        return sum(part.length for part in self.parts)

    def iter_blocks(self) -> Iterator[bytes]:
        """Yield the value in blocks."""
        for part in self.parts:
            yield from part.iter_blocks()


def read_part(part: Part) -> bytes:
    """Return all bytes of a part that fits into memory."""
    return b"".join(part.iter_blocks())


def read_into(part: Part, *views: memoryview) -> None:
    """Fill `views` with the part's bytes, one after the other, without a copy if the part supports it.

    Together, `views` must have the part's length.
    """
    fill = getattr(part, "read_into", None)
    if fill is None:
        fill_from_blocks(part, *views)
    else:
        fill(*views)


def read_values(values: Sequence[Sequence[Part]], views: Sequence[memoryview]) -> list[int | None]:
    """Fill each view with the value of the same place; read neighbours in a file together.

    Return the CRC-32s of those values that reading has verified.
    """
    checksums: list[int | None] = []
    while (place := len(checksums)) < len(values):
        parts, view = values[place], views[place]
        if len(parts) == 1 and hasattr(parts[0], "read_run"):
            checksums += parts[0].read_run(values, views, place)
            continue
        if len(parts) == 1:
            read_into(parts[0], view)
        else:
            ends = [*accumulate(part.length for part in parts)]
            read_values([(part,) for part in parts], [view[start:end] for start, end in pairwise([0, *ends])])
        checksums.append(None)
    return checksums


def fill_from_blocks(part: Part, *views: memoryview) -> None:
    """Fill `views` from the blocks that the part yields."""
    found, following, view = 0, iter(views), memoryview(b"")
    for block in part.iter_blocks():
        found += len(block)
        rest = memoryview(block)
        while rest and (view := view or next(following, view)):
            view[: len(rest)] = rest[: len(view)]
            rest, view = rest[len(view) :], view[len(rest) :]
    if found != (wanted := sum(map(len, views))):
        raise other_length(wanted, found)


def check_no_archive(
    tail: bytes, name: str, path: str, hint: str = "Move it out of the directory, then pack again."
) -> None:
    """Raise `FormatError` (``rfc9/not-embedded``) if a value that begins like an archive also ends like an archive.

    RFC-9 (R2, 2026-04-20): "OME-Zarr zip files SHALL NOT be embedded in a parent OME-Zarr hierarchy". A chunk may
    begin with the signature of a local file header by chance, but does not also end in an end record.
    """
    if ends_archive(tail):
        message = f"{name} is a ZIP archive inside the hierarchy, which RFC-9 forbids"
        raise FormatError(message, path=path, rule="rfc9/not-embedded", hint=hint)


# Hold values until they are written: in memory up to a limit, beyond that limit in a temporary file.

_IN_MEMORY = 128 << 20


def open_spool() -> Callable[[bytes], Part]:
    """Return a function that keeps a value and returns a `Part`, by which the value can be read as long as it exists.

    The first values stay in memory; those beyond a limit are written to a temporary file.
    """
    import tempfile  # noqa: PLC0415 (few runs need it)

    lock, file, room, size = threading.Lock(), None, _IN_MEMORY, 0

    def iter_blocks(kept: IO[bytes], offset: int, length: int) -> Iterator[bytes]:
        for start, count in divided(offset, length, READ):
            with lock:
                kept.seek(start)
                block = kept.read(count)
            yield block

    def keep(data: bytes) -> Part:
        nonlocal file, room, size
        if len(data) <= room:
            room -= len(data)
            return BytesPart(data)
        with lock:
            if file is None:
                file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the last part)
                weakref.finalize(iter_blocks, file.close)
            file.seek(size)
            file.write(data)
            part = LazyPart(len(data), partial(iter_blocks, file, size, len(data)))
            size += len(data)
            return part

    return keep

"""The chunks of unfinished shards: in memory, or in the file ``NAME.partial.chunks``.

The file has one ZIP entry for each chunk, but no central directory. An entry is named ``ARRAY/PLACE``, such as
``0/31.0.2.2``; the last entry of a name counts. A draft is a chunk that still lacks frames; it never follows the
complete chunk. The file exists only while its chunks are needed.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ozx.archive.names.decoding import encode_name
from ozx.archive.writer import local_header
from ozx.atomic.syncing import flush
from ozx.atomic.targets import check_regular
from ozx.atomic.temporary import name_beside
from ozx.crc32 import crc32
from ozx.errors import FormatError
from ozx.flow.entry import BytesPart, LazyPart, Part
from ozx.places.positional_reading import read_into_at
from ozx.places.positional_writing import write_parts_at

_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
# The file is only written again when chunks that are no longer needed take more bytes than this.
_MOST_UNUSED = 64 << 20


def chunks_path(target: str) -> str:
    """Return the path of the file for the chunks of unfinished shards of `target`."""
    return chunks_of(name_beside(target, ".partial"))


def chunks_of(partial: str) -> str:
    """Return the path of the chunks file that belongs to the partial file `partial`."""
    return f"{partial}.chunks"


def put_aside(target: str, left_behind: str | None) -> None:
    """Rename the chunks file of an earlier writer to match `left_behind`, the new path of that writer's partial file.

    If `left_behind` is None, remove the chunks file. In both cases, remove the new file of an interrupted rewrite: the
    chunks file has all chunks until the rewrite is complete.
    """
    path = chunks_path(target)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_rewritten(path))
    with contextlib.suppress(FileNotFoundError):
        if left_behind is None:
            os.unlink(path)
        else:
            os.replace(path, chunks_of(left_behind))


def _rewritten(path: str) -> str:
    """Return the path of the new file during a rewrite of the chunks file `path`."""
    return f"{path}.new"


@dataclass(slots=True, eq=False)
class KeptChunk:
    """A chunk of an unfinished shard: its bytes in memory, the offset of its bytes in the file, or both."""

    name: str
    length: int
    data: bytes | memoryview | None
    offset: int | None = None


class OpenChunks:
    """The chunks of a stream's unfinished shards; thread-safe."""

    def __init__(self, path: str, most: int) -> None:
        self.path, self._most = path, most
        self.in_memory = 0
        self._file: int | None = None
        self._is_created = self._is_closed = False
        self._end = 0
        # The chunks that the file must keep, by name: the drafts of the last `save`, complete chunks, and chunks that
        # were released after the last `sync`: their shards may not be on disk.
        self._drafts: dict[str, KeptChunk] = {}
        self._saved: dict[str, KeptChunk] = {}
        self._released: dict[str, KeptChunk] = {}
        self._lock = threading.RLock()

    def keep(self, name: str, data: bytes | memoryview) -> KeptChunk:
        """Keep a chunk in memory, or in the file if the memory is full.

        `data` must not be changed from now on.
        """
        chunk = KeptChunk(name, len(data), None)
        with self._lock:
            if self.in_memory + len(data) <= self._most:
                self.in_memory += len(data)
                chunk.data = data
            else:
                self._save(chunk, data)
        return chunk

    def part(self, chunk: KeptChunk) -> Part:
        """Return a chunk as a part of its shard; a chunk that is in the file is read when the part is read."""

        def blocks() -> Iterator[bytes]:
            yield self.read(chunk)

        with self._lock:
            return LazyPart(chunk.length, blocks) if chunk.data is None else BytesPart(chunk.data)

    def read(self, chunk: KeptChunk) -> bytes:
        """Read a chunk from the file."""
        data = bytearray(chunk.length)
        with self._lock:
            count = read_into_at(self._descriptor(), memoryview(data), chunk.offset or 0)
        if count != chunk.length:
            raise FormatError(
                f"expected {chunk.length:,} bytes of the chunk {chunk.name}; the file was cut off", path=self.path
            )
        return bytes(data)

    def release(self, chunks: Iterable[KeptChunk]) -> None:
        """Release chunks whose shard has been written."""
        with self._lock:
            for chunk in chunks:
                if self._saved.pop(chunk.name, None) is not None:
                    self._released[chunk.name] = chunk
                self.in_memory -= 0 if chunk.data is None else chunk.length
                chunk.data = None

    def save(self, chunks: Sequence[KeptChunk], drafts: Iterable[tuple[str, bytes | memoryview]]) -> None:
        """Write `drafts` (chunks that lack frames), and those `chunks` that are only in memory, to the file."""
        for chunk in chunks:
            with self._lock:
                if chunk.offset is None and chunk.data is not None:
                    self._save(chunk, chunk.data)
        self._drafts = {}
        for name, data in drafts:
            with self._lock:
                if name not in self._saved and name not in self._released:
                    self._drafts[name] = self._append(KeptChunk(name, len(data), None), data)

    def sync(self) -> None:
        """Wait until the chunks in the file are on disk."""
        with self._lock:
            self._released = {}
            if self._is_created:
                flush(self._descriptor())

    def drop_unneeded(self) -> None:
        """Rewrite the file if most of its chunks are no longer needed.

        Call this after `sync`, when the shards of the chunks released before `sync` are on disk too. The new file has
        the drafts of the last `save`, and the chunks whose shards may not be on disk. It replaces the old file when it
        is complete; after an error, the old file stays in use.
        """
        with self._lock:
            needed = list((self._drafts | self._released | self._saved).values())
            size = sum(chunk.length for chunk in needed)
            if self._end - size > max(_MOST_UNUSED, size):
                self._rewrite(needed)

    def close(self, *, keep: bool) -> None:
        """Close the file, and remove it unless `keep` is true; ignore errors of the removal."""
        with self._lock:
            self._is_closed = True
            if keep:
                self._close()
                return
            with contextlib.suppress(OSError):
                self._close()
            with contextlib.suppress(OSError):
                os.unlink(self.path)

    def _save(self, chunk: KeptChunk, data: bytes | memoryview) -> None:
        self._saved[chunk.name] = self._append(chunk, data)

    def _append(self, chunk: KeptChunk, data: bytes | memoryview) -> KeptChunk:
        """Write a chunk at the end of the file; return the chunk, with its offset set."""
        raw_name, flags = encode_name(chunk.name)
        header = local_header(raw_name, flags, crc32(data), len(data))
        write_parts_at(self._descriptor(), [header, memoryview(data)], self._end)
        chunk.offset = self._end + len(header)
        self._end += len(header) + len(data)
        return chunk

    def _rewrite(self, chunks: Sequence[KeptChunk]) -> None:
        other = OpenChunks(_rewritten(self.path), 0)
        try:
            other._open()
            copies = [other._append(KeptChunk(chunk.name, chunk.length, None), self.read(chunk)) for chunk in chunks]
            other.sync()
            # Windows cannot replace an open file. The next access opens the file again: the new one, or the old one
            # after an error.
            other._close()
            self._close()
            os.replace(other.path, self.path)
        except BaseException:
            other.close(keep=False)
            raise
        self._end = other._end
        for chunk, copy in zip(chunks, copies, strict=True):
            chunk.offset = copy.offset

    def _open(self) -> int:
        if self._is_closed:
            raise RuntimeError("the file for chunks is closed")
        check_regular(self.path)
        # Only the first call may create or empty the file. Later, the file has chunks that are perhaps reported as
        # durable, and an empty file in place of a removed file would hide their loss.
        flags = _FLAGS if self._is_created else _FLAGS | os.O_CREAT | os.O_TRUNC
        self._file = os.open(self.path, flags, 0o600)
        self._is_created = True
        return self._file

    def _descriptor(self) -> int:
        return self._open() if self._file is None else self._file

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

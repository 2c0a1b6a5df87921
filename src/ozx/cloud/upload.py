"""Upload of one object in parts, or of an archive while it is written; it appears complete or not at all.

Bytes are written in order. Only a local header is written a second time, when the CRC-32 of its value is known. A part
that contains such a header is held back until then. Other parts are sent meanwhile.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from typing import IO, Any, Self

from ozx.archive.writer import LOCAL_OVERHEAD, ArchiveWriter
from ozx.cloud.s3 import S3Object, check_made, exists_error, was_made
from ozx.errors import FormatError, ResourceError, UsageError
from ozx.places.remote.errors import printable_url
from ozx.places.remote.urls import check_object_url

_MIB = 1 << 20
_USUAL_PART, _READ = 16 * _MIB, 8 * _MIB
# A longer part is kept in a temporary file, because seven may exist: four are sent at a time, one is filled, and up to
# two wait for a CRC-32.
_IN_MEMORY = 32 * _MIB
_THREADS = 4
_MOST_PARTS = 10_000


def part_size_for(expected: int) -> int:
    """Return the length of a part for an object of about `expected` bytes."""
    # The size is an estimate: a larger object (by a quarter) must also fit into the number of parts.
    least = -(-expected * 5 // 4 // _MOST_PARTS)
    return max(_USUAL_PART, -(-least // _MIB) * _MIB)


class Upload:
    """An upload of an object to a URL; `finish` makes the object visible, `abort` ends the upload without an object."""

    def __init__(
        self,
        url: str,
        *,
        expected: int = 0,
        force: bool = False,
        options: Mapping[str, Any] | None = None,
        mark: str | None = None,
    ) -> None:
        self.url = url
        self.name = printable_url(url)
        check_object_url(url)
        self._client = S3Object(url, options)
        self._force = force
        self._part_size = part_size_for(expected)
        self._mark = mark or uuid.uuid4().hex
        self._has_begun = False
        self._threads = ThreadPoolExecutor(_THREADS, "ozx-upload")
        self._sending: dict[Future[None], IO[bytes]] = {}
        self._buffers: dict[int, IO[bytes]] = {}  # parts that are not sent yet, by number from 0
        self._held: tuple[int, int] | None = None
        self._end = 0
        if not force and self._client.find() is not None:
            raise exists_error(url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Finish the upload; abort it if finishing fails, or after an exception in the ``with`` block."""
        try:
            if kind is None:
                self.finish()
                return
        except BaseException:
            self.abort()
            raise
        self.abort()

    def write_at(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write bytes at the end of the object, or overwrite bytes in parts that `hold` keeps back."""
        if offset > self._end:
            raise ValueError(f"expected an offset of at most {self._end}; got {offset}")
        view = memoryview(data)
        while view:
            number, start = divmod(offset, self._part_size)
            length = min(len(view), self._part_size - start)
            buffer = self._buffers.get(number)
            if buffer is None:
                if offset < self._end:
                    raise ValueError(f"part {number} was sent already")
                buffer = self._buffers[number] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (see _send)
            buffer.seek(start)
            buffer.write(view[:length])
            offset, view = offset + length, view[length:]
            self._end = max(self._end, offset)
            self._send_full()

    def hold(self, offset: int, length: int) -> None:
        """Hold back the parts that contain these bytes until `release`, because the bytes will be overwritten."""
        self._held = (offset, offset + length)

    def release(self) -> None:
        """Send the complete parts that `hold` kept back."""
        self._held = None
        self._send_full()

    def finish(self) -> int:
        """Complete the upload and return the length of the object in bytes."""
        self._held = None
        try:
            if not self._has_begun:
                with closing(self._buffers.pop(0) if self._end else tempfile.SpooledTemporaryFile()) as body:
                    body.seek(0)
                    self._client.put(body, self._mark, replace=self._force)
            else:
                for number in sorted(self._buffers):
                    self._send(number)
                self._wait(0)
                self._client.complete(-(-self._end // self._part_size))
        except (UsageError, ResourceError):
            if not was_made(self._client, self._mark):  # a lost reply: the object may be there
                raise
        check_made(self._client.find(), self._end, self._mark, self.name)
        self._threads.shutdown()
        return self._end

    def abort(self) -> None:
        """Abort the upload; no data stays on the server, unless the server refuses to abort."""
        self._threads.shutdown(cancel_futures=True)
        for buffer in (*self._buffers.values(), *self._sending.values()):
            buffer.close()
        self._buffers.clear()
        self._sending.clear()
        if self._has_begun:
            self._client.abort()

    def _send_full(self) -> None:
        """Send the complete parts, except those that `hold` keeps back."""
        for number in sorted(self._buffers):
            begin, end = number * self._part_size, (number + 1) * self._part_size
            is_held = self._held is not None and begin < self._held[1] and self._held[0] < end
            if end <= self._end and not is_held:
                self._send(number)

    def _send(self, number: int) -> None:
        if number >= _MOST_PARTS:
            raise ResourceError(
                f"expected at most {_MOST_PARTS * self._part_size:,} bytes; the object has more",
                path=self.name,
                hint="Write a local file, then copy it to the bucket.",
            )
        if not self._has_begun:
            self._client.begin(self._mark, replace=self._force)
            self._has_begun = True
        self._wait(_THREADS - 1)
        buffer = self._buffers.pop(number)
        self._sending[self._threads.submit(self._send_part, number, buffer)] = buffer

    def _send_part(self, number: int, buffer: IO[bytes]) -> None:
        with closing(buffer):
            buffer.seek(0)
            self._client.send(number, buffer)

    def _wait(self, most: int) -> None:
        """Wait until at most `most` parts are being sent; raise the error of a failed part."""
        while len(self._sending) > most:
            for future in wait(self._sending, return_when=FIRST_COMPLETED).done:
                del self._sending[future]
                future.result()


def check_absent(url: str, options: Mapping[str, Any] | None = None) -> None:
    """Raise an error if the object at a URL already exists; `options` are the options of `Upload`."""
    check_object_url(url)
    if S3Object(url, options).find() is not None:
        raise exists_error(url)


class UploadWriter(ArchiveWriter):
    """Writer of one archive to an upload; the caller must finish or abort the upload."""

    def __init__(self, upload: Upload) -> None:
        super().__init__(-1)
        self._upload = upload

    def add_blocks(self, name: str, size: int, blocks: Iterable[bytes | memoryview]) -> None:
        """Write one entry from blocks; send the part that contains the local header as soon as the CRC-32 is known."""
        self._upload.hold(self.offset, LOCAL_OVERHEAD + len(name.encode("utf-8", "surrogateescape")))
        super().add_blocks(name, size, blocks)
        self._upload.release()

    def copy(self, source: int, source_offset: int, length: int) -> None:
        """Append bytes of another file; the caller must add the headers of the copied entries to `directory`."""
        with open(source, "rb", closefd=False) as file:
            file.seek(source_offset)
            while length:
                block = file.read(min(length, _READ))
                if not block:
                    raise FormatError(f"expected {length:,} more bytes; the file ends", rule="zip/changed")
                self._append(block)
                length -= len(block)

    def _write(self, pieces: Sequence[bytes | bytearray | memoryview], offset: int) -> None:
        for piece in pieces:
            self._upload.write_at(offset, piece)
            offset += len(piece)

"""Upload of one S3 object in parts; the object becomes visible only when it is complete.

Bytes arrive in order, but for local headers, which are written again once the CRC-32 of their value is known. A part
that holds such a header waits for it; the others are sent meanwhile.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import uuid
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from ozx.archive.remote.errors import printable_url
from ozx.archive.remote.s3 import client_errors, error_code_of, explain_client_error, open_client, split_object_url
from ozx.archive.remote.upload_records import UploadRecord, recorded_uploads
from ozx.errors import ResourceError, UsageError

__all__ = ["Upload", "abort_upload", "check_absent", "part_size_for"]

_MIB = 1 << 20
# The limits of S3 for parts: their number, and the least length of all but the last.
_MOST_PARTS = 10_000
_LEAST_PART = 5 * _MIB
_USUAL_PART = 16 * _MIB
# A longer part is kept in a temporary file: five of them are in use at a time.
_IN_MEMORY = 64 * _MIB
_THREADS = 4
# The metadata of the object that says which upload made it, to recognise it after a lost reply.
_MARK = "ozx-upload"
_EXISTS = ("PreconditionFailed", "412", "ConditionalRequestConflict", "409")


def part_size_for(expected: int) -> int:
    """Return the part size for an object of about `expected` bytes.

    Examples
    --------
    >>> part_size_for(10**9) >> 20, part_size_for(5 * 10**12) >> 20
    (16, 597)
    """
    # The size is an estimate: a fifth more must fit into the number of parts.
    least = -(-expected * 5 // 4 // _MOST_PARTS)
    return max(_USUAL_PART, -(-least // _MIB) * _MIB)


class Upload:
    """An upload of an object to a URL; `finish` makes the object visible, `abort` removes all its parts.

    Parameters
    ----------
    url
        ``s3://bucket/key``.
    expected
        The approximate length in bytes.
    force
        Whether an existing object may be replaced.
    options
        Over those of `ozx.storage_options`.
    part_size
        The length of each part but the last; by default it follows from `expected`.

    Raises
    ------
    UsageError
        The object exists, and `force` is not given.
    ResourceError
        The server cannot be reached, or refuses.
    """

    def __init__(
        self,
        url: str,
        *,
        expected: int = 0,
        force: bool = False,
        options: Mapping[str, Any] | None = None,
        part_size: int | None = None,
    ) -> None:
        self.url = url
        self.name = printable_url(url)
        self.notes: list[str] = []
        self._target = dict(zip(("Bucket", "Key"), split_object_url(url), strict=True))
        self._client = open_client(options)
        self._force = force
        self._part_size = max(part_size or part_size_for(expected), 1)
        self._mark = uuid.uuid4().hex
        self._upload_id = ""
        self._record: UploadRecord | None = None
        self._threads = ThreadPoolExecutor(_THREADS, "ozx-upload")
        self._sending: set[Future[None]] = set()
        self._tags: dict[int, str] = {}
        self._lock = threading.Lock()
        self._buffers: dict[int, Any] = {}  # parts that are not sent yet, by number from 0
        self._held: tuple[int, int] | None = None
        self._end = 0
        if not force:
            check_absent(self._client, url)
        self._end_leftovers()

    def write_at(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write bytes at the end of the object, or overwrite bytes in parts that `hold` keeps.

        Raises
        ------
        ResourceError
            The server refuses a part, or the object exceeds 10,000 parts.
        """
        if offset > self._end:
            raise ValueError(f"expected bytes at {self._end}, or before; got {offset}")
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
        """Keep the parts with these bytes in memory until `release`, because the bytes will be overwritten."""
        self._held = (offset, offset + length)

    def release(self) -> None:
        """Send the parts that `hold` kept in memory."""
        self._held = None
        self._send_full()

    def finish(self) -> int:
        """Complete the upload and return the length of the object in bytes.

        Raises
        ------
        UsageError
            Another program has made the object meanwhile, and `force` is not given.
        ResourceError
            The server refuses, or has stored another length.
        """
        self._held = None
        condition = {} if self._force else {"IfNoneMatch": "*"}
        try:
            if not self._upload_id:
                with contextlib.closing(self._buffers.pop(0, None) or tempfile.SpooledTemporaryFile()) as body:
                    body.seek(0)
                    self._call("put_object", Body=body, Metadata={_MARK: self._mark}, **condition)
            else:
                for number in sorted(self._buffers):
                    self._send(number)
                self._wait(0)
                parts = [{"PartNumber": number + 1, "ETag": self._tags[number]} for number in sorted(self._tags)]
                upload = {"UploadId": self._upload_id, "MultipartUpload": {"Parts": parts}}
                self._call("complete_multipart_upload", **upload, **condition)
        except client_errors() as error:
            if not self._is_ours():  # a lost reply: the object may be there
                if error_code_of(error) in _EXISTS and not self._force:
                    raise exists(self.url) from None
                raise _told(error, self.url) from None
        size = int(self._client.head_object(**self._target)["ContentLength"])
        if size != self._end:
            raise ResourceError(f"expected {self._end:,} bytes on the server; found {size:,}", path=self.name)
        self._close_record()
        self._threads.shutdown()
        return size

    def abort(self) -> None:
        """Abort the upload; the server deletes all its parts."""
        self._threads.shutdown(cancel_futures=True)
        for buffer in self._buffers.values():
            buffer.close()
        self._buffers.clear()
        if not self._upload_id:
            return
        try:
            self._client.abort_multipart_upload(**self._target, UploadId=self._upload_id)
        except client_errors() as error:  # the first error is the one to report
            if error_code_of(error) not in ("NoSuchUpload", "404"):
                if self._record is not None:
                    self._record.keep()
                return
        self._close_record()

    def _send_full(self) -> None:
        """Send all complete parts that `hold` does not keep in memory."""
        for number in list(self._buffers):
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
        if not self._upload_id:
            self._begin()
        self._wait(_THREADS - 1)
        buffer = self._buffers.pop(number)
        self._sending.add(self._threads.submit(self._send_part, number, buffer))

    def _begin(self) -> None:
        try:
            answer = self._call("create_multipart_upload", Metadata={_MARK: self._mark})
        except client_errors() as error:
            raise _told(error, self.url) from None
        self._upload_id = str(answer["UploadId"])
        self._record = UploadRecord(self.name, self._upload_id)

    def _send_part(self, number: int, buffer: Any) -> None:
        with contextlib.closing(buffer):
            buffer.seek(0)
            answer = self._call("upload_part", UploadId=self._upload_id, PartNumber=number + 1, Body=buffer)
        with self._lock:
            self._tags[number] = str(answer["ETag"])

    def _wait(self, most: int) -> None:
        """Wait until at most `most` parts are being sent; raise the error of a failed part."""
        while len(self._sending) > most:
            done, self._sending = wait(self._sending, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    future.result()
                except client_errors() as error:
                    raise _told(error, self.url) from None

    def _call(self, method: str, **arguments: Any) -> Any:
        return getattr(self._client, method)(**self._target, **arguments)

    def _is_ours(self) -> bool:
        """Return whether the object exists and was written by this upload."""
        try:
            found = self._client.head_object(**self._target)
        except client_errors():
            return False
        return bool(found.get("Metadata", {}).get(_MARK) == self._mark)

    def _close_record(self) -> None:
        if self._record is not None:
            self._record.close()
            self._record = None

    def _end_leftovers(self) -> None:
        """Abort unfinished uploads to the same URL that this user's killed processes left on the server."""
        for found in recorded_uploads():
            if found.url == self.name and not found.is_live:
                abort_upload(self._client, found.url, found.upload_id)
                found.remove()
                self.notes.append(f"ended an upload to {self.name} that a killed run left")


def check_absent(client: Any, url: str) -> None:
    """Raise an error if an object exists at this URL.

    Raises
    ------
    UsageError
        It exists.
    ResourceError
        The server cannot be reached, or refuses; the bucket does not exist.
    """
    bucket, key = split_object_url(url)
    if not key or key.endswith("/"):
        raise UsageError(
            "expected the URL of an object to write, such as s3://bucket/cells.ozx", path=printable_url(url)
        )
    try:
        client.head_object(Bucket=bucket, Key=key)
    except client_errors() as error:
        if error_code_of(error) in ("404", "NoSuchKey"):
            _check_bucket(client, bucket, url)
            return
        raise _told(error, url) from None
    raise exists(url)


def _check_bucket(client: Any, bucket: str, url: str) -> None:
    try:
        client.head_bucket(Bucket=bucket)
    except client_errors() as error:
        if error_code_of(error) in ("404", "NoSuchBucket"):
            raise ResourceError(
                "the bucket does not exist",
                path=printable_url(url),
                hint="Check the name, and the endpoint (--storage-option endpoint=URL).",
            ) from None
        # A policy may allow writing only.


def abort_upload(client: Any, url: str, upload_id: str) -> bool:
    """Abort an upload; return False if the server has no upload with this id.

    Raises
    ------
    ResourceError
        The server cannot be reached, or refuses.
    """
    bucket, key = split_object_url(url)
    try:
        client.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)
    except client_errors() as error:
        if error_code_of(error) in ("NoSuchUpload", "404", "NoSuchBucket"):
            return False
        raise _told(error, url) from None
    return True


def exists(url: str) -> UsageError:
    """Return the error for an object that already exists at a URL."""
    return UsageError(
        "the object exists already", path=printable_url(url), hint="Give --force (force=True) to replace it."
    )


def _told(error: BaseException, url: str) -> BaseException:
    return error if isinstance(error, ResourceError) else explain_client_error(error, url, doing="write")

"""Client that creates or replaces one object in S3, based on the package boto3; its errors are in plain words."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping
from typing import IO, Any, NamedTuple, Self

from ozx.archive.remote.errors import printable_url
from ozx.archive.remote.s3 import client_errors, error_code_of, explain_client_error, open_client, split_object_url
from ozx.atomic.targets import EXISTS_HINT
from ozx.errors import FormatError, ResourceError, UsageError

_MISSING = ("404", "NoSuchKey", "NotFound")
_EXISTS = ("PreconditionFailed", "412", "ConditionalRequestConflict", "409")

#: The name of the metadata that identify the upload of an object: after a lost reply, they show that the object exists.
#: No proxy server drops such metadata.
MARK = "ozxupload"


class FoundObject(NamedTuple):
    """An existing object: its length in bytes, and the random text with which an upload marked it."""

    size: int
    mark: str


def check_made(found: FoundObject | None, size: int, mark: str, name: str) -> None:
    """Raise an error if the object that a server has after an upload is not the one with this length and mark."""
    if found is not None and found.mark != mark:
        raise FormatError(
            "another program wrote this object at the same time; what was written here is lost",
            path=name,
            rule="zip/changed",
            hint="Look at the object, then run the command again.",
        )
    if found is None or found.size != size:
        there = "no object" if found is None else f"{found.size:,} bytes"
        raise ResourceError(f"expected an object of {size:,} bytes on the server; found {there}", path=name)


class S3Object:
    """A client for one object in S3."""

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._url = url
        self.target = dict(zip(("Bucket", "Key"), split_object_url(url), strict=True))
        self.client = open_client(options, name=printable_url(url))
        self._upload_id = ""
        self._condition: dict[str, str] = {}
        self._tags: dict[int, str] = {}

    def at(self, url: str) -> Self:
        """Return a client for another object in the same bucket, with the same connections."""
        other = copy.copy(self)
        target = dict(zip(("Bucket", "Key"), split_object_url(url), strict=True))
        vars(other).update(_url=url, target=target, _tags={})
        return other

    def find(self) -> FoundObject | None:
        """Return the object, or None if it does not exist."""
        try:
            found = self.client.head_object(**self.target)
        except client_errors() as error:
            if error_code_of(error) not in _MISSING:
                raise explain_client_error(error, self._url, doing="write") from None
        else:
            return FoundObject(int(found["ContentLength"]), str(found.get("Metadata", {}).get(MARK, "")))
        try:
            self.client.head_bucket(Bucket=self.target["Bucket"])
        except client_errors() as error:  # a policy may allow only writing
            if error_code_of(error) in ("404", "NoSuchBucket"):
                hint = "Check the name, and the endpoint (--storage-option)."
                raise ResourceError("the bucket does not exist", path=printable_url(self._url), hint=hint) from None
        return None

    def put(self, body: IO[bytes], mark: str, *, replace: bool) -> None:
        """Create the object from `body`, by one request; an existing object is replaced only with `replace`."""
        self._condition = {} if replace else {"IfNoneMatch": "*"}
        self._call("put_object", Body=body, Metadata={MARK: mark}, **self._condition)

    def begin(self, mark: str, *, replace: bool) -> None:
        """Begin an upload in parts; an existing object is replaced only with `replace`."""
        self._condition = {} if replace else {"IfNoneMatch": "*"}
        self._upload_id = str(self._call("create_multipart_upload", Metadata={MARK: mark})["UploadId"])

    def send(self, number: int, body: IO[bytes]) -> None:
        """Send part `number`, counted from 0."""
        answer = self._call("upload_part", UploadId=self._upload_id, PartNumber=number + 1, Body=body)
        self._tags[number] = str(answer["ETag"])

    def complete(self, parts: int) -> None:
        """Complete the upload: create the object from all parts."""
        tags = [{"PartNumber": number + 1, "ETag": self._tags[number]} for number in range(parts)]
        upload = {"UploadId": self._upload_id, "MultipartUpload": {"Parts": tags}}
        self._call("complete_multipart_upload", **upload, **self._condition)

    def abort(self) -> None:
        """Abort the upload; errors of the server are ignored."""
        with contextlib.suppress(*client_errors()):
            self.client.abort_multipart_upload(**self.target, UploadId=self._upload_id)

    def remove(self) -> None:
        """Remove the object, if it exists."""
        self._call("delete_object")

    def _call(self, method: str, **arguments: Any) -> Any:
        try:
            return getattr(self.client, method)(**self.target, **arguments)
        except client_errors() as error:
            if self._condition and error_code_of(error) in _EXISTS:
                raise exists_error(self._url) from None
            raise explain_client_error(error, self._url, doing="write") from None


def exists_error(url: str) -> UsageError:
    """Return the error for an object that already exists."""
    return UsageError("the object exists already", path=printable_url(url), hint=EXISTS_HINT)

"""Client for one object in S3, based on the package boto3."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping
from typing import IO, Any, Self

from ozx.archive.remote.errors import printable_url
from ozx.archive.remote.outputs.client import MARK, FoundObject, exists_error, no_container_error
from ozx.archive.remote.s3 import client_errors, error_code_of, explain_client_error, open_client, split_object_url

_MISSING = ("404", "NoSuchKey", "NotFound")
_EXISTS = ("PreconditionFailed", "412", "ConditionalRequestConflict", "409")


class S3Object:
    """A client for one object in S3; see `ozx.archive.remote.outputs.client.ObjectClient`.

    Parameters
    ----------
    url
        ``s3://bucket/key``.
    options
        Options that take precedence over those of `ozx.storage_options`.

    Attributes
    ----------
    client
        boto3's client.
    target
        Bucket and key, as arguments for it.
    """

    most_parts: int | None = 10_000
    is_in_order = False

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._url = url
        self.target = dict(zip(("Bucket", "Key"), split_object_url(url), strict=True))
        self.client = open_client(options, name=printable_url(url))
        self._upload_id = ""
        self._condition: dict[str, str] = {}
        self._tags: dict[int, str] = {}

    def at(self, url: str) -> Self:
        """Implement `ObjectClient.at`."""
        other = copy.copy(self)
        target = dict(zip(("Bucket", "Key"), split_object_url(url), strict=True))
        vars(other).update(_url=url, target=target, _tags={})
        return other

    def find(self) -> FoundObject | None:
        """Implement `ObjectClient.find`.

        Raises
        ------
        ResourceError
            As for `ObjectClient.find`.
        """
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
                raise no_container_error(self._url) from None
        return None

    def put(self, body: IO[bytes], size: int, mark: str, *, replace: bool) -> None:
        """Implement `ObjectClient.put`."""
        del size
        self._condition = {} if replace else {"IfNoneMatch": "*"}
        self._call("put_object", Body=body, Metadata={MARK: mark}, **self._condition)

    def begin(self, mark: str, part_size: int, *, replace: bool) -> None:
        """Implement `ObjectClient.begin`."""
        del part_size
        self._condition = {} if replace else {"IfNoneMatch": "*"}
        self._upload_id = str(self._call("create_multipart_upload", Metadata={MARK: mark})["UploadId"])

    def send(self, number: int, body: IO[bytes], size: int) -> None:
        """Implement `ObjectClient.send`."""
        del size
        answer = self._call("upload_part", UploadId=self._upload_id, PartNumber=number + 1, Body=body)
        self._tags[number] = str(answer["ETag"])

    def complete(self, parts: int) -> None:
        """Implement `ObjectClient.complete`."""
        tags = [{"PartNumber": number + 1, "ETag": self._tags[number]} for number in range(parts)]
        upload = {"UploadId": self._upload_id, "MultipartUpload": {"Parts": tags}}
        self._call("complete_multipart_upload", **upload, **self._condition)

    def abort(self) -> None:
        """Implement `ObjectClient.abort`."""
        with contextlib.suppress(*client_errors()):
            self.client.abort_multipart_upload(**self.target, UploadId=self._upload_id)

    def remove(self) -> None:
        """Implement `ObjectClient.remove`."""
        self._call("delete_object")

    def _call(self, method: str, **arguments: Any) -> Any:
        try:
            return getattr(self.client, method)(**self.target, **arguments)
        except client_errors() as error:
            if self._condition and error_code_of(error) in _EXISTS:
                raise exists_error(self._url) from None
            raise explain_client_error(error, self._url, doing="write") from None

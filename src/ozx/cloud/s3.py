"""Writing to S3 by boto3: the client, the creation of one object, and explanations of errors.

obstore is used only for reading. Its uploads in parts cannot refuse to replace an existing object, and it cannot list
or abort uploads (docs/decisions/0023-uploads.md).
"""

from __future__ import annotations

import contextlib
import copy
import errno
import os
from collections.abc import Callable, Mapping
from typing import IO, Any, Self
from urllib.parse import unquote

from ozx.atomic.targets import EXISTS_HINT
from ozx.errors import FormatError, OzxError, ResourceError, UsageError
from ozx.extras import install_hint
from ozx.places.remote.access import access_options, current_deadline
from ozx.places.remote.deadline import Deadline
from ozx.places.remote.errors import explain_code, printable_url
from ozx.places.remote.retries import LONGEST_UPLOAD_PAUSE, MOST_UPLOAD_RETRIES, pause_of_upload
from ozx.places.remote.urls import split_url

# obstore's names of options, which may also have the prefix aws_, and the names for boto3's clients.
_NAMES = {
    "endpoint": "endpoint_url",
    "endpoint_url": "endpoint_url",
    "region": "region_name",
    "default_region": "region_name",
    "access_key_id": "aws_access_key_id",
    "secret_access_key": "aws_secret_access_key",
    "session_token": "aws_session_token",
    "token": "aws_session_token",
}


def _target_of(url: str) -> dict[str, str]:
    """Return the arguments of boto3 that name the object at an ``s3://`` URL: its bucket and its key."""
    parts = split_url(url)
    if parts.scheme not in ("s3", "s3a"):
        raise UsageError("expected a URL that begins with s3://", path=printable_url(url))
    return {"Bucket": parts.netloc, "Key": unquote(parts.path.removeprefix("/"))}


def open_client(options: Mapping[str, Any] | None = None, *, name: str = "s3://") -> Any:
    """Return a boto3 client for S3, configured by the options of `ozx.storage_options`; `name` is for messages."""
    try:
        import boto3  # noqa: PLC0415 (an extra)
        from botocore import UNSIGNED  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415
    except ImportError as error:
        raise ResourceError(f"writing to s3:// needs the package boto3: {error}", hint=install_hint("s3")) from None
    given = {str(name).removeprefix("aws_"): value for name, value in access_options("s3", options or {}).items()}
    arguments = {_NAMES[name]: value for name, value in given.items() if name in _NAMES}
    if "endpoint_url" not in arguments and (endpoint := os.environ.get("AWS_ENDPOINT")):
        arguments["endpoint_url"] = endpoint
    is_anonymous = str(given.get("skip_signature", "")).lower() in ("1", "true", "yes")
    deadline = current_deadline()
    config = Config(
        connect_timeout=10,
        read_timeout=120 if deadline is None else min(120, deadline.seconds),
        retries={"max_attempts": MOST_UPLOAD_RETRIES, "mode": "standard"},
        max_pool_connections=32,
        **({"signature_version": UNSIGNED} if is_anonymous else {}),
    )
    try:
        client = boto3.client("s3", config=config, **arguments)
    except (BotoCoreError, ValueError) as error:
        raise ResourceError(f"cannot use S3: {error}", hint="Check the storage options and AWS_PROFILE.") from None
    client.meta.events.register_first("needs-retry.s3", pause_of_upload)
    if deadline is not None:
        _limit_in_time(client, deadline, name)
    return client


def _limit_in_time(client: Any, deadline: Deadline, name: str) -> None:
    """Make boto3's client refuse requests about the file `name` after the deadline, except those that abort uploads."""

    def check(event_name: str, **_: Any) -> None:
        if deadline.left() == 0 and not event_name.endswith(".AbortMultipartUpload"):
            raise deadline.error(name, writes=True)

    def stop(attempts: int, caught_exception: Exception | None, **_: Any) -> None:
        # Without time for another attempt, the error of this attempt says more than the error of the deadline.
        if caught_exception is not None and deadline.left() < min(2.0 ** (attempts - 1), LONGEST_UPLOAD_PAUSE):
            raise caught_exception if deadline.left() else deadline.error(name, writes=True)

    client.meta.events.register("before-send.s3", check)
    client.meta.events.register_first("needs-retry.s3", stop)


def client_errors() -> tuple[type[Exception], ...]:
    """Return the exception types that boto3 raises."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 (an extra)

    return BotoCoreError, ClientError


def error_code_of(error: BaseException) -> str:
    """Return the error code of a response, such as ``NoSuchUpload`` or ``404``; empty if there was no response."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def explain_client_error(error: BaseException, url: str, *, doing: str) -> OzxError:
    """Convert a boto3 error to an error of ozx without secrets; `doing` is a verb such as ``"write"``."""
    name, code, kind = printable_url(url), error_code_of(error), type(error).__name__
    known = explain_code(f"<Code>{code}</Code>", name)
    if known is not None:
        return known
    if code in ("AccessDenied", "403", "AllAccessDisabled"):
        return ResourceError(
            f"the server does not allow ozx to {doing}",
            path=name,
            hint="Check the credentials and the bucket's policy.",
        )
    if kind in ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError"):
        return ResourceError(
            "found no credentials in the options, environment variables, profile or cloud role of the computer",
            path=name,
            hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.",
        )
    if code in ("404", "NoSuchKey"):
        failure = ResourceError("no such object", path=name)
        failure.errno = errno.ENOENT
        return failure
    if code:
        return ResourceError(f"cannot {doing}: the server answered {code}", path=name, hint="Try again later.")
    return ResourceError(
        f"cannot reach the server ({kind})", path=name, hint="Check the address (endpoint) and the connection."
    )


_MISSING = ("404", "NoSuchKey", "NotFound")
#: The error codes of a request whose condition (`If-None-Match`, `If-Match`) does not hold.
CONFLICTS = ("PreconditionFailed", "412", "ConditionalRequestConflict", "409")

#: The name of the metadata that identify the upload of an object: after a lost reply, they show that the object exists.
#: No proxy server drops such metadata.
MARK = "ozxupload"


def was_made(client: S3Object, mark: str) -> bool:
    """Return whether the object exists and was written by the upload with this mark; False if the server is silent."""
    try:
        found = client.find()
    except ResourceError:  # the error of the upload is the one to report
        return False
    _, written = found or (0, None)
    return written == mark


def check_made(found: tuple[int, str] | None, size: int, mark: str, name: str) -> None:
    """Raise an error if the object that a server has after an upload is not the one with this length and mark."""
    length, written = found or (None, mark)
    if written != mark:
        raise FormatError(
            "another program wrote this object at the same time; what was written here is lost",
            path=name,
            rule="zip/changed",
            hint="Look at the object, then run the command again.",
        )
    if length != size:
        there = "no object" if length is None else f"{length:,} bytes"
        raise ResourceError(f"expected an object of {size:,} bytes on the server; found {there}", path=name)


class S3Object:
    """A client for one object in S3."""

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._url = url
        self.target = _target_of(url)
        self.client = open_client(options, name=printable_url(url))
        self._upload_id = ""
        self._condition: dict[str, str] = {}
        self._tags: dict[int, str] = {}

    def at(self, url: str) -> Self:
        """Return a client for another object in the same bucket, with the same connections."""
        other = copy.copy(self)
        vars(other).update(_url=url, target=_target_of(url), _tags={})
        return other

    def find(self) -> tuple[int, str] | None:
        """Return the length of the object and the random text with which an upload marked it; None without object."""
        try:
            found = self.client.head_object(**self.target)
        except client_errors() as error:
            if error_code_of(error) not in _MISSING:
                raise explain_client_error(error, self._url, doing="write") from None
        else:
            return int(found["ContentLength"]), str(found.get("Metadata", {}).get(MARK, ""))
        try:
            self.client.head_bucket(Bucket=self.target["Bucket"])
        except client_errors() as error:  # a policy may allow only writing
            if error_code_of(error) in ("404", "NoSuchBucket"):
                hint = "Check the name, and the endpoint in ozx.storage_options(endpoint='URL')."
                raise ResourceError("the bucket does not exist", path=printable_url(self._url), hint=hint) from None
        return None

    def put(self, body: IO[bytes], mark: str, *, replace: bool) -> None:
        """Create the object from `body`, by one request; an existing object is replaced only with `replace`."""
        self._condition = {} if replace else {"IfNoneMatch": "*"}
        self.call("put_object", Body=body, Metadata={MARK: mark}, **self._condition)

    def begin(self, mark: str, *, replace: bool) -> None:
        """Begin an upload in parts; an existing object is replaced only with `replace`."""
        self._condition = {} if replace else {"IfNoneMatch": "*"}
        self._upload_id = str(self.call("create_multipart_upload", Metadata={MARK: mark})["UploadId"])

    def send(self, number: int, body: IO[bytes]) -> None:
        """Send part `number`, counted from 0."""
        answer = self.call("upload_part", UploadId=self._upload_id, PartNumber=number + 1, Body=body)
        self._tags[number] = str(answer["ETag"])

    def complete(self, parts: int) -> None:
        """Complete the upload: create the object from all parts."""
        tags = [{"PartNumber": number + 1, "ETag": self._tags[number]} for number in range(parts)]
        upload = {"UploadId": self._upload_id, "MultipartUpload": {"Parts": tags}}
        self.call("complete_multipart_upload", **upload, **self._condition)

    def abort(self) -> None:
        """Abort the upload; errors of the server are ignored."""
        with contextlib.suppress(*client_errors()):
            self.client.abort_multipart_upload(**self.target, UploadId=self._upload_id)

    def remove(self) -> None:
        """Remove the object, if it exists."""
        self.call("delete_object")

    def call(self, method: str, explain: Callable[[BaseException], OzxError] | None = None, /, **arguments: Any) -> Any:
        """Make a request about the object by a method of boto3's client; `explain` turns its errors into ozx's."""
        try:
            return getattr(self.client, method)(**self.target, **arguments)
        except client_errors() as error:
            raise (explain or self._explain)(error) from None

    def _explain(self, error: BaseException) -> OzxError:
        if self._condition and error_code_of(error) in CONFLICTS:
            return exists_error(self._url)
        return explain_client_error(error, self._url, doing="write")


def exists_error(url: str) -> UsageError:
    """Return the error for an object that already exists."""
    return UsageError("the object exists already", path=printable_url(url), hint=EXISTS_HINT)

"""S3 clients of boto3 for writing, and explanations of their errors.

obstore is used only for reading. Its uploads in parts cannot refuse to replace an existing object, and it cannot list
or abort uploads (docs/decisions/0023-uploads.md).
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from ozx.archive.remote.access import access_options, current_deadline
from ozx.archive.remote.deadline import Deadline
from ozx.archive.remote.errors import explain_code, printable_url
from ozx.archive.remote.requests.retries import parse_retry_after
from ozx.archive.remote.urls import split_url
from ozx.errors import OzxError, ResourceError, UsageError
from ozx.extras import install_hint

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

# A separate generator: pauses do not change the random numbers of the calling program.
_RANDOM = random.Random()  # noqa: S311
_MOST_RETRIES = 8
_LONGEST_PAUSE = 20.0  # seconds


class ObjectUrl(NamedTuple):
    """The bucket and the key of an S3 object or prefix."""

    bucket: str
    key: str


def split_object_url(url: str) -> ObjectUrl:
    """Return bucket and key of an ``s3://`` URL.

    Examples
    --------
    >>> split_object_url("s3://bucket/day%20one/cells.ozx")
    ObjectUrl(bucket='bucket', key='day one/cells.ozx')
    """
    parts = split_url(url)
    if parts.scheme not in ("s3", "s3a"):
        raise UsageError("expected a URL that begins with s3://", path=printable_url(url))
    return ObjectUrl(parts.netloc, unquote(parts.path.removeprefix("/")))


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
        retries={"max_attempts": _MOST_RETRIES, "mode": "standard"},
        max_pool_connections=32,
        **({"signature_version": UNSIGNED} if is_anonymous else {}),
    )
    try:
        client = boto3.client("s3", config=config, **arguments)
    except (BotoCoreError, ValueError) as error:
        raise ResourceError(f"cannot use S3: {error}", hint="Check the storage options and AWS_PROFILE.") from None
    client.meta.events.register_first("needs-retry.s3", _pause_when_throttled)
    if deadline is not None:
        _limit_in_time(client, deadline, name)
    return client


def _limit_in_time(client: Any, deadline: Deadline, name: str) -> None:
    """Make boto3's client refuse requests after the deadline; requests that abort uploads are still sent.

    `name` is the file in messages.
    """

    def check(event_name: str, **_: Any) -> None:
        if deadline.left() == 0 and not event_name.endswith(".AbortMultipartUpload"):
            raise deadline.error(name, writes=True)

    def stop(attempts: int, caught_exception: Exception | None, **_: Any) -> None:
        # Without time for another attempt, the error of this attempt says more than the error of the deadline.
        if caught_exception is not None and deadline.left() < min(2.0 ** (attempts - 1), _LONGEST_PAUSE):
            raise caught_exception if deadline.left() else deadline.error(name, writes=True)

    client.meta.events.register("before-send.s3", check)
    client.meta.events.register_first("needs-retry.s3", stop)


def _pause_when_throttled(response: tuple[Any, Any] | None, attempts: int, **_: Any) -> float | None:
    """Return the pause in seconds before a request with the response 429 is repeated; None for other responses.

    botocore before 1.44 repeats such a request only if the response also contains an error code that botocore lists.
    """
    if response is None or response[0].status_code != 429 or attempts > _MOST_RETRIES:
        return None
    told = parse_retry_after(response[0].headers.get("Retry-After"))
    pause = _RANDOM.uniform(0, 2.0 ** (attempts - 1)) if told is None else told
    return min(pause, _LONGEST_PAUSE)


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

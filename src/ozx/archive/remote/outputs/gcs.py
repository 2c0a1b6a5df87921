"""Client for one object in Google Cloud Storage: a resumable upload whose parts are sent in order.

Sessions of uploads cannot be listed; the server discards unfinished ones after a week.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import IO, Any, Self
from urllib.parse import unquote

from ozx.archive.remote.access import current_deadline
from ozx.archive.remote.deadline import Deadline, call_in_time
from ozx.archive.remote.errors import printable_url
from ozx.archive.remote.outputs.client import (
    MARK,
    FoundObject,
    exists_error,
    forbidden_error,
    missing_package,
    no_container_error,
)
from ozx.archive.remote.outputs.settings import is_yes, store_settings
from ozx.archive.remote.urls import split_url
from ozx.errors import ResourceError

_TIMEOUT = (10, 120)
_RETRY_SECONDS = 60.0
_MISSING, _EXISTS, _FORBIDDEN = 404, 412, (401, 403)


def _open_bucket(url: str, options: Mapping[str, Any] | None) -> Any:
    try:
        from google.cloud import storage  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise missing_package("gs", "google-cloud-storage", "gcs", error) from None
    from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415

    settings = store_settings(url, options)
    try:
        credentials, endpoint = _credentials(settings)
        endpoint = settings.get("base_url") or endpoint
        client = storage.Client(
            project="none",  # no request of an upload names a project
            credentials=credentials,
            client_options={"api_endpoint": endpoint} if endpoint else None,
        )
        # Since 3.17 a thread of the client would request the bucket's metadata for traces: with a permission that an
        # upload does not need, without our limit of time, and for two minutes after a failure.
        client._bucket_metadata_cache = None  # noqa: SLF001
        return client.bucket(settings["bucket"])
    except (GoogleAuthError, OSError, ValueError) as error:  # the message may contain parts of a key
        kind = type(error).__name__
    raise ResourceError(
        f"cannot use the credentials for Google Cloud Storage ({kind})",
        path=printable_url(url),
        hint="Set GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login.",
    )


def _credentials(settings: Mapping[str, str]) -> tuple[Any, str | None]:
    """Return the credentials, and the endpoint if the service account's key contains an endpoint.

    If the credentials are None, the client uses the default credentials of the computer.
    """
    from google.auth import credentials as kinds  # noqa: PLC0415 (an extra)
    from google.auth import load_credentials_from_file  # noqa: PLC0415
    from google.oauth2 import credentials as user  # noqa: PLC0415
    from google.oauth2 import service_account  # noqa: PLC0415

    if is_yes(settings.get("skip_signature")):
        return kinds.AnonymousCredentials(), None
    if token := settings.get("bearer_token"):
        return user.Credentials(token), None
    text = settings.get("service_account_key")
    if text is None and (path := settings.get("service_account")):
        with open(path, encoding="utf-8") as file:
            text = file.read()
    if text is not None:
        content = json.loads(text)
        endpoint = content.get("gcs_base_url")
        if content.get("disable_oauth"):
            return kinds.AnonymousCredentials(), endpoint
        return service_account.Credentials.from_service_account_info(content), endpoint
    if path := settings.get("application_credentials"):
        return load_credentials_from_file(path)[0], None
    return None, None


class GcsObject:
    """A client for one object in Google Cloud Storage.

    See `ozx.archive.remote.outputs.client.ObjectClient`.

    Parameters
    ----------
    url
        ``gs://bucket/key``.
    options
        Options that take precedence over those of `ozx.storage_options`.
    """

    most_parts: int | None = None
    is_in_order = True

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._url = url
        self._deadline = current_deadline()
        self._bucket = _open_bucket(url, options)
        self._key = unquote(split_url(url).path.removeprefix("/"))
        self._condition: dict[str, int] = {}
        self._writer: Any = None

    def at(self, url: str) -> Self:
        """Implement `ObjectClient.at`."""
        other = copy.copy(self)
        vars(other).update(_url=url, _key=unquote(split_url(url).path.removeprefix("/")))
        return other

    def find(self) -> FoundObject | None:
        """Implement `ObjectClient.find`.

        Raises
        ------
        ResourceError
            As for `ObjectClient.find`.
        """
        found = self._call(self._bucket.get_blob, self._key, **self._limits)
        if found is not None:
            return FoundObject(int(found.size), str((found.metadata or {}).get(MARK, "")))
        if self._call(self._bucket.exists, **self._limits, default=True) is False:
            raise no_container_error(self._url)
        return None

    def put(self, body: IO[bytes], size: int, mark: str, *, replace: bool) -> None:
        """Implement `ObjectClient.put`."""
        blob = self._new_blob(mark, replace=replace)
        self._call(blob.upload_from_file, body, size=size, **self._limits, **self._condition)

    def begin(self, mark: str, part_size: int, *, replace: bool) -> None:
        """Implement `ObjectClient.begin`."""
        blob = self._new_blob(mark, replace=replace)
        self._writer = _writer_class()(blob, chunk_size=part_size, **self._limits, **self._condition)

    def send(self, number: int, body: IO[bytes], size: int) -> None:
        """Implement `ObjectClient.send`."""
        del number, size
        self._call(self._writer.write, body.read())

    def complete(self, parts: int) -> None:
        """Implement `ObjectClient.complete`."""
        del parts
        self._call(self._writer.close)

    def abort(self) -> None:
        """Cancel the upload session; if this fails, the server cancels the session after a week."""
        if self._writer is not None:
            self._call(self._writer.terminate, default=None, is_limited=False)

    def remove(self) -> None:
        """Implement `ObjectClient.remove`."""
        self._call(self._bucket.delete_blobs, [self._key], on_error=lambda _: None, **self._limits)

    @property
    def _limits(self) -> dict[str, Any]:
        """Limits of time for a call: per connection and answer, and for all retries together."""
        return {"timeout": _TIMEOUT, "retry": _retry(self._deadline)}

    def _new_blob(self, mark: str, *, replace: bool) -> Any:
        self._condition = {} if replace else {"if_generation_match": 0}
        blob = self._bucket.blob(self._key)
        blob.metadata = {MARK: mark}
        return blob

    def _call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a function and return its result; convert its errors to errors of ozx, in plain words.

        If `default` is given, return it instead of raising an error. A call without `is_limited` ignores the deadline.
        """
        has_default, default = "default" in options, options.pop("default", None)
        deadline = self._deadline if options.pop("is_limited", True) else None
        from google.api_core.exceptions import GoogleAPIError  # noqa: PLC0415 (an extra)
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415
        from google.cloud.storage.exceptions import DataCorruption, InvalidResponse  # noqa: PLC0415
        from requests.exceptions import RequestException  # noqa: PLC0415

        try:
            return call_in_time(
                partial(function, *arguments, **options), deadline, printable_url(self._url), writes=True
            )
        except ResourceError:  # the deadline
            raise
        except (GoogleAPIError, GoogleAuthError, InvalidResponse, DataCorruption, RequestException, OSError) as error:
            status = getattr(error, "code", None) or getattr(getattr(error, "response", None), "status_code", None)
            kind = type(error).__name__
            is_login = isinstance(error, GoogleAuthError)
        if has_default:
            return default
        if status == _EXISTS and self._condition:
            raise exists_error(self._url)
        raise self._failure(None if status is None else int(status), kind, is_login=is_login)

    def _failure(self, status: int | None, kind: str, *, is_login: bool) -> ResourceError:
        name = printable_url(self._url)
        if status == _MISSING:
            return no_container_error(self._url)
        if status in _FORBIDDEN:
            return forbidden_error(self._url, "write")
        if is_login:
            return ResourceError(
                "found no credentials in the options, environment variables or cloud role of the computer",
                path=name,
                hint="Set GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login.",
            )
        if status is not None:
            return ResourceError(f"cannot write: the server answered {status}", path=name, hint="Try again later.")
        return ResourceError(
            f"cannot reach the server ({kind})",
            path=name,
            hint="Check the address (base_url) and the connection.",
        )


def _retry(deadline: Deadline | None) -> Any:
    """Return google-cloud-storage's policy for retries, limited to one minute instead of two, or to the deadline."""
    from google.cloud.storage.retry import DEFAULT_RETRY  # noqa: PLC0415 (an extra)

    seconds = _RETRY_SECONDS if deadline is None else min(_RETRY_SECONDS, deadline.left())
    return DEFAULT_RETRY.with_timeout(seconds)


def _writer_class() -> Any:
    """Return google-cloud-storage's writer class without its finaliser.

    After an error, the finaliser would complete the upload.
    """
    from google.cloud.storage.fileio import BlobWriter  # noqa: PLC0415 (an extra)

    class Writer(BlobWriter):  # type: ignore[misc]
        def __del__(self) -> None:
            pass

    return Writer

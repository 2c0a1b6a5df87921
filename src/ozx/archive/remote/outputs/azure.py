"""Client for one blob in Azure, based on the package azure-storage-blob.

Azure discards uncommitted blocks of a blob one week after the last block was sent; no request discards them earlier.
"""

from __future__ import annotations

import copy
import os
import re
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

# The emulator's own account; its key is in Microsoft's documentation.
_EMULATOR = (
    "devstoreaccount1",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
)
_EMULATOR_URL = "http://127.0.0.1:10000"
_EXISTS = ("BlobAlreadyExists", "ConditionNotMet", "UnauthorizedBlobOverwrite")
_CHANGED = ("InvalidBlockList", "InvalidBlobOrBlock")
_FORBIDDEN = (401, 403)
# The longest pauses before the two retries after a failed connection take 10 seconds together.
_RETRIES_SECONDS = 15


def _open_container(url: str, options: Mapping[str, Any] | None = None) -> Any:
    """Return a client for the container of a URL, with the same settings as for reading.

    Raises
    ------
    UsageError
        The settings are wrong, or do not name the account.
    ResourceError
        azure-storage-blob is not installed, or a setting cannot be used.
    """
    try:
        from azure.storage.blob import BlobServiceClient, ExponentialRetry  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise missing_package("az", "azure-storage-blob", "azure", error) from None
    settings, deadline = store_settings(url, options), current_deadline()
    account, key = settings.get("account_name"), settings.get("account_key")
    endpoint = settings.get("endpoint")
    if is_yes(settings.get("use_emulator")):
        account, key = account or _EMULATOR[0], key or _EMULATOR[1]
        endpoint = endpoint or f"{os.environ.get('AZURITE_BLOB_STORAGE_URL', _EMULATOR_URL)}/{account}"
    place = endpoint or f"https://{account}.blob.core.windows.net"
    credential = _credential({**settings, "account_key": key or ""}, account)
    try:
        # Azure's own waits of 15 seconds and more hide a wrong address for one and a half minutes.
        retries = ExponentialRetry(
            initial_backoff=1,
            increment_base=2,
            retry_total=6,
            random_jitter_range=1,
            retry_connect=2 if deadline is None or deadline.left() > _RETRIES_SECONDS else 0,
        )
        service = BlobServiceClient(
            place, credential=credential, retry_policy=retries, connection_timeout=10, read_timeout=120
        )
        return service.get_container_client(settings["container_name"])
    except ValueError:  # its message may contain the key
        failure = ResourceError("the settings of the storage account are wrong", path=printable_url(url))
    raise failure


def _credential(settings: Mapping[str, str], account: str | None) -> Any:
    """Return the first credential in the settings, in obstore's order; None for anonymous requests."""
    from azure.core.credentials import AccessToken, AzureNamedKeyCredential, AzureSasCredential  # noqa: PLC0415

    if is_yes(settings.get("skip_signature")):
        return None
    if token := settings.get("token"):

        class Token:
            def get_token(self, *scopes: str, **kwargs: Any) -> AccessToken:
                del scopes, kwargs
                return AccessToken(token, 1 << 40)  # the end of its validity is not known

        return Token()
    if key := settings.get("account_key"):
        return AzureNamedKeyCredential(account or "", key)
    if sas := settings.get("sas_key"):
        return AzureSasCredential(sas.removeprefix("?"))
    try:
        from azure.identity import ClientSecretCredential, DefaultAzureCredential  # noqa: PLC0415
    except ImportError as error:
        raise missing_package("az", "azure-identity", "azure", error) from None
    client = [settings.get(name) for name in ("tenant_id", "client_id", "client_secret")]
    return ClientSecretCredential(*client) if all(client) else DefaultAzureCredential()


class AzureObject:
    """A client for one blob; see `ozx.archive.remote.outputs.client.ObjectClient`.

    Parameters
    ----------
    url
        ``az://container/name``, or ``abfss://container@account.dfs.core.windows.net/name``.
    options
        Options that take precedence over those of `ozx.storage_options`.
    """

    most_parts: int | None = 50_000
    is_in_order = False

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._url = url
        self._deadline = current_deadline()
        self._container = _open_container(url, options)
        self._blob = self._container.get_blob_client(unquote(split_url(url).path.removeprefix("/")))
        self._mark = ""
        self._replace = False

    def at(self, url: str) -> Self:
        """Implement `ObjectClient.at`."""
        other = copy.copy(self)
        blob = self._container.get_blob_client(unquote(split_url(url).path.removeprefix("/")))
        vars(other).update(_url=url, _blob=blob)
        return other

    def find(self) -> FoundObject | None:
        """Implement `ObjectClient.find`.

        Raises
        ------
        ResourceError
            As for `ObjectClient.find`.
        """
        found = self._call(self._blob.get_blob_properties, none_if="missing")
        if found is not None:
            return FoundObject(int(found.size), str((found.metadata or {}).get(MARK, "")))
        if self._call(self._container.get_container_properties, none_if="missing or forbidden") is None:
            raise no_container_error(self._url, "container")
        return None

    def put(self, body: IO[bytes], size: int, mark: str, *, replace: bool) -> None:
        """Implement `ObjectClient.put`."""
        self._replace = replace
        self._call(self._blob.upload_blob, body.read(), length=size, overwrite=replace, metadata={MARK: mark})

    def begin(self, mark: str, part_size: int, *, replace: bool) -> None:
        """Implement `ObjectClient.begin`."""
        del part_size
        self._mark, self._replace = mark, replace

    def send(self, number: int, body: IO[bytes], size: int) -> None:
        """Implement `ObjectClient.send`."""
        self._call(self._blob.stage_block, self._block(number), body, length=size)

    def complete(self, parts: int) -> None:
        """Implement `ObjectClient.complete`."""
        from azure.core import MatchConditions  # noqa: PLC0415 (an extra)

        condition = {} if self._replace else {"match_condition": MatchConditions.IfMissing}
        blocks = list(map(self._block, range(parts)))
        self._call(self._blob.commit_block_list, blocks, metadata={MARK: self._mark}, **condition)

    def abort(self) -> None:
        """Do nothing, because Azure discards uncommitted blocks itself."""

    def remove(self) -> None:
        """Implement `ObjectClient.remove`."""
        self._call(self._blob.delete_blob, none_if="missing")

    def _block(self, number: int) -> str:
        """Return the name of a block; the names of all blocks of a blob have the same length."""
        return f"{self._mark}{number:06}"

    def _call(self, function: Callable[..., Any], *arguments: Any, none_if: str = "", **options: Any) -> Any:
        can_exist = not self._replace
        call = partial(function, *arguments, **options)
        return _call_azure(self._url, call, self._deadline, none_if=none_if, can_exist=can_exist)


def _call_azure(
    url: str,
    call: Callable[[], Any],
    deadline: Deadline | None,
    *,
    doing: str = "write",
    none_if: str = "",
    can_exist: bool = False,
) -> Any:
    """Call a function and return its result; convert its errors to errors of ozx, in plain words and without secrets.

    Parameters
    ----------
    url
        The object, for messages.
    call
        The function.
    deadline
        The time at which ozx stops waiting for the result, or None.
    doing
        A verb for messages.
    none_if
        ``missing``: return None for a missing object. ``missing or forbidden``: also return False for a forbidden one.
    can_exist
        Whether an existing object raises a `UsageError`.

    Raises
    ------
    UsageError
        The object exists.
    ResourceError
        The server cannot be reached, or refuses.
    """
    from azure.core.exceptions import AzureError  # noqa: PLC0415 (an extra)

    try:
        return call_in_time(call, deadline, printable_url(url), writes=True)
    except AzureError as error:
        status, code = getattr(error, "status_code", None), _code(error)
        kind = type(error).__name__
    if none_if and status == 404 and (code != "ContainerNotFound" or "forbidden" in none_if):
        return None
    if "forbidden" in none_if and status in _FORBIDDEN:
        return False
    if code in _EXISTS and can_exist:
        raise exists_error(url)
    raise _failure(url, status, code, kind, doing)


def _code(error: Exception) -> str:
    """Return Azure's code for an error, even if azure-storage-blob does not know the code."""
    code = getattr(error, "error_code", None)
    header = getattr(getattr(error, "response", None), "headers", None) or {}
    return str(header.get("x-ms-error-code") or getattr(code, "value", code) or "")


def _failure(url: str, status: int | None, code: str, kind: str, doing: str) -> ResourceError:
    if code == "ContainerNotFound":
        return no_container_error(url, "container")
    if status in _FORBIDDEN:
        return forbidden_error(url, doing)
    if code in _CHANGED:
        return ResourceError(
            "another program wrote the same object meanwhile", path=printable_url(url), hint="Try again."
        )
    if kind in ("ClientAuthenticationError", "CredentialUnavailableError"):
        return ResourceError(
            "found no credentials in the options, environment variables or cloud role of the computer",
            path=printable_url(url),
            hint="Set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or run az login.",
        )
    if status is not None:
        words = re.sub(r"[^A-Za-z]", "", code) or str(status)
        return ResourceError(
            f"cannot {doing}: the server answered {words}", path=printable_url(url), hint="Try again later."
        )
    return ResourceError(
        f"cannot reach the server ({kind})",
        path=printable_url(url),
        hint="Check the address (endpoint) and the connection.",
    )

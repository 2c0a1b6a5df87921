"""Access to object stores: the options of the caller and those of the environment, in the words of obstore."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from ozx.errors import UsageError

__all__ = ["access_options", "allows_http", "current_options", "parse_storage_options", "storage_options"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_CURRENT: ContextVar[Mapping[str, Any]] = ContextVar("ozx_storage_options", default=_NOTHING)

# The prefix of the environment variables of each kind of store.
_PREFIXES = {
    "s3": "AWS_",
    "s3a": "AWS_",
    "gs": "GOOGLE_",
    "az": "AZURE_",
    "azure": "AZURE_",
    "adl": "AZURE_",
    "abfs": "AZURE_",
    "abfss": "AZURE_",
}
_ENDPOINTS = ("ENDPOINT_URL_S3", "ENDPOINT_URL", "ENDPOINT", "STORAGE_ENDPOINT", "BASE_URL")
_YES = ("1", "true", "yes", "on")


@contextmanager
def storage_options(*, anonymous: bool = False, **options: Any) -> Iterator[None]:
    """Open URLs with these options as long as the block lasts, in this thread and in the threads that ozx starts.

    They are added to those of an outer block.

    Parameters
    ----------
    anonymous
        Whether requests go without credentials, as public buckets allow.
    options
        The options of obstore's stores, such as ``endpoint``, ``region``, ``access_key_id``, ``secret_access_key``.
        They win over the environment (``AWS_ENDPOINT_URL``, ``AWS_REGION``, …).

    Yields
    ------
    None
        Nothing: the options hold within the block.

    Examples
    --------
    >>> with storage_options(anonymous=True, region="eu-west-2"):
    ...     current_options()
    {'skip_signature': True, 'region': 'eu-west-2'}
    >>> current_options()
    {}
    """
    given = ({"skip_signature": True} if anonymous else {}) | options
    token = _CURRENT.set({**_CURRENT.get(), **given})
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_options() -> dict[str, Any]:
    """Return the options of the blocks around the caller; see `storage_options`."""
    return dict(_CURRENT.get())


def parse_storage_options(texts: Iterable[str]) -> dict[str, Any]:
    """Return the options in ``KEY=VALUE`` form; a message never shows a value, which may be a secret.

    Raises
    ------
    UsageError
        One has no ``=``, or no key.

    Examples
    --------
    >>> parse_storage_options(["endpoint=http://127.0.0.1:9000", "region=us-east-1"])
    {'endpoint': 'http://127.0.0.1:9000', 'region': 'us-east-1'}
    """
    options = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key.strip() and equals):
            raise UsageError(
                "expected a storage option as KEY=VALUE; found one without " + ("a key" if equals else "="),
                hint="For example: --storage-option endpoint=https://s3.example.org",
            )
        options[key.strip()] = value
    return options


def allows_http(scheme: str, options: Mapping[str, Any]) -> bool:
    """Tell whether requests may go without encryption: an endpoint says so, or ``AWS_ALLOW_HTTP`` and its likes.

    obstore takes this option from the environment only if no client options are given, and ozx gives some.

    Examples
    --------
    >>> allows_http("s3", {"endpoint": "http://127.0.0.1:9000"}), allows_http("s3", {"region": "us-east-1"})
    (True, False)
    """
    if scheme == "http":
        return True
    prefix = _PREFIXES.get(scheme)
    if prefix is None:
        return False
    words = [word.lower() for word in _ENDPOINTS]
    endpoints = [options.get(name) for word in words for name in (word, f"{prefix.lower()}{word}")]
    found = next(filter(None, endpoints), None) or next(
        filter(None, (os.environ.get(prefix + e) for e in _ENDPOINTS)), ""
    )
    return os.environ.get(f"{prefix}ALLOW_HTTP", "").lower() in _YES or str(found).lower().startswith("http://")


def access_options(scheme: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return `options` over those of `storage_options`; plain HTTP knows only those about requests.

    Examples
    --------
    >>> with storage_options(region="eu-west-2"):
    ...     access_options("s3", {"skip_signature": True}), access_options("https", {})
    ({'region': 'eu-west-2', 'skip_signature': True}, {})
    """
    current = current_options()
    if scheme in ("http", "https"):
        current = {name: current[name] for name in ("client_options", "retry_config") if name in current}
    return current | dict(options)

"""Access options for object stores, from the caller and the environment, under the names that obstore uses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

from ozx.errors import UsageError
from ozx.places.remote.cache import CACHE
from ozx.places.remote.deadline import DEADLINE, Deadline, new_deadline

_Result = TypeVar("_Result")
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
#: The options that describe how requests are made, to every kind of server, plain HTTP included.
REQUEST_OPTIONS = ("client_options", "retry_config", DEADLINE, CACHE)
_YES = ("1", "true", "yes", "on")


@contextmanager
def storage_options(
    *, anonymous: bool = False, timeout: float | None = None, cache: bool = True, **options: Any
) -> Iterator[None]:
    """Set options for opening URLs in the ``with`` block.

    The options apply in this thread and in the threads that ozx starts.

    They are added to the options of an enclosing block.

    Parameters
    ----------
    anonymous
        Whether requests go without credentials, as public buckets allow.
    timeout
        The time limit for all requests of the block together, in seconds. A request that has no answer at the end of
        this time, or begins later, raises a `ResourceError`, which states the number of bytes read.
    cache
        Whether central directories of archives are cached for later runs, which use them if the ETag is unchanged.
    options
        The options of obstore's stores, such as ``endpoint``, ``region``, ``access_key_id``, ``secret_access_key``.
        They take precedence over environment variables (``AWS_ENDPOINT_URL``, ``AWS_REGION``, …).

    Yields
    ------
    None
        Nothing: the options apply within the block.

    Raises
    ------
    UsageError
        `timeout` is no positive number.

    Examples
    --------
    >>> with storage_options(anonymous=True, region="eu-west-2"):
    ...     current_options()
    {'skip_signature': True, 'region': 'eu-west-2'}
    >>> current_options()
    {}
    """
    given = ({"skip_signature": True} if anonymous else {}) | options
    if not cache:
        given[CACHE] = False
    if timeout is not None:
        given[DEADLINE] = new_deadline(timeout, current_deadline())
    token = _CURRENT.set({**_CURRENT.get(), **given})
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_options() -> dict[str, Any]:
    """Return the options that the enclosing `storage_options` blocks set."""
    return dict(_CURRENT.get())


def current_deadline() -> Deadline | None:
    """Return the deadline that the enclosing `storage_options` blocks set for requests; None without a deadline."""
    return _CURRENT.get().get(DEADLINE)


@dataclass(frozen=True, slots=True)
class _Carried:
    """Options that ``repr`` does not show (for example in the log of a Dask worker), because they may be secret."""

    options: Mapping[str, Any] = field(repr=False)


def carrying_options(task: Callable[..., _Result]) -> Callable[..., _Result]:
    """Return a callable that runs `task` in any process with the current `storage_options`."""
    options = current_options()
    for name in options:
        if name.endswith(("service_account", "service_account_path", "application_credentials", "token_file")):
            options[name] = os.path.abspath(options[name])  # another process may have another working directory
    return partial(_call_with, _Carried(options), task)


def _call_with(carried: _Carried, task: Callable[..., _Result], *arguments: Any, **options: Any) -> _Result:
    with storage_options(**carried.options):
        return task(*arguments, **options)


def parse_storage_options(texts: Iterable[str]) -> dict[str, Any]:
    """Parse options of the form ``KEY=VALUE``; error messages never contain a value, which may be secret."""
    options = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key.strip() and equals):
            raise UsageError(
                "expected a storage option of the form KEY=VALUE; an option has no "
                + ("KEY before the =" if equals else "="),
                hint="For example: --storage-option endpoint=https://s3.example.org",
            )
        options[key.strip()] = value
    return options


def allows_http(scheme: str, options: Mapping[str, Any]) -> bool:
    """Return whether unencrypted requests are allowed, for example by an ``http://`` endpoint or ``AWS_ALLOW_HTTP``.

    obstore takes this option from the environment only if it gets no client options, but ozx always gives it some.
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
    """Return the options of `storage_options` that apply to `scheme`, updated with `options`."""
    current = current_options()
    if scheme in ("http", "https"):
        current = {name: current[name] for name in REQUEST_OPTIONS if name in current}
    return current | dict(options)

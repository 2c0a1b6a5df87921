"""Settings of a store from options and environment, so that uploads use the same access as reading."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ozx.archive.remote.access import REQUEST_OPTIONS, access_options
from ozx.archive.remote.errors import explain_options, missing_extra, printable_url
from ozx.archive.remote.urls import split_url

_NO_SETTINGS = (*REQUEST_OPTIONS, "credential_provider")
_NAMES_OF_PLACES = ("bucket", "container_name")


def store_settings(url: str, options: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the settings for a URL; the URL and the options take precedence over the environment.

    Parameters
    ----------
    url
        ``gs://bucket/key`` or ``az://container/key``.
    options
        Options that take precedence over those of `ozx.storage_options`.

    Returns
    -------
    dict
        Values by obstore's own names, such as ``account_name`` for ``azure_storage_account_name``.

    Raises
    ------
    UsageError
        obstore does not know an option.
    ResourceError
        obstore is not installed.
    """
    try:
        from obstore.store import AzureStore, GCSStore, from_url  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise missing_extra(printable_url(url), error) from None
    scheme = split_url(url).scheme
    kind: Any = GCSStore if scheme == "gs" else AzureStore
    prefix, place = ("GOOGLE_", "gs://x") if scheme == "gs" else ("AZURE_", "az://x")
    found: dict[str, str] = {}
    for name in sorted(name for name in os.environ if name.startswith(prefix)):
        try:
            of_variable = _config(kind.from_url(place, config={name.lower(): os.environ[name]}))
        except Exception:  # noqa: BLE001, S112 (obstore's own kinds: a variable of another program)
            continue
        found |= {key: value for key, value in of_variable.items() if key not in _NAMES_OF_PLACES}
    given = {key: value for key, value in access_options(scheme, options or {}).items() if key not in _NO_SETTINGS}
    try:
        return found | _config(from_url(url, **given))
    except Exception as error:  # noqa: BLE001 (obstore raises TypeError, ValueError and its own kinds)
        failure = explain_options(error, printable_url(url))
    raise failure  # outside of the except block: obstore's message contains the option's value


def _config(store: Any) -> dict[str, str]:
    return {key: str(value) for key, value in store.config.items()}


def is_yes(text: str | None) -> bool:
    """Return whether a setting is switched on.

    Examples
    --------
    >>> is_yes("True"), is_yes(None)
    (True, False)
    """
    return str(text).lower() in ("1", "true", "yes", "on")

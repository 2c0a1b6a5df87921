"""obstore's store for a URL, with profiles of AWS."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from ozx.errors import ResourceError
from ozx.extras import install_hint
from ozx.places.remote.access import allows_http
from ozx.places.remote.cache import CACHE
from ozx.places.remote.deadline import DEADLINE, Deadline
from ozx.places.remote.errors import explain_options, printable_url
from ozx.places.remote.retries import retry_config

# Credentials from AWS profiles, which obstore does not read itself.

_KEYS = ("access_key_id", "aws_access_key_id", "skip_signature", "aws_skip_signature", "credential_provider")
_KEY_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE")


def profile_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return obstore's options for the AWS profile named in ``AWS_PROFILE``, or else for the default profile."""
    named = os.environ.get("AWS_PROFILE")
    if any(options.get(key) for key in _KEYS) or any(map(os.environ.get, _KEY_VARIABLES)):
        return {}
    files = (
        os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or "~/.aws/credentials",
        os.environ.get("AWS_CONFIG_FILE") or "~/.aws/config",
    )
    if not named and not any(os.path.isfile(os.path.expanduser(file)) for file in files):
        return {}  # obstore uses the role of the computer
    try:
        import boto3  # noqa: PLC0415 (an extra)
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415
    except ImportError as error:
        if not named:
            return {}
        raise ResourceError(
            f"reading the profile {named!r} needs the package boto3: {error}", hint=install_hint("s3")
        ) from None
    try:
        session = boto3.Session()
        if session.get_credentials() is None:
            return {}
    except BotoCoreError as error:
        raise ResourceError(f"cannot use the AWS profile {named!r}: {error}", hint="Check AWS_PROFILE.") from None
    found: dict[str, Any] = {"credential_provider": Boto3CredentialProvider(session)}
    if session.region_name and not (options.get("region") or os.environ.get("AWS_REGION")):
        found["region"] = session.region_name
    return found


# By default, obstore ends every request after 30 seconds, too early for a large shard on a slow line. Here, a request
# may take long, but its answer may not pause for long.
_CLIENT_OPTIONS = {"timeout": "1h", "read_timeout": "30s", "connect_timeout": "10s"}
# Making a store takes 5 ms, because it reads the system's certificates, and a new one has no open connections. So the
# last ones are kept for another reading of the same URL; stores of buckets are not, because they keep credentials.
_HTTP_STORES: dict[tuple[Any, ...], Any] = {}
_MOST_KEPT = 8
_PROXIES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy")


def import_obstore(name: str) -> Any:
    """Return the package obstore; `name` is the URL that needs it, for the error if it is missing."""
    try:
        import obstore  # noqa: PLC0415 (an extra)
        import obstore.exceptions  # noqa: PLC0415
    except ImportError as error:
        message = f"reading from a URL needs the package obstore: {error}"
        raise ResourceError(message, path=name, hint=install_hint("remote")) from None
    return obstore


def open_object_store(url: str, options: Mapping[str, Any], *, repeats: bool = True) -> Any:
    """Return obstore's store whose root is the object or folder at `url`.

    With this root, the URL of the object is requested unchanged. With `repeats`, obstore repeats requests that fail.
    """
    from obstore.store import HTTPStore, from_url  # noqa: PLC0415

    deadline: Deadline | None = options.get(DEADLINE)
    options = {name: value for name, value in options.items() if name not in (DEADLINE, CACHE)}
    scheme = urlsplit(url).scheme.lower()
    client_options: dict[str, Any] = _CLIENT_OPTIONS | ({"allow_http": True} if allows_http(scheme, options) else {})
    if deadline is not None:
        client_options["timeout"] = timedelta(seconds=deadline.seconds)
    client_options |= dict(options.get("client_options") or {})
    repetitions = retry_config(options) | ({} if repeats else {"max_retries": 0})
    of_profile = profile_options(options) if scheme in ("s3", "s3a") else {}
    arguments = {**of_profile, **options, "client_options": client_options, "retry_config": repetitions}
    # `from_url` takes https://bucket.s3.amazonaws.com/… for S3 and looks for credentials; an https:// URL, signed or
    # public, is requested unchanged.
    is_http = scheme in ("http", "https")
    key = (os.getpid(), url, repr(arguments), *map(os.environ.get, _PROXIES))
    if is_http and key in _HTTP_STORES:
        return _HTTP_STORES[key]
    make: Any = HTTPStore.from_url if is_http else from_url
    try:
        store = make(url, **arguments)
    except Exception as error:  # noqa: BLE001 (obstore raises TypeError, ValueError and its own kinds)
        failure = explain_options(error, printable_url(url))
    else:
        if is_http:
            if len(_HTTP_STORES) >= _MOST_KEPT:
                _HTTP_STORES.clear()
            _HTTP_STORES[key] = store
        return store
    raise failure  # outside of the except block, as in ozx.places.remote.requests

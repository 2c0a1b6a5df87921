"""Opening of a client for the object at a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ozx.archive.remote.errors import printable_url
from ozx.archive.remote.outputs.client import ObjectClient
from ozx.archive.remote.urls import split_key_url
from ozx.errors import UsageError

#: The kind of store of each scheme that ozx writes to.
KINDS = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gcs",
    "az": "azure",
    "azure": "azure",
    "adl": "azure",
    "abfs": "azure",
    "abfss": "azure",
}


def check_object_url(url: str) -> str:
    """Return the kind of object store in which the object at a URL lies.

    Raises
    ------
    UsageError
        The URL names no object, contains ``?`` or ``#``, or has a scheme to which ozx cannot write.

    Examples
    --------
    >>> check_object_url("az://container/cells.ozx")
    'azure'
    """
    parts = split_key_url(url)
    kind = KINDS.get(parts.scheme)
    if kind is None:
        raise UsageError("expected a URL that begins with s3://, gs:// or az://", path=printable_url(url))
    if parts.query or parts.fragment:
        raise UsageError(
            "expected the URL of an object to write, without ? and #",
            path=printable_url(url),
            hint="Write %3F and %23 for these characters in a name.",
        )
    key = parts.path.removeprefix("/")
    if not key or key.endswith("/"):
        raise UsageError(
            f"expected the URL of an object to write, such as {parts.scheme}://bucket/cells.ozx",
            path=printable_url(url),
        )
    return kind


def open_object(url: str, options: Mapping[str, Any] | None = None) -> ObjectClient:
    """Return a client for the object at a URL; `options` take precedence over `ozx.storage_options`.

    Raises
    ------
    UsageError
        The URL names no object, or the options are wrong.
    ResourceError
        A package is missing, or credentials cannot be read.
    """
    kind = check_object_url(url)
    if kind == "s3":
        from ozx.archive.remote.outputs.s3 import S3Object  # noqa: PLC0415 (each needs a package of its own)

        return S3Object(url, options)
    if kind == "gcs":
        from ozx.archive.remote.outputs.gcs import GcsObject  # noqa: PLC0415

        return GcsObject(url, options)
    from ozx.archive.remote.outputs.azure import AzureObject  # noqa: PLC0415

    return AzureObject(url, options)

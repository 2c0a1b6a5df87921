"""Recognition and division of URLs that ozx can open."""

from __future__ import annotations

from urllib.parse import SplitResult, unquote, urlsplit

from ozx.archive.remote.errors import printable_url
from ozx.errors import UsageError

__all__ = ["SCHEMES", "split_url"]

#: HTTP, and the object stores that obstore knows.
SCHEMES = ("https", "http", "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss")


def split_url(url: str) -> SplitResult:
    """Divide a URL into its components, with the scheme in lower case.

    Raises
    ------
    UsageError
        ozx cannot open such a URL, or the name of the object has parts that are empty, ``.`` or ``..``; the message
        shows the URL without its query.

    Examples
    --------
    >>> split_url("S3://bucket/cells.ozx").scheme
    's3'
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:  # http://[
        raise UsageError(f"expected a URL; {error}", path=printable_url(url)) from None
    if parts.scheme.lower() not in SCHEMES or not parts.netloc:
        raise UsageError(
            f"expected a URL that begins with https://, http://, s3://, gs:// or az://; got {printable_url(url)!r}"
        )
    parts = parts._replace(scheme=parts.scheme.lower())
    if parts.scheme not in ("https", "http"):
        _check_key(parts, url)
    return parts


def _check_key(parts: SplitResult, url: str) -> None:
    """Refuse the keys of objects that obstore cannot name: ozx would write such an object, and could not read it."""
    key = unquote(parts.path).removeprefix("/").removesuffix("/")
    wrong = next((part for part in key.split("/") if part in ("", ".", "..")), None) if key else None
    if wrong is not None:
        raise UsageError(
            "expected a name without empty parts between its slashes, and without the parts '.' and '..'; found "
            f"{wrong or '//'!r}",
            path=printable_url(url),
            hint="Leave the part out of the URL.",
        )

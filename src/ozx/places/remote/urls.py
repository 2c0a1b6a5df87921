"""Recognition and division of URLs that ozx can open."""

from __future__ import annotations

from urllib.parse import SplitResult, unquote, urlsplit

from ozx.errors import UsageError
from ozx.places.remote.errors import printable_url

#: HTTP, and the object stores that obstore knows.
SCHEMES = ("https", "http", "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss")
#: The stores to which ozx does not write, and the program that copies a file to each.
COPYING = {"gs": "gcloud storage cp"} | dict.fromkeys(("az", "azure", "adl", "abfs", "abfss"), "azcopy copy")


def split_url(url: str) -> SplitResult:
    """Divide a URL into its components, with the scheme in lower case."""
    try:
        parts = urlsplit(url)
    except ValueError as error:  # http://[
        raise UsageError(f"expected a URL; {error}", path=printable_url(url)) from None
    if parts.scheme.lower() not in SCHEMES or not parts.netloc:
        raise UsageError(
            f"expected a URL that begins with https://, http://, s3://, gs:// or az://; got {printable_url(url)!r}"
        )
    return parts._replace(scheme=parts.scheme.lower())


def split_key_url(url: str) -> SplitResult:
    """Divide the URL of an object or folder that is read or written; see `split_url`.

    obstore cannot name keys with empty parts, ``.`` or ``..``: ozx would write such an object, and could not read it.
    """
    parts = split_url(url)
    key = unquote(parts.path).removeprefix("/").removesuffix("/")
    is_http = parts.scheme in ("https", "http")
    wrong = next((part for part in key.split("/") if part in ("", ".", "..")), None) if key and not is_http else None
    if wrong is not None:
        raise UsageError(
            f"the name has the part {wrong!r}" if wrong else "the name has an empty part between two slashes",
            path=printable_url(url),
            hint="Leave the part out of the URL.",
        )
    return parts


def upload_hint(url: str) -> str:
    """Return the hint for an output at a URL to which ozx does not write."""
    program = COPYING.get(url.partition("://")[0].lower())
    return f"Write it on this computer, then {f'run {program}' if program else 'upload it'}."


def check_object_url(url: str) -> None:
    """Raise an error unless ozx can write an object at a URL."""
    parts = split_key_url(url)
    if parts.scheme not in ("s3", "s3a"):
        raise UsageError("expected a URL that begins with s3://", path=printable_url(url), hint=upload_hint(url))
    if parts.query or parts.fragment:
        raise UsageError(
            "expected the URL of an object to write, without ? and #",
            path=printable_url(url),
            hint="Write %3F and %23 for these characters in a name.",
        )
    key = parts.path.removeprefix("/")
    if not key or key.endswith("/"):
        raise UsageError(
            "expected the URL of an object to write, such as s3://bucket/cells.ozx", path=printable_url(url)
        )

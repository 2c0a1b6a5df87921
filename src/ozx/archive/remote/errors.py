"""Errors of requests to a server, explained without secrets.

obstore's messages quote the URL with its query, and the server's answer: both may hold keys. Only harmless parts are
passed on.
"""

from __future__ import annotations

import errno
import re
from urllib.parse import urlsplit

from ozx.errors import FormatError, ResourceError, UsageError
from ozx.extras import install_hint

__all__ = ["changed", "explain", "explain_code", "explain_options", "missing_extra", "printable_url"]

_STATUS = re.compile(r"status code: (\d{3})(?: ([A-Z][A-Za-z' -]*))?")
# The code in an answer of S3 or GCS, whose other parts may hold secrets.
_CODE = re.compile(r"<Code>([A-Za-z]+)</Code>")
_REGION = "Give it as --storage-option region=NAME, or set AWS_REGION."
_CODES = {
    "NoSuchBucket": ("there is no such bucket", "Check the name, and the endpoint (--storage-option endpoint=URL)."),
    "PermanentRedirect": ("the bucket is in another region", _REGION),
    "AuthorizationHeaderMalformed": ("the bucket is in another region", _REGION),
    "IllegalLocationConstraintException": ("the bucket is in another region", _REGION),
    "RequestTimeTooSkewed": ("the clock of this computer is wrong: the server refuses its time", "Set the clock."),
    "InvalidAccessKeyId": ("the server does not know the access key", "Check the credentials."),
    "SignatureDoesNotMatch": ("the secret access key is wrong", "Check the credentials."),
    "ExpiredToken": ("the session token has expired", "Get a new one."),
    "SlowDown": ("the server asks for fewer requests", "Try again later."),
}
_USER = re.compile(r"://[^/]*@")
_SYSTEM = re.compile(r'(?:message|error): "([A-Za-z ,:]+)"')


def printable_url(url: str) -> str:
    """Return a URL without user, password, query and fragment.

    Examples
    --------
    >>> printable_url("https://user:secret@example.org:8443/cells.ozx?X-Amz-Signature=secret#0")
    'https://example.org:8443/cells.ozx'
    >>> printable_url("https://user:secret@[::1/cells.ozx?X-Amz-Signature=secret")
    'https://[::1/cells.ozx'
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # http://[
        return _USER.sub("://", url.partition("?")[0].partition("#")[0])
    # The container of abfss://container@account/… is where other URLs have a user.
    host = parts.netloc if parts.scheme.lower().startswith("abfs") else parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else url.partition("?")[0]


def changed(name: str, expected: int, found: int) -> FormatError:
    """Return the error for a remote file that changed between two answers of its server."""
    sizes = f": {expected:,} bytes before, {found:,} now" if expected != found else ""
    return FormatError(
        f"the file changed while it was read{sizes}",
        path=name,
        rule="zip/changed",
        hint="Open it again to read the present file.",
    )


def missing_extra(name: str, error: ImportError) -> ResourceError:
    """Return the error for an installation without the extra ``remote``."""
    return ResourceError(
        f"reading from a URL needs the package obstore: {error}", path=name, hint=install_hint("remote")
    )


def explain(error: Exception, name: str) -> ResourceError:
    """Explain an obstore error about the file called `name`."""
    kind, text = type(error).__name__, str(error)
    status = _STATUS.search(text)
    answer = f"the server answered {' '.join(filter(None, status.groups())).strip()}" if status else ""
    if kind == "NotSupportedError" or "NotPartial" in text:  # from HTTP servers; from object stores
        return ResourceError(
            "expected a server that gives parts of a file (HTTP range requests); it answered with the whole file",
            path=name,
            hint="Download the file and open the copy, or use a server that supports range requests.",
        )
    failure = explain_code(text, name)
    if failure is not None:
        return failure
    if isinstance(error, FileNotFoundError):
        missing = ResourceError(f"no such file; {answer or 'the server does not know it'}", path=name)
        missing.errno = errno.ENOENT
        return missing
    if kind in ("PermissionDeniedError", "UnauthenticatedError") or (status and status[1] in ("401", "403")):
        return ResourceError(
            f"reading is not allowed: {answer or 'the server refused'}",
            path=name,
            hint="Check the credentials, or whether a signed URL has expired; "
            "for a public bucket give --anonymous (ozx.storage_options(anonymous=True)).",
        )
    if status:
        return ResourceError(f"cannot read: {answer}", path=name, hint="Try again later, or ask who runs the server.")
    return ResourceError(
        f"cannot reach the server: {_cause(text, kind)}", path=name, hint="Check the address and the connection."
    )


def explain_code(text: str, name: str) -> ResourceError | None:
    """Explain the error code in an answer, or None if it has none that says more than the status."""
    if "169.254.169.254" in text or "TokenRequest" in text:  # where a computer in a cloud asks for its role
        return ResourceError(
            "no credentials were found, in options, environment, profile or role of the computer",
            path=name,
            hint="For a public bucket give --anonymous (ozx.storage_options(anonymous=True)).",
        )
    code = _CODE.search(text)
    if not code or code[1] not in _CODES:
        return None
    message, hint = _CODES[code[1]]
    failure = ResourceError(message, path=name, hint=hint)
    failure.errno = errno.ENOENT if code[1] == "NoSuchBucket" else None
    return failure


def explain_options(error: Exception, name: str) -> UsageError:
    """Return the error for options that obstore refuses; its message shows option keys, never values."""
    key = re.search(r"(?:Configuration key: |argument |Invalid key: )'?([A-Za-z_0-9]+)", str(error))
    if key:
        message = f"the option {key[1]!r} is not known for this kind of URL"
    elif "must be specified" in str(error):
        message = str(error).splitlines()[0].rpartition(": ")[2]
    else:
        message = "the URL and its options do not fit together"
    return UsageError(
        message, path=name, hint="The options are those of obstore's store for this kind of URL: see its documentation."
    )


def _cause(text: str, kind: str) -> str:
    """Return the system's message if it is known to hold no secrets."""
    said = _SYSTEM.search(text)
    if said:
        return said[1]
    if "TimedOut" in text or "kind: Timeout" in text:
        return "no answer in time"
    if "kind: Interrupted" in text:
        return "the connection ended before the answer was complete"
    if "certificate" in text.lower():
        return "its certificate is not accepted"
    if "ParseContentRange" in text or "NoContentRange" in text:
        return "its answer does not say which part of the file it is"
    return f"the connection failed ({kind})"

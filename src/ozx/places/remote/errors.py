"""Explanations of failed requests to a server, without secrets.

obstore's messages quote the URL with its query, and the server's answer: both may contain keys. The messages of ozx
repeat only harmless parts.
"""

from __future__ import annotations

import errno
import re
from urllib.parse import urlsplit

from ozx.errors import FormatError, ResourceError, UsageError
from ozx.file_changes import OPEN_AGAIN, changed

_STATUS = re.compile(r"status code: (\d{3})(?: ([A-Z][A-Za-z' -]*))?")
# The code in an answer of S3 or GCS, whose other parts may hold secrets.
_CODE = re.compile(r"<Code>([A-Za-z]+)</Code>")
_CHECK = "Check the credentials."
_ACCESS = (
    "Check the credentials, or whether a signed URL has expired; "
    "for a public bucket give ozx.storage_options(anonymous=True)."
)
_REGION = "Give the region, as in ozx.storage_options(region='NAME'), or set AWS_REGION."
_CODES = {
    "NoSuchBucket": (
        "the bucket does not exist",
        "Check the name, and the endpoint in ozx.storage_options(endpoint='URL').",
    ),
    "PermanentRedirect": ("the bucket is in another region", _REGION),
    "AuthorizationHeaderMalformed": ("the bucket is in another region", _REGION),
    "IllegalLocationConstraintException": ("the bucket is in another region", _REGION),
    "RequestTimeTooSkewed": (
        "the clock of this computer is wrong: the server refused the time of a request",
        "Set the clock.",
    ),
    "InvalidAccessKeyId": ("the access key does not exist on the server", _CHECK),
    "SignatureDoesNotMatch": ("the secret access key is wrong", _CHECK),
    "ExpiredToken": ("the session token has expired", "Get a new token."),
    "ContainerNotFound": (
        "the container does not exist",
        "Check the name, and the account (AZURE_STORAGE_ACCOUNT_NAME).",
    ),
    "AuthenticationFailed": ("the key or signature is wrong or has expired", _CHECK),
    "PublicAccessNotPermitted": ("the account allows no access without credentials", _CHECK),
    "SlowDown": ("the server received too many requests", "Try again later."),
}
# Words in obstore's errors about connections, and what they mean.
_CAUSES = (
    (("InvalidMessage(",), "it does not use TLS; the URL may have to begin with http://"),
    (("TimedOut", "kind: Timeout"), "no answer in time"),
    (("kind: Interrupted",), "the connection ended before the answer was complete"),
    (("certificate", "Certificate"), "its certificate is not accepted"),
)
# Words in obstore's errors about answers that do not fit the request, and what they mean.
_ANSWERS = (
    (
        ("NotSupportedError", "NotPartial"),  # from HTTP servers; from object stores
        "the server sent the whole file: it does not support HTTP range requests",
    ),
    (
        ("ParseContentRange", "NoContentRange"),
        "the server did not say in the header Content-Range which part it sent, and how long the file is",
    ),
    (("UnexpectedRange",), "the server sent another part of the file than the requested one"),
    (("TooManyRedirects",), "the server redirects the request in a circle"),
)
_DOWNLOAD = "Download the file and open the copy, or use a server that supports range requests."
_USER = re.compile(r"://[^/]*@")
_CERTIFICATE = re.compile(r"InvalidCertificate\(\s*(?:Other\(\s*OtherError\(\s*)?([A-Za-z]+)")
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


def changed_error(name: str, expected: int, found: int) -> FormatError:
    """Return the error for a remote file that changed between two responses of its server."""
    sizes = f": {expected:,} bytes before, {found:,} now" if expected != found else ""
    return changed(name, OPEN_AGAIN, sizes)


def folder_error(name: str) -> ResourceError:
    """Return the error for a folder where an archive is expected."""
    hint = "If it is an OME-Zarr directory, give the URL with a slash at its end."
    if name.endswith(("/", ".zarr")):  # commands that read directories would have read it as one
        hint = f"This command reads files. If it is an OME-Zarr directory, make a file: ozx pack {name} OUT.ozx"
    return ResourceError("expected a file; found a folder: there are objects below this URL", path=name, hint=hint)


def object_error(name: str) -> FormatError:
    """Return the error for an object where a folder is expected."""
    return FormatError(
        "expected an OME-Zarr directory; found one object, with nothing below it",
        path=name,
        rule="rfc9/root",
        hint="If it is an archive, give it a name that ends in .ozx or .zip.",
    )


def explain(error: Exception, name: str) -> ResourceError:
    """Convert an obstore error about the file `name` to an error of ozx with an explanation."""
    kind, text = type(error).__name__, str(error)
    status = _STATUS.search(text)
    answer = f"the server answered {' '.join(filter(None, status.groups())).strip()}" if status else ""
    wrong = (message for words, message in _ANSWERS if any(word in text or word == kind for word in words))
    if (message := next(wrong, None)) is not None:
        return ResourceError(message, path=name, hint=_DOWNLOAD)
    failure = explain_code(text, name)
    if failure is not None:
        return failure
    if isinstance(error, FileNotFoundError):
        missing = ResourceError(f"no such file; {answer or 'the server found nothing at this URL'}", path=name)
        missing.errno = errno.ENOENT
        return missing
    if kind in ("PermissionDeniedError", "UnauthenticatedError") or (status and status[1] in ("401", "403")):
        return ResourceError(
            f"reading is not allowed: {answer or 'the server refused'}",
            path=name,
            hint=_ACCESS,
        )
    if status:
        return ResourceError(f"cannot read: {answer}", path=name, hint="Try again, or ask the server's operator.")
    return ResourceError(
        f"cannot reach the server: {_cause(text, kind)}", path=name, hint="Check the address and the connection."
    )


def explain_code(text: str, name: str) -> ResourceError | None:
    """Return an error that explains the error code in a server's response, or None for an unknown code."""
    if "redirect without LOCATION" in text:  # what S3 answers to a request for a part
        return ResourceError("the bucket is in another region", path=name, hint=_REGION)
    if "Request has expired" in text:
        return ResourceError("the signed URL has expired", path=name, hint="Get a new URL.")
    if "169.254.169.254" in text or "TokenRequest" in text:  # where a cloud computer asks for its role
        return ResourceError(
            "found no credentials in the options, environment variables, profile or cloud role of the computer",
            path=name,
            hint="For a public bucket give ozx.storage_options(anonymous=True).",
        )
    code = _CODE.search(text)
    if not code or code[1] not in _CODES:
        return None
    message, hint = _CODES[code[1]]
    failure = ResourceError(message, path=name, hint=hint)
    failure.errno = errno.ENOENT if code[1] == "NoSuchBucket" else None
    return failure


def explain_options(error: Exception, name: str) -> UsageError:
    """Return the error for options that obstore refuses; its message contains the keys of options, never values."""
    key = re.search(r"(?:Configuration key: |argument |Invalid key: )'?([A-Za-z_0-9]+)", str(error))
    if key:
        message = f"the option {key[1]!r} is not known for this kind of URL"
    elif "must be specified" in str(error):
        message = str(error).splitlines()[0].rpartition(": ")[2]
    else:
        message = "the options do not match the URL"
    return UsageError(message, path=name, hint="See the documentation of obstore for the options of this kind of URL.")


def _cause(text: str, kind: str) -> str:
    """Return the cause of a failed connection, in words that cannot contain secrets."""
    said, certificate = _SYSTEM.search(text), _CERTIFICATE.search(text)
    if certificate:
        return f"its certificate is not accepted ({certificate[1]})"
    if "dns error" in text:
        return f"its name is not known{f' ({said[1]})' if said else ''}"
    if said:
        return said[1]
    causes = (cause for words, cause in _CAUSES if any(word in text for word in words))
    return next(causes, f"the connection failed ({kind})")

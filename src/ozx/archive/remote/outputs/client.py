"""Interface of the clients that create an object in a store, and the errors of these clients."""

from __future__ import annotations

from typing import IO, NamedTuple, Protocol, Self

from ozx.archive.remote.errors import printable_url
from ozx.atomic.targets import EXISTS_HINT
from ozx.errors import FormatError, ResourceError, UsageError
from ozx.extras import install_hint

#: The name of the metadata that identify the upload of an object: after a lost reply, they show that the object exists.
#: All stores allow this name, and no proxy server drops such metadata.
MARK = "ozxupload"


class FoundObject(NamedTuple):
    """An existing object: its length in bytes, and the random text with which an upload marked it."""

    size: int
    mark: str


def check_made(found: FoundObject | None, size: int, mark: str, name: str) -> None:
    """Raise an error if the object that a server has after an upload is not the one with this length and mark.

    Raises
    ------
    FormatError
        Another program has replaced the object (``zip/changed``).
    ResourceError
        There is no object, or it has another length.
    """
    if found is not None and found.mark != mark:
        raise FormatError(
            "another program wrote this object at the same time; what was written here is lost",
            path=name,
            rule="zip/changed",
            hint="Look at the object, then run the command again.",
        )
    if found is None or found.size != size:
        there = "no object" if found is None else f"{found.size:,} bytes"
        raise ResourceError(f"expected an object of {size:,} bytes on the server; found {there}", path=name)


class ObjectClient(Protocol):
    """Interface of a client for one object; its methods raise errors in plain words and without secrets.

    Attributes
    ----------
    most_parts
        The largest number of parts, or None without a limit.
    is_in_order
        Whether parts have to be sent one after the other.
    """

    most_parts: int | None
    is_in_order: bool

    def at(self, url: str) -> Self:
        """Return a client for another object in the same bucket or container, with the same connections."""

    def find(self) -> FoundObject | None:
        """Return the object, or None if it does not exist.

        Raises
        ------
        ResourceError
            The server cannot be reached, or refuses; there is no such bucket or container.
        """

    def put(self, body: IO[bytes], size: int, mark: str, *, replace: bool) -> None:
        """Create the object from the `size` bytes of `body`, by one request.

        Raises
        ------
        UsageError
            It exists, and `replace` is false.
        ResourceError
            The server cannot be reached, or refuses.
        """

    def begin(self, mark: str, part_size: int, *, replace: bool) -> None:
        """Begin an upload in parts.

        Raises
        ------
        UsageError, ResourceError
            As for `put`.
        """

    def send(self, number: int, body: IO[bytes], size: int) -> None:
        """Send part `number` (counted from 0).

        Raises
        ------
        ResourceError
            The server cannot be reached, or refuses.
        """

    def complete(self, parts: int) -> None:
        """Complete the upload: create the object from all parts.

        Raises
        ------
        UsageError, ResourceError
            As for `put`.
        """

    def abort(self) -> None:
        """Abort the upload; errors of the server are ignored."""

    def remove(self) -> None:
        """Remove the object, if it exists.

        Raises
        ------
        ResourceError
            The server cannot be reached, or refuses.
        """


def exists_error(url: str) -> UsageError:
    """Return the error for an object that already exists."""
    return UsageError("the object exists already", path=printable_url(url), hint=EXISTS_HINT)


def no_container_error(url: str, kind: str = "bucket") -> ResourceError:
    """Return the error for a bucket or container that does not exist."""
    return ResourceError(
        f"the {kind} does not exist",
        path=printable_url(url),
        hint="Check the name, and the endpoint (--storage-option).",
    )


def forbidden_error(url: str, doing: str) -> ResourceError:
    """Return the error for credentials without the necessary permission."""
    return ResourceError(
        f"the server does not allow ozx to {doing}",
        path=printable_url(url),
        hint="Check the credentials and their permissions.",
    )


def missing_package(scheme: str, package: str, extra: str, error: ImportError) -> ResourceError:
    """Return the error for a missing optional package that a store requires."""
    return ResourceError(f"writing to {scheme}:// needs the package {package}: {error}", hint=install_hint(extra))

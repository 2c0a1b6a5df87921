"""The errors ozx raises, split by what the user has to change.

The file (`FormatError`), the tool (`UnsupportedError`), the call (`UsageError`) or the world around it
(`ResourceError`). Each message says what was expected, what was found and where; the way out is the `hint`.
"""

from __future__ import annotations

from typing import NoReturn

__all__ = [
    "FormatError",
    "NotOmeZarrWarning",
    "OzxError",
    "OzxWarning",
    "PartialFileWarning",
    "ResourceError",
    "RewrittenWarning",
    "UnsupportedError",
    "UsageError",
    "raise_error",
]


class OzxError(Exception):
    """What every error raised on purpose derives from.

    Parameters
    ----------
    message
        What was expected, what was found, and where inside the file.
    path
        The file or directory concerned; it leads the printed message.
    rule
        The id of the rule that was broken (``zip/overlap``); ``ozx rules ID`` explains it.
    hint
        What to do about it, one sentence.

    Examples
    --------
    >>> error = OzxError("no root zarr.json", path="cells.ozx", rule="rfc9/root", hint="Try ozx repack.")
    >>> str(error)
    'cells.ozx: no root zarr.json'
    >>> error.rule, error.hint
    ('rfc9/root', 'Try ozx repack.')
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        rule: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.rule = rule
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.path is None else f"{self.path}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        # The default would rebuild the error from `args` alone and fail on the way back from a worker process.
        state = {"path": self.path, "rule": self.rule, "hint": self.hint}
        return (_rebuild, (type(self), self.message, state))

    def at(self, path: str) -> OzxError:
        """Return the same error, told which file it is about unless it knows already.

        Parameters
        ----------
        path
            The file or directory concerned.
        """
        if self.path is None:
            self.path = path
        return self


class FormatError(OzxError, ValueError):
    """The file is wrong: it breaks the rule named by `rule`.

    Examples
    --------
    >>> import ozx
    >>> with open("cells.ozx", "r+b") as file:
    ...     size = file.truncate(60_000)
    >>> try:
    ...     ozx.open("cells.ozx")
    ... except ozx.FormatError as error:
    ...     print(error.rule)
    zip/truncated
    """


class UnsupportedError(OzxError, NotImplementedError):
    """The file may be right, but uses something that ozx does not handle.

    Examples
    --------
    >>> import numpy, ozx
    >>> try:
    ...     ozx.write_image("cells.words.ozx", numpy.array([["two", "words"]]))
    ... except ozx.UnsupportedError as error:
    ...     print(error.message.rpartition("; ")[2])
    found <U5
    """


class UsageError(OzxError, ValueError):
    """The call is wrong: arguments that do not fit together, or an output that exists already.

    Examples
    --------
    >>> import ozx
    >>> try:
    ...     ozx.pack("cells.ome.zarr", "cells.ozx")
    ... except ozx.UsageError as error:
    ...     print(error, error.hint, sep="; ")
    cells.ozx exists already; Give --force (force=True) to replace it, or another name.
    """


class ResourceError(OzxError, OSError):
    """The world is wrong: disk, permissions, network, or an extra that is not installed.

    `ozx.open` and `ozx.OzxStore` raise it for a file that is not there, where others raise `FileNotFoundError`: zarr
    takes that for a missing key.

    Examples
    --------
    >>> import ozx
    >>> try:
    ...     ozx.open("missing.ozx")
    ... except ozx.ResourceError as error:
    ...     print(error.message)
    there is no such file
    """

    def __str__(self) -> str:
        # OSError comes with a __str__ of its own, which would show the arguments instead of the message.
        return OzxError.__str__(self)


def raise_error(error: BaseException) -> NoReturn:
    """Raise what is given: for `os.walk`, which leaves out what it cannot list unless it is told otherwise.

    Raises
    ------
    BaseException
        `error`.

    Examples
    --------
    >>> import os
    >>> list(os.walk("nowhere")), list(os.walk("nowhere", onerror=raise_error))
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'
    """
    raise error


def _rebuild(kind: type[OzxError], message: str, state: dict[str, str | None]) -> OzxError:
    return kind(message, **state)


class OzxWarning(UserWarning):
    """What every warning of the library derives from.

    Examples
    --------
    >>> issubclass(NotOmeZarrWarning, OzxWarning)  # so that one filter is for all of them
    True
    """


class NotOmeZarrWarning(OzxWarning):
    """What was written is zipped Zarr, but no OME-Zarr: readers of images will not know it.

    Examples
    --------
    >>> import warnings, ozx, zarr
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     with ozx.OzxStore("cells.plain.ozx", mode="w") as store:
    ...         group = zarr.create_group(store)
    >>> [warning.category.__name__ for warning in told]
    ['NotOmeZarrWarning']
    """


class RewrittenWarning(OzxWarning):
    """The metadata outgrew the room kept for it, so that the file was written a second time."""


class PartialFileWarning(OzxWarning):
    """An earlier writer of the same file did not finish; what it wrote was kept under another name."""

"""The error classes of ozx, by cause.

The cause is the file (`FormatError`), a missing feature of ozx (`UnsupportedError`), the call (`UsageError`) or the
environment (`ResourceError`). Each message says what was expected, what was found and where; `hint` says what to do.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from ozx.missing_files import hint_at_folder, hint_at_missing

#: The longest message in characters. A file decides how long its names and lists are: they must not fill a screen, a
#: log or an e-mail.
LONGEST_TEXT = 2000
_RECOVER = "Copy or download the file again; `ozx recover FILE OUT.ozx` saves the undamaged entries."
_RECOVERED = "zip/directory zip/end-record zip/leading-entries zip/bounds zip/zip64-field zip/local-header zip/inflate"
# Leaves room for the path and the rule.
_LONGEST_MESSAGE = 1500


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """Return `text`, shortened in the middle to at most `most` characters."""
    if len(text) <= most:
        return text
    room = most - len(f" ({len(text):,} characters left out) ")
    end = max(1, room // 3)
    start = max(1, room - end)
    return f"{text[:start]} ({len(text) - start - end:,} characters left out) {text[-end:]}"


class OzxError(Exception):
    """Base class of all errors that ozx raises intentionally.

    Parameters
    ----------
    message
        What was expected, what was found, and where in the file. A message of more than 1,500 characters is shortened
        in its middle.
    path
        The file or directory concerned; the printed message begins with this path.
    rule
        The id of the broken rule (``zip/overlap``); ``ozx rules ID`` explains it.
    hint
        What the user can do about the error, in one sentence.

    Attributes
    ----------
    code
        A stable name of the kind of the error, such as ``missing``; the JSON output has the same name.

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
        self.message = shortened(message, _LONGEST_MESSAGE)
        super().__init__(self.message)
        self.path = path
        self.rule = rule
        hint = hint or (_RECOVER if rule in _RECOVERED.split() else None)
        self.hint = None if hint is None else shortened(hint, _LONGEST_MESSAGE)

    def __str__(self) -> str:
        return self.message if self.path is None else shortened(f"{self.path}: {self.message}")

    def __reduce__(self) -> tuple[object, ...]:
        # The default would call the class with `args` alone, which fails on the way back from a worker process.
        state = {"path": self.path, "rule": self.rule, "hint": self.hint}
        return (_rebuild, (type(self), self.message, state))

    @property
    def code(self) -> str:
        """Stable name of the kind of the error, for use in programs.

        It is ``format``, ``changed`` (the file changed while it was read), ``unsupported`` or ``usage``; for a
        `ResourceError` ``full-disk``, ``quota``, ``stale-handle``, ``missing``, ``forbidden`` or else ``resource``;
        ``fault`` for a fault of ozx.

        Examples
        --------
        >>> import ozx
        >>> try:
        ...     ozx.open("missing.ozx")
        ... except ozx.OzxError as error:
        ...     print(error.code)
        missing
        """
        if isinstance(self, ResourceError):
            return _CODES_OF_THE_SYSTEM.get(self.errno or 0, "resource")
        if self.rule == "zip/changed":
            return "changed"
        kinds = {FormatError: "format", UnsupportedError: "unsupported", UsageError: "usage"}
        return next((code for kind, code in kinds.items() if isinstance(self, kind)), "fault")

    def at(self, path: str) -> OzxError:
        """Return this error; set its `path` if it has no path yet.

        Parameters
        ----------
        path
            The file or directory concerned.
        """
        if self.path is None:
            self.path = path
        return self


class FormatError(OzxError, ValueError):
    """Error for an invalid file; `rule` names the rule that the file breaks.

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
    """Error for a file that may be valid but uses a feature that ozx does not support.

    Examples
    --------
    >>> import numpy, ozx
    >>> try:
    ...     ozx.write_image("cells.words.ozx", numpy.array([["two", "words"]]))
    ... except ozx.UnsupportedError as error:
    ...     print(error.message.partition(":")[0])
    OME-Zarr cannot store <U5
    """


class UsageError(OzxError, ValueError):
    """Error for an invalid call: conflicting arguments, or an output that already exists.

    Examples
    --------
    >>> import ozx
    >>> try:
    ...     ozx.pack("cells.ome.zarr", "cells.ozx")
    ... except ozx.UsageError as error:
    ...     print(error, error.hint, sep="; ")
    cells.ozx: the file exists already; Choose another name, or give force=True to replace it.
    """


class UnknownNameError(UsageError, KeyError):
    """`UsageError` that is also a `KeyError`: an image has no label image, well or field of this name."""


class ResourceError(OzxError, OSError):
    """Error of the environment: disk, permissions, network, or a missing optional package.

    A system error keeps its `errno`, `strerror` and `filename`, and its kind: the error for a missing file is also a
    `FileNotFoundError`, the error for an unreadable file also a `PermissionError`. Exception: for a missing file, the
    methods of `ozx.OzxStore` raise a plain `ResourceError`, because for zarr a `FileNotFoundError` means a missing key.

    Examples
    --------
    >>> import ozx
    >>> try:
    ...     ozx.open("missing.ozx")
    ... except FileNotFoundError as error:
    ...     print(isinstance(error, ozx.ResourceError), error)
    True missing.ozx: No such file or directory
    """

    def __str__(self) -> str:
        # OSError has another __str__, which would show the arguments instead of the message.
        return OzxError.__str__(self)

    def __reduce__(self) -> tuple[object, ...]:
        system = {name: getattr(self, name) for name in _OF_THE_SYSTEM if getattr(self, name) is not None}
        return (*super().__reduce__(), system)


class BufferFull(ResourceError):  # noqa: N818 (as queue.Full)
    """Error for a frame that a stream with ``when_full="raise"`` rejects, because the memory for frames is full.

    Examples
    --------
    >>> import ozx
    >>> issubclass(ozx.BufferFull, ozx.ResourceError)
    True
    """


_OF_THE_SYSTEM = ("errno", "strerror", "filename", "filename2")


class MissingFileError(ResourceError, FileNotFoundError):
    """`ResourceError` that is also a `FileNotFoundError`."""


class ForbiddenError(ResourceError, PermissionError):
    """`ResourceError` that is also a `PermissionError`."""


class ExistingFileError(ResourceError, FileExistsError):
    """`ResourceError` that is also a `FileExistsError`."""


class FolderError(ResourceError, IsADirectoryError):
    """`ResourceError` that is also an `IsADirectoryError`."""


class NoFolderError(ResourceError, NotADirectoryError):
    """`ResourceError` that is also a `NotADirectoryError`."""


class TimeLimitError(ResourceError, TimeoutError):
    """`ResourceError` that is also a `TimeoutError`."""


_KINDS = (MissingFileError, ForbiddenError, ExistingFileError, FolderError, NoFolderError, TimeLimitError)


def resource_error(error: OSError, *, message: str | None = None, hint: str | None = None) -> ResourceError:
    """Return a `ResourceError` with the same meaning as a system error."""
    if isinstance(error, ResourceError):
        return error
    kind = next((kind for kind in _KINDS if isinstance(error, kind.__bases__[1])), ResourceError)
    name = error.filename if isinstance(error.filename, str | bytes | os.PathLike) else None
    path = None if name is None else os.fsdecode(name)
    if hint is None and path is not None and kind in (MissingFileError, NoFolderError):
        hint = hint_at_missing(path)
    if hint is None and path is not None and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        hint = hint_at_folder(path)
    ours = kind(message or error.strerror or str(error) or type(error).__name__, path=path, hint=hint)
    for attribute in _OF_THE_SYSTEM:
        setattr(ours, attribute, getattr(error, attribute, None))
    return ours


def name_error(error: OSError, path: str) -> None:
    """Add a file name to a system error without a file name, such as an error from a call with a file descriptor.

    Examples
    --------
    >>> error = OSError(116, "Stale file handle")
    >>> name_error(error, "cells.ome.zarr/0/c/0")
    >>> str(resource_error(error))
    'cells.ome.zarr/0/c/0: Stale file handle'
    """
    if error.filename is None and not isinstance(error, ResourceError):
        error.filename = path


_CODES_OF_THE_SYSTEM = {
    errno.ENOSPC: "full-disk",
    errno.EDQUOT: "quota",
    errno.ESTALE: "stale-handle",
    errno.ENOENT: "missing",
    errno.EACCES: "forbidden",
    errno.EPERM: "forbidden",
    errno.EROFS: "forbidden",
}


@contextmanager
def resource_errors() -> Iterator[None]:
    """Convert system errors in a ``with`` block or decorated function to `ResourceError`.

    `ResourceError`: The system raised an `OSError`; both errors have the same kind. Errors about a broken pipe or
    connection pass unchanged, because it is not an error if the reader has ended.
    """
    try:
        yield
    except (OzxError, ConnectionError):
        raise
    except OSError as error:
        raise resource_error(error) from error


def raise_error(error: BaseException) -> NoReturn:
    """Raise `error`. Pass this function to `os.walk`, which otherwise skips folders that it cannot list.

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
    """Base class of all warnings of the library.

    Reading warns if the archive comment has a key below ``ome`` that ozx does not understand: it may change the
    meaning of the file.

    Examples
    --------
    >>> issubclass(NotOmeZarrWarning, OzxWarning)  # one filter covers all of them
    True
    """


class NotOmeZarrWarning(OzxWarning):
    """Warning that the written file is zipped Zarr, but not OME-Zarr, so that image readers will not open it.

    Examples
    --------
    >>> import warnings, ozx, zarr
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     with ozx.OzxStore("cells.plain.ozx", mode="w") as store:
    ...         group = zarr.create_group(store)
    >>> [warning.category.__name__ for warning in caught]
    ['NotOmeZarrWarning']
    """


class RewrittenWarning(OzxWarning):
    """Warning that a file was written twice, because the metadata became larger than the reserved space."""


class PartialFileWarning(OzxWarning):
    """Warning that an earlier process did not finish the same file. The unfinished data is kept under another name."""

"""The errors ozx raises, split by what the user has to change.

The file (`FormatError`), the tool (`UnsupportedError`), the call (`UsageError`) or the world around it
(`ResourceError`). Each message says what was expected, what was found and where; the way out is the `hint`.
"""

from __future__ import annotations

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
        """Return the same error, told which file it is about unless it knows already."""
        if self.path is None:
            self.path = path
        return self


class FormatError(OzxError, ValueError):
    """The file is wrong: it breaks the rule named by `rule`."""


class UnsupportedError(OzxError, NotImplementedError):
    """The file may be right, but uses something that ozx does not handle."""


class UsageError(OzxError, ValueError):
    """The call is wrong: arguments that do not fit together, or an output that exists already."""


class ResourceError(OzxError, OSError):
    """The world is wrong: disk, permissions, network, or an extra that is not installed."""

    def __str__(self) -> str:
        # OSError comes with a __str__ of its own, which would show the arguments instead of the message.
        return OzxError.__str__(self)


def _rebuild(kind: type[OzxError], message: str, state: dict[str, str | None]) -> OzxError:
    return kind(message, **state)


class OzxWarning(UserWarning):
    """What every warning of the library derives from."""


class NotOmeZarrWarning(OzxWarning):
    """What was written is zipped Zarr, but no OME-Zarr: readers of images will not know it."""


class RewrittenWarning(OzxWarning):
    """The metadata outgrew the room kept for it, so that the file was written a second time."""


class PartialFileWarning(OzxWarning):
    """An earlier writer of the same file did not finish; what it wrote was kept under another name."""

"""Reports of unexpected exceptions, which are faults of ozx itself.

Exit code 70 (EX_SOFTWARE of BSD's sysexits.h) distinguishes them from all other errors.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback

from ozx.errors import OzxError, ResourceError, resource_error, shortened

#: If this environment variable is set, a fault comes with its traceback.
DEBUG_VARIABLE = "OZX_DEBUG"

_LONGEST_REPORT = 600
_HINT = (
    "Please report it: send these lines, the command and (if possible) the file to the developers of ozx. "
    f"To see a traceback, set {DEBUG_VARIABLE}=1."
)


class FaultError(OzxError):
    """Error for a fault of ozx itself, with a message for the user."""

    fault: str = ""  # type of the exception, and the innermost line of ozx in its traceback

    def __reduce__(self) -> tuple[object, ...]:
        return (*super().__reduce__(), {"fault": self.fault})


def as_error(error: Exception) -> OzxError:
    """Return the error to report for an exception; an unexpected exception becomes a `FaultError`."""
    if isinstance(error, OzxError):
        return error
    if isinstance(error, OSError):
        return resource_error(error)
    if isinstance(error, MemoryError):
        details = f": {shortened(str(error), _LONGEST_REPORT)}" if str(error) else ""
        return ResourceError(
            f"this computer ran out of memory{details}",
            hint="Close other programs, or use a computer with more memory.",
        )
    show_traceback(error)
    return _fault(error)


def show_traceback(error: BaseException) -> None:
    """Write the traceback of `error` to stderr if the environment variable `DEBUG_VARIABLE` is set."""
    if os.environ.get(DEBUG_VARIABLE) and sys.stderr is not None:
        traceback.print_exception(error)


def _fault(error: Exception) -> FaultError:
    place = _place(error)
    system = f"Python {sys.version.split()[0]}, {sys.platform}"
    version = importlib.import_module("ozx").__version__
    fault = FaultError(
        f"this is a fault of ozx, not of your files: {type(error).__name__}: "
        f"{shortened(' '.join(str(error).split()), _LONGEST_REPORT)}\n  {place}; ozx {version}, {system}",
        hint=_HINT,
    )
    fault.fault = f"{type(error).__name__} {place}"
    return fault


def _place(error: BaseException) -> str:
    """Return the innermost source line of ozx in the traceback of an exception."""
    home = os.path.dirname(os.path.abspath(__file__))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith(home + os.sep):
            name = os.path.relpath(frame.filename, os.path.dirname(home)).replace(os.sep, "/")
            return f"at {name}:{frame.lineno} in {frame.name}"
    return "at an unknown place"

"""The exit codes of the command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ozx.errors import OzxError, ResourceError, UsageError
from ozx.faults import FaultError

DONE, WRONG_FILE, WRONG_USAGE, WITH_LOSS, WRONG_WORLD, FAULT, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130


def exit_code(error: BaseException) -> int:
    """Return the exit code for `error`."""
    if isinstance(error, FaultError):
        return FAULT
    if isinstance(error, UsageError):
        return WRONG_USAGE
    if isinstance(error, OzxError) and not isinstance(error, ResourceError):
        return WRONG_FILE
    return WRONG_WORLD


def code_of(failure: Mapping[str, str | None]) -> int:
    """Return the exit code for an error that `ozx.flow.batch.describe_failure` described."""
    codes = {
        "format": WRONG_FILE,
        "changed": WRONG_FILE,
        "unsupported": WRONG_FILE,
        "usage": WRONG_USAGE,
        "fault": FAULT,
    }
    return codes.get(failure["code"] or "", WRONG_WORLD)


def batch_code(failures: Iterable[Mapping[str, str | None] | None]) -> int:
    """Return the exit code of a batch; `failures` has one item for each source: its error, or None."""
    failed = [failure for failure in failures if failure is not None]
    if any("fault" in failure for failure in failed):
        return FAULT
    return WITH_LOSS if failed else DONE

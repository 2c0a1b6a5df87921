"""Process many sources, each into its own output file; an error in one file does not stop the other files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from ozx.atomic.targets import EXISTS_HINT
from ozx.errors import OzxError
from ozx.faults import FaultError
from ozx.flow.batch_checks import check_distinct, check_room
from ozx.flow.tasks import Groups, attempt, groups_elsewhere
from ozx.places.place import Place
from ozx.progress import Progress, StoppableProgress
from ozx.quoting import quote
from ozx.threads import checked_jobs, working

_RESUME_HINT = "Give resume=True to skip complete outputs, or force=True to replace them."

# A hint that ends in a command for the files of a folder, such as raw/*.tif.
_FOR_FILES_OF_A_FOLDER = re.compile(r"ozx (import|pack) .*\*\.\S+$")

_Result = TypeVar("_Result")
_Work = Callable[[str, str, Progress], _Result]
_Fail = Callable[[str, str, OzxError], _Result]


def run_batch(
    work: _Work[_Result],
    fail: _Fail[_Result],
    pairs: Sequence[tuple[str, str]],
    *,
    jobs: int,
    what: str,
    progress: Progress,
    on_result: Callable[[_Result], object] | None = None,
    executor: Executor | None = None,
    again: _Work[_Result] | None = None,
) -> tuple[_Result, ...]:
    """Run an operation on each pair of source and target; return the results in the order of the pairs.

    `fail` turns an error of one pair, or a fault of ozx, into a result; an interrupt ends the batch. `what` is the
    plural noun for the sources, shown with the progress. The calling thread passes each result to `on_result`.

    An `executor` replaces the threads and gets groups of pairs, with absolute paths. Its tasks may run in other
    processes: functions must be picklable, and `progress` only gets regular reports of 0 bytes. A task may run twice if
    its first worker is lost; `again` replaces `work` where the target was not there before.
    """
    jobs = checked_jobs(jobs)
    stoppable = _BatchProgress(progress)
    tell = on_result or (lambda _: None)
    progress.start(f"{len(pairs):,} {what if len(pairs) != 1 else what.removesuffix('s')}", None)
    try:
        if executor is not None:
            return _collect(groups_elsewhere(work, fail, pairs, executor, stoppable, again), stoppable, tell)
        if jobs <= 1 or len(pairs) <= 1:
            results = []
            for pair in pairs:
                results.append(attempt(work, fail, pair, stoppable))
                tell(results[-1])
            return tuple(results)
        with working(min(jobs, len(pairs))) as workers:
            step = partial(attempt, work, fail, progress=stoppable)
            return _collect(Groups(step, fail, pairs, workers.executor, stoppable, most=1), stoppable, tell, waits=True)
    except KeyboardInterrupt:
        if stoppable.failure is not None:
            raise stoppable.failure from None
        raise
    finally:
        progress.stop()


def _collect(
    groups: Groups[_Result],
    stoppable: StoppableProgress,
    tell: Callable[[_Result], object],
    *,
    waits: bool = False,
) -> tuple[_Result, ...]:
    """Return the results in order.

    After an interrupt, tell the results that exist by then; with `waits`, wait before for the tasks that have begun.
    """
    results: dict[int, _Result] = {}
    try:
        for number, result in groups:
            results[number] = result
            tell(result)
    except BaseException:
        stoppable.stop_all()
        for _, result in groups.stop(waits=waits):
            tell(result)
        raise
    return tuple(results[number] for number in range(len(results)))


class _BatchProgress(StoppableProgress):
    """Progress of a batch; an error that the progress display raises interrupts the whole batch.

    An `Exception` would not: `attempt` turns it into the failure of a single file.
    """

    failure: Exception | None = None

    def advance(self, amount: int) -> None:
        """Add to the number of bytes that the batch has processed."""
        try:
            super().advance(amount)
        except Exception as error:
            self.failure = error
            raise KeyboardInterrupt from error


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result for one file of a batch; without error, `status` is the word for success."""

    source: str
    path: str
    status: str
    result: Any = None
    error: dict[str, str | None] | None = None

    @property
    def bytes(self) -> int | None:
        """Length of the written file in bytes; None after a failure, or if the result does not contain this length."""
        return getattr(self.result, "bytes", None)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as an element of ``results`` in the JSON output of a command."""
        result = None if self.result is None else self.result.to_dict()
        names = {"source": Place(self.source).name, "path": self.path, "status": self.status}
        return {**names, "result": result, "error": self.error}


def run_each(
    work: Callable[[str, str, Progress], Any],
    pairs: Sequence[tuple[str, str]],
    *,
    done: str,
    jobs: int,
    progress: Progress,
    on_result: Callable[[FileResult], object],
    executor: Executor | None = None,
    again: Callable[[str, str, Progress], Any] | None = None,
) -> tuple[FileResult, ...]:
    """Run an operation on each pair of source and target, and return the results in order; see `run_batch`."""
    check_distinct([source for source, _ in pairs], [target for _, target in pairs], verb="Write")
    check_room(pairs)

    options: dict[str, Any] = {"jobs": jobs, "what": "files", "progress": progress, "on_result": on_result}
    options |= {"executor": executor, "again": partial(_done, again or work, done)}
    return run_batch(partial(_done, work, done), _failed, pairs, **options)


def _done(work: _Work[Any], done: str, source: str, target: str, progress: Progress) -> FileResult:
    return FileResult(source, target, done, work(source, target, progress))


def _failed(source: str, target: str, error: OzxError) -> FileResult:
    return FileResult(source, target, "failed", error=describe_failure_of(source, target, error))


def describe_failure_of(
    source: str, target: str, error: OzxError, *, can_resume: bool = False
) -> dict[str, str | None]:
    """Return the ``--json`` description of an error; the message in it names `source`.

    If the output exists, the hint names ``--resume`` where the command has this option (`can_resume`). If `source` is a
    folder and the hint is a command for its files, the command in the hint writes into the folder of `target`.

    Examples
    --------
    >>> from ozx.errors import UsageError
    >>> describe_failure_of("a.tif", "a.ozx", UsageError("the file exists already", path="a.ozx"))["message"]
    'a.tif: a.ozx: the file exists already'
    >>> error = UsageError("raw is a directory of 2 TIFF images", hint="Run: ozx import raw/*.tif")
    >>> describe_failure_of("raw", "imported/raw.ozx", error)["hint"]
    'Run: ozx import raw/*.tif --out-dir imported'
    """
    answer, name = describe_failure(error), Place(source).name
    if name not in str(error):
        answer["message"] = f"{name}: {error}"
    folder = os.path.dirname(target)
    if can_resume and error.hint == EXISTS_HINT:
        answer["hint"] = _RESUME_HINT
    elif error.hint and folder != os.path.dirname(source):
        answer["hint"] = hint_with_folder(error.hint, folder or os.curdir)
    return answer


def hint_with_folder(hint: str, folder: str) -> str:
    """Return `hint`; if it ends in a command for the files of a folder, add the option to write into `folder`."""
    return f"{hint} --out-dir {quote(Place(folder).name)}" if _FOR_FILES_OF_A_FOLDER.search(hint) else hint


def describe_failure(error: OzxError) -> dict[str, str | None]:
    """Return the ``--json`` fields of an error: ``code``, ``message``, ``rule``, ``hint``; of a bug, also ``fault``."""
    answer = {"code": error.code, "message": str(error), "rule": error.rule, "hint": error.hint}
    return answer | {"fault": error.fault} if isinstance(error, FaultError) else answer

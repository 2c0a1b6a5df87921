"""Process many sources, each into its own output file; an error in one file does not stop the other files."""

from __future__ import annotations

import importlib
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from ozx.archive.remote.access import carrying_options
from ozx.atomic.targets import EXISTS_HINT
from ozx.errors import OzxError, ResourceError, UsageError, shortened
from ozx.faults import FaultError, as_error
from ozx.flow.distinct_outputs import check_distinct
from ozx.flow.sources.location import printable_location
from ozx.flow.space import check_room
from ozx.flow.workers import checked_jobs
from ozx.progress import NO_PROGRESS, Progress, StoppableProgress

__all__ = [
    "FileResult",
    "describe_failure",
    "describe_failure_of",
    "hint_with_folder",
    "run_batch",
    "run_each",
]

_RESUME_HINT = "Give --resume (resume=True) to skip complete outputs, or --force (force=True) to replace them."

_SECONDS_BETWEEN_REPORTS = 0.5

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
) -> tuple[_Result, ...]:
    """Run an operation on each pair of source and target; return the results in the order of the pairs.

    Parameters
    ----------
    work
        Makes the target of a source and reports its progress.
    fail
        Turns an error of one pair, or a fault of ozx, into a result. An interrupt ends the batch.
    pairs
        Sources and targets.
    jobs
        Number of threads.
    what
        Plural noun for the sources, shown with the progress; without its s, it is the singular.
    progress
        Receives the progress of `work`.
    on_result
        The calling thread passes each result to this function as soon as the result exists.
    executor
        Executor that replaces the threads and runs one task for each pair. Its tasks may run in other processes: `work`
        and `fail` must be picklable, and `work` gets no progress; `progress` only gets regular reports of 0 bytes. A
        task may run twice if its first worker is lost.

    Raises
    ------
    UsageError
        `jobs` is less than 1, or not a whole number.

    Examples
    --------
    >>> from ozx.progress import NO_PROGRESS
    >>> pairs = [("a", "b"), ("c", "d")]
    >>> run_batch(lambda *pair: pair[:2], lambda *pair: None, pairs, jobs=2, what="letters", progress=NO_PROGRESS)
    (('a', 'b'), ('c', 'd'))
    """
    jobs = checked_jobs(jobs)
    stoppable = _BatchProgress(progress)
    tell = on_result or (lambda _: None)
    progress.start(f"{len(pairs):,} {what if len(pairs) != 1 else what.removesuffix('s')}", None)
    try:
        if executor is not None:
            task = partial(_attempt_of_version, importlib.import_module("ozx").__version__, work, fail)
            return _run_tasks(task, fail, pairs, executor, stoppable, tell)
        if jobs <= 1 or len(pairs) <= 1:
            results = []
            for pair in pairs:
                results.append(_attempt(work, fail, pair, stoppable))
                tell(results[-1])
            return tuple(results)
        with ThreadPoolExecutor(min(jobs, len(pairs)), "ozx-batch") as pool:
            task = partial(_attempt, work, fail, progress=stoppable)
            return _run_tasks(task, fail, pairs, pool, stoppable, tell, waits=True)
    except _DisplayError as failure:
        raise failure.error from None
    finally:
        progress.stop()


def _run_tasks(
    task: Callable[[tuple[str, str]], _Result],
    fail: _Fail[_Result],
    pairs: Sequence[tuple[str, str]],
    executor: Executor,
    stoppable: StoppableProgress,
    tell: Callable[[_Result], object],
    *,
    waits: bool = False,
) -> tuple[_Result, ...]:
    """Run a task for each pair; return the results in order.

    After an interrupt, tell the results that exist by then; with `waits`, wait before for the tasks that have begun.
    """
    results: dict[int, _Result] = {}
    futures: dict[Future[_Result], int] = {}
    task = carrying_options(task)

    def take(future: Future[_Result]) -> None:
        number = futures[future]
        results[number] = _result_of(future, fail, pairs[number])
        tell(results[number])

    try:
        for number, pair in enumerate(pairs):
            futures[executor.submit(task, pair)] = number
        for future in _as_completed(futures, stoppable):
            take(future)
        return tuple(results[number] for number in range(len(pairs)))
    except BaseException:
        stoppable.stop_all()
        for future in futures:
            future.cancel()
        if waits:
            executor.shutdown()
        for future, number in futures.items():
            if number not in results and future.done() and not future.cancelled() and not future.exception():
                take(future)
        raise


class _DisplayError(BaseException):
    """Wrapper of an error that the progress display raised; it ends the whole batch.

    It is not an `Exception`, because `_attempt` turns each `Exception` into the failure of a single file.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class _BatchProgress(StoppableProgress):
    """Progress of a batch; an error that the progress display raises becomes a `_DisplayError`."""

    def advance(self, amount: int) -> None:
        """Add to the number of bytes that the batch has processed."""
        try:
            super().advance(amount)
        except Exception as error:
            raise _DisplayError(error) from error


def _as_completed(futures: Collection[Future[_Result]], progress: Progress) -> Iterator[Future[_Result]]:
    """Yield futures as they end; report progress in between, so that the program can cancel the batch."""
    ended: SimpleQueue[Future[_Result]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(ended.put)
    left = len(futures)
    while left:
        progress.advance(0)
        with suppress(Empty):
            yield ended.get(timeout=_SECONDS_BETWEEN_REPORTS)
            left -= 1


def _attempt(work: _Work[_Result], fail: _Fail[_Result], pair: tuple[str, str], progress: Progress) -> _Result:
    try:
        return work(*pair, progress)
    except Exception as error:  # noqa: BLE001 (a fault of ozx in one file does not stop the others)
        return fail(*pair, as_error(error))


def _attempt_of_version(version: str, work: _Work[_Result], fail: _Fail[_Result], pair: tuple[str, str]) -> _Result:
    """Process one source and its output on a worker; return a failure if the versions of ozx differ."""
    own = importlib.import_module("ozx").__version__
    if own != version:
        return fail(*pair, UsageError(f"expected a worker with ozx {version}; this one has {own}", path=pair[0]))
    return _attempt(work, fail, pair, NO_PROGRESS)


def _result_of(future: Future[_Result], fail: _Fail[_Result], pair: tuple[str, str]) -> _Result:
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 (whatever the executor raises when it gives a task up)
        reason = f"the workers that processed it were lost: {type(error).__name__}: {error}"
        return fail(*pair, ResourceError(shortened(reason), path=pair[0], hint="Repeat the run with --retry-failed."))


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result for one file of a batch.

    Attributes
    ----------
    source, path
        The file that was read, and the one that was written.
    status
        The word for success, or ``failed``.
    result
        The result of the operation, or None.
    error
        For a failure ``{"code", "message", "rule", "hint"}``, else None.
    """

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
        names = {"source": printable_location(self.source), "path": self.path, "status": self.status}
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
) -> tuple[FileResult, ...]:
    """Run an operation on each pair of source and target, and return the results in order; see `run_batch`.

    Raises
    ------
    UsageError
        A source is given twice, or two sources would become the same file.
    ResourceError
        The file system has less room than the outputs need.

    Examples
    --------
    >>> from ozx.progress import NO_PROGRESS
    >>> options = {"done": "read", "jobs": 1, "progress": NO_PROGRESS, "on_result": lambda result: None}
    >>> run_each(lambda source, target, progress: None, [("a", "b")], **options)[0].status
    'read'
    """
    check_distinct([source for source, _ in pairs], [target for _, target in pairs], verb="Write")
    check_room(pairs)

    attempt, fail = partial(_done, work, done), _failed
    options: dict[str, Any] = {"jobs": jobs, "what": "files", "progress": progress, "on_result": on_result}
    return run_batch(attempt, fail, pairs, **options, executor=executor)


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
    >>> describe_failure_of("a.tif", "a.ozx", UsageError("the file exists already", path="a.ozx"))["message"]
    'a.tif: a.ozx: the file exists already'
    >>> error = UsageError("raw is a directory of 2 TIFF images", hint="Run: ozx import raw/*.tif")
    >>> describe_failure_of("raw", "imported/raw.ozx", error)["hint"]
    'Run: ozx import raw/*.tif --out-dir imported'
    """
    answer, name = describe_failure(error), printable_location(source)
    if name not in str(error):
        answer["message"] = f"{name}: {error}"
    folder = os.path.dirname(target)
    if can_resume and error.hint == EXISTS_HINT:
        answer["hint"] = _RESUME_HINT
    elif error.hint and folder != os.path.dirname(source):
        answer["hint"] = hint_with_folder(error.hint, folder or os.curdir)
    return answer


def hint_with_folder(hint: str, folder: str) -> str:
    """Return `hint`; if it ends in a command for the files of a folder, add the option to write into `folder`.

    Examples
    --------
    >>> hint_with_folder("Run: ozx import raw/*.tif", "imported")
    'Run: ozx import raw/*.tif --out-dir imported'
    """
    return (
        f"{hint} --out-dir {shlex.quote(printable_location(folder))}" if _FOR_FILES_OF_A_FOLDER.search(hint) else hint
    )


def describe_failure(error: OzxError) -> dict[str, str | None]:
    """Return the ``--json`` fields of an error: ``code``, ``message``, ``rule``, ``hint``; for a bug, also ``fault``.

    Examples
    --------
    >>> describe_failure(UsageError("is given twice", path="a.tif", hint="Name it once."))
    {'code': 'usage', 'message': 'a.tif: is given twice', 'rule': None, 'hint': 'Name it once.'}
    """
    answer = {"code": error.code, "message": str(error), "rule": error.rule, "hint": error.hint}
    return answer | {"fault": error.fault} if isinstance(error, FaultError) else answer

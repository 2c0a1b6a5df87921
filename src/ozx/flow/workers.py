"""Choose and check the number of threads of a run, and the executor that transcodes."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from ozx.errors import UsageError
from ozx.processors import processors

_MOST_JOBS = 4

_Key = TypeVar("_Key")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Workers:
    """The number of threads of one run, which also is that of concurrent shards, and the executor that transcodes."""

    jobs: int
    executor: Executor


def default_jobs() -> int:
    """Return the default number of threads: one per usable processor, at most four: more do not help."""
    return min(_MOST_JOBS, processors())


def checked_jobs(jobs: int) -> int:
    """Return a number of threads as an integer of Python.

    Without this check, a number below 1 would start no thread, and nothing would do the work.
    """
    try:
        count = operator.index(jobs)
    except TypeError:
        raise UsageError(f"expected a whole number of jobs; got {jobs!r}") from None
    if count < 1:
        raise UsageError(f"expected at least 1 job; got {count}")
    return count


@contextmanager
def working(jobs: int | None = None, executor: Executor | None = None) -> Iterator[Workers]:
    """Yield the workers of a run, by default `default_jobs` threads; shut an executor down that was created here."""
    count = default_jobs() if jobs is None else checked_jobs(jobs)
    if executor is not None:
        yield Workers(count, executor)
        return
    pool = ThreadPoolExecutor(count, "ozx-transcode")
    try:
        yield Workers(count, pool)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def in_order(submitted: Iterable[tuple[_Key, Future[_Result]]], most: int) -> Iterator[tuple[_Key, _Result]]:
    """Yield the result of each task after its key, in the order of the tasks.

    `submitted` submits a task each time that it is asked for one; at most `most` tasks wait or run at a time. After an
    error, those that have not begun are cancelled.
    """
    waiting: deque[tuple[_Key, Future[_Result]]] = deque()
    try:
        for task in submitted:
            waiting.append(task)
            if len(waiting) >= most:
                key, future = waiting.popleft()
                yield key, future.result()
        while waiting:
            key, future = waiting.popleft()
            yield key, future.result()
    finally:
        for _, future in waiting:
            future.cancel()

"""Choose and check the number of threads of a run, and the executor that transcodes."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from ozx.errors import UsageError
from ozx.processors import processors

_MOST_JOBS = 4


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

"""The threads of a run: how many, the executor, results in the order of their tasks; and locks after a fork."""

from __future__ import annotations

import math
import operator
import os
import posixpath
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from ozx.errors import UsageError

_MOST_JOBS = 4
_CGROUPS = "sys/fs/cgroup"

_Key = TypeVar("_Key")
_Item = TypeVar("_Item")
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
    pool = ThreadPoolExecutor(count, "ozx-work")
    try:
        yield Workers(count, pool)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def map_ahead(
    work: Callable[[_Item], _Result], items: Iterable[_Item], threads: int, ahead: int | None = None
) -> Iterator[_Result]:
    """Yield the result of `work` for each item, in order, from threads that run ahead of the caller.

    At most `ahead` items wait or run at a time, by default one for each thread.
    """
    with working(threads) as workers:
        submitted = ((None, workers.executor.submit(work, item)) for item in items)
        for _, result in in_order(submitted, ahead or threads):
            yield result


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


def processors(root: str = "/") -> int:
    """Return how many processors this process may use: by affinity (``taskset``, Slurm) and by the quota of its cgroup.

    `root` is the folder with ``proc`` and ``sys``, for tests. A quota of one and a half processors counts as two.
    """
    count = getattr(os, "process_cpu_count", os.cpu_count)() or 1  # since Python 3.13; also knows PYTHON_CPU_COUNT
    with suppress(AttributeError, OSError):  # only Linux has it
        count = min(count, len(os.sched_getaffinity(0)))
    return min(count, _quota_of_process(root) or count)


@cache
def _quota_of_process(root: str) -> int | None:
    """Return the smallest quota, rounded up; None without a quota."""
    return min(map(math.ceil, _quotas(root)), default=None)


def _quotas(root: str) -> Iterator[float]:
    """Yield the quotas, in processors, of this process's cgroup and of those above it (`man 7 cgroups`)."""
    with suppress(OSError, ValueError), open(os.path.join(root, "proc/self/cgroup"), encoding="utf-8") as file:
        for _, controllers, path in (line.rstrip("\n").split(":", 2) for line in file):
            if controllers and "cpu" not in controllers.split(","):
                continue
            # A container may see its own cgroup as the root of the mount, and the path that it has outside.
            group = posixpath.normpath("/" + path.lstrip("/"))
            while True:
                yield from _quota(os.path.join(root, _CGROUPS), controllers, group.lstrip("/"))
                if group == "/":
                    break
                group = posixpath.dirname(group)


def _quota(mount: str, controllers: str, group: str) -> Iterator[float]:
    """Yield the quota of one cgroup; nothing if it has none."""
    for name in (controllers, "cpu") if controllers else ("",):
        texts = []
        # Version 1 has two files; in version 2, one file has both numbers.
        for file in ("cpu.cfs_quota_us", "cpu.cfs_period_us") if controllers else ("cpu.max",):
            with suppress(OSError), open(os.path.join(mount, name, group, file), encoding="ascii") as opened:
                texts += opened.read().split()
        with suppress(ValueError, ZeroDivisionError):
            quota, period = map(int, texts)  # "max" and -1 mean no quota
            if quota > 0:
                yield quota / period


# Locks of forked child processes, in which the thread that held a lock does not exist.

# By identity: a holder may be compared by value.
_holders: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def renew_after_fork(holder: Any) -> None:
    """Call ``holder.renew_locks()`` in every forked child process while `holder` exists."""
    _holders[id(holder)] = holder


def _renew() -> None:
    for holder in list(_holders.values()):
        holder.renew_locks()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_renew)

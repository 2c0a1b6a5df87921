"""Share one thread pool among all pixel requests of this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from ozx.flow.workers import default_jobs
from ozx.store.after_fork import renew_after_fork

T = TypeVar("T")


class _Pool:
    """A thread pool whose threads start on first use."""

    def __init__(self) -> None:
        self.renew_locks()
        renew_after_fork(self)

    def renew_locks(self) -> None:
        """Discard the threads, which do not exist in a forked child process."""
        self._executor: ThreadPoolExecutor | None = None

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Run `function` in a thread."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(default_jobs(), "ozx-pixels")
        return self._executor.submit(function)


POOL = _Pool()

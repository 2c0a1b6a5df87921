"""The number of processors that this process may use, which decides how many threads ozx starts."""

from __future__ import annotations

import math
import os
import posixpath
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

_CGROUPS = "sys/fs/cgroup"


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

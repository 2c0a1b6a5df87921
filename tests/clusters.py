"""A Dask cluster of processes on this computer, and progress that kills one of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from counting_progress import CountingProgress

if TYPE_CHECKING:
    from distributed import Client, LocalCluster


@contextmanager
def local_cluster(threads: int = 1) -> Iterator[tuple[LocalCluster, Client]]:
    """Yield a cluster of two processes with `threads` threads each, and a client of the cluster."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 (extra ci)

    options = {"n_workers": 2, "threads_per_worker": threads, "processes": True, "host": "127.0.0.1"}
    # Port 0 means any free port; the default is 8787, which another cluster may use.
    with LocalCluster(dashboard_address="127.0.0.1:0", **options) as cluster, Client(cluster) as client:
        yield cluster, client


def any_process(client: Client) -> int:
    """Return the process id of a worker."""
    return next(iter(client.run(os.getpid).values()))


class Killer(CountingProgress):
    """Progress that kills a process after the second block."""

    def __init__(self, process: int) -> None:
        super().__init__()
        self.process, self.calls = process, 0  # calls: finished blocks

    def advance(self, amount: int) -> None:
        """Count a block; the second block kills the process."""
        super().advance(amount)
        self.calls += 1
        if self.calls == 2:
            os.kill(self.process, signal.SIGKILL)

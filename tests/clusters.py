"""Work done by the processes of a Dask cluster on this computer, one of which is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from counting_progress import CountingProgress
from distributed import Client, LocalCluster

__all__ = ["Killer", "any_process", "local_cluster"]


@contextmanager
def local_cluster(threads: int = 1) -> Iterator[tuple[LocalCluster, Client]]:
    """Give a cluster of two processes with so many threads each, and a client of it."""
    options = {"n_workers": 2, "threads_per_worker": threads, "processes": True, "host": "127.0.0.1"}
    # Port 0 is any free one: without an address it is 8787, which another cluster may have.
    with LocalCluster(dashboard_address="127.0.0.1:0", **options) as cluster, Client(cluster) as client:
        yield cluster, client


def any_process(client: Client) -> int:
    """Return the process id of a worker."""
    return next(iter(client.run(os.getpid).values()))


class Killer(CountingProgress):
    """Progress that kills a process once some blocks are done.

    Attributes
    ----------
    calls
        How many blocks were done.
    """

    def __init__(self, process: int) -> None:
        super().__init__()
        self.process, self.calls = process, 0

    def advance(self, amount: int) -> None:
        """Count a block, of which the second kills."""
        super().advance(amount)
        self.calls += 1
        if self.calls == 2:
            os.kill(self.process, signal.SIGKILL)

"""Functions that end work from outside: by a signal at a random moment, or by a full disk."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from children import in_child, wait
from hierarchies import state
from posix_only import SIGKILL, resource
from sweeping import forget_swept_folders

#: The number of kills in a test, for all of its parameters together.
KILLS = int(os.environ.get("OZX_KILLS", "60"))

needs_fork = pytest.mark.posix("needs fork and SIGKILL")


def random_endings(
    work: Callable[[], object],
    usual: float,
    start_anew: Callable[[int], object],
    *,
    seed: int,
    times: int = KILLS // 2,
    kind: signal.Signals = SIGKILL,
) -> Iterator[int]:
    """Run `work` several times in another process, and end each run at a random moment; yield the number of each run.

    `usual` is the usual duration of `work` in seconds; `start_anew` runs before each run, with its number.
    """
    moments, ended, latest = random.Random(seed), 0, usual * 1.1
    for number in range(times):
        start_anew(number)
        forget_swept_folders()
        child = in_child(work)
        time.sleep(moments.uniform(0, latest))
        os.kill(child, kind)
        code = wait(child, seconds=30)
        assert kind == signal.SIGKILL or code != -signal.SIGKILL, f"{kind.name} did not end the process"
        was_in_time = code != 0
        ended += was_in_time
        # Follow the load of the machine, so that seven of ten signals come in time.
        latest *= 1.1 if was_in_time else 0.8
        yield number
    assert ended > times // 3 or times < 20  # a few runs may all end first, on a machine that is less busy than before
    forget_swept_folders()


def die_at_step(deadly: int, places: Iterable[tuple[Any, str]]) -> None:
    """Let this process kill itself just before call number `deadly` (from 0), counted over all these functions.

    `places` has the owner and the name of each function; those that this system lacks are ignored.
    """
    count = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **keywords: Any) -> Any:
            nonlocal count
            if count == deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
            return function(*arguments, **keywords)

        return step

    for owner, name in places:
        if hasattr(owner, name):
            setattr(owner, name, counted(getattr(owner, name)))


def assert_no_more_than(folder: Path, *names: str) -> None:
    """Assert that a folder contains only these names, and temporary files, which the next run removes."""
    left = [name for name in os.listdir(folder) if name not in names]
    assert all(name.startswith(".") and name.endswith((".ozx-tmp", ".ozx-swap", ".ozx-old")) for name in left), left


def rooms_below(whole: int) -> tuple[int, ...]:
    """Return some numbers of bytes that are too small for a file of `whole` bytes."""
    return 0, 1, 1_000, 1 << 20, whole // 2, whole - 1


def full_disks(
    work: Callable[[], object], rooms: Iterable[int], *, names: str | os.PathLike[str] | None = None
) -> Iterator[int]:
    """Run `work` with a limit for the size of files; expect an error, about the file `names`; yield each limit."""
    for room in rooms:

        def limited(room: int = room) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            try:
                work()
            except OSError as error:
                os._exit(4 if names is None or error.filename == os.fspath(names) else 5)

        assert wait(in_child(limited)) == 4
        yield room


def check_full_disks(
    work: Callable[[], object], out: Path, rooms: Iterable[int], *, names: str | os.PathLike[str] | None = None
) -> None:
    """Let `work` fail for want of room: it must leave `out` as it is, and nothing beside it."""
    before, beside = state(out), sorted(os.listdir(out.parent))
    for _ in full_disks(work, rooms, names=names):
        assert state(out) == before
        assert sorted(os.listdir(out.parent)) == beside

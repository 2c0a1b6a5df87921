"""Tasks of a batch on an executor, such as that of a Dask cluster, whose workers may see other files.

Files go to the workers in groups, because sending a task takes longer than processing a small file.
"""

from __future__ import annotations

import importlib
import os
import platform
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import cache, partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from ozx.atomic.host import this_host
from ozx.atomic.targets import absolute_path
from ozx.errors import OzxError, ResourceError, UsageError, shortened
from ozx.faults import as_error
from ozx.flow.sinks.output import present_outputs
from ozx.places.place import Place
from ozx.places.remote.access import carrying_options
from ozx.progress import NO_PROGRESS, Progress

_SECONDS_BETWEEN_REPORTS = 0.5

# A group ends after this time, so that one worker does not keep many large files, and results come soon.
_SECONDS_PER_GROUP = 0.5
_LARGEST_GROUP = 64
# Each thread gets several groups: the last ones, which are small, end at about the same time.
_GROUPS_PER_THREAD = 2
_THREADS_ELSEWHERE = 32  # if the executor does not tell

_Result = TypeVar("_Result")
_Work = Callable[[str, str, Progress], _Result]
_Fail = Callable[[str, str, OzxError], _Result]

#: What identifies a file or folder: host, device, inode, ctime. None: nothing is there.
Seen = tuple[str, int, int, int] | None
# Absolute paths or URLs of source and target; whether the target is new; what the client sees at the three `_places`.
_Item = tuple[str, str, bool, list[Seen]]


class Groups(Generic[_Result]):
    """Iterator over the number and the result of each item, as an executor completes them; items begin with a pair.

    `progress` gets reports of 0 bytes in between, in which it may cancel the batch. A task has at most `most` items.
    """

    def __init__(
        self,
        step: Callable[[Any], _Result],
        fail: _Fail[_Result],
        items: Sequence[tuple[Any, ...]],
        executor: Executor,
        progress: Progress = NO_PROGRESS,
        *,
        most: int = _LARGEST_GROUP,
    ) -> None:
        self._task, self._fail = carrying_options(partial(_run_group, step)), fail
        self._items, self._executor, self._progress, self._most = items, executor, progress, most
        self._futures: dict[Future[list[_Result]], Sequence[int]] = {}
        self._ended: SimpleQueue[Future[list[_Result]]] = SimpleQueue()
        self._answers: deque[tuple[int, _Result]] = deque()

    def __iter__(self) -> Iterator[tuple[int, _Result]]:
        first, count, threads = 0, len(self._items), _count_threads(self._executor)
        while first < count:
            size = max(1, min(self._most, (count - first) // (_GROUPS_PER_THREAD * threads)))
            self._submit(range(first, min(first + size, count)))
            first += size
        while self._futures:
            self._progress.advance(0)
            with suppress(Empty):
                self._take(self._ended.get(timeout=_SECONDS_BETWEEN_REPORTS))
            while self._answers:
                yield self._answers.popleft()

    def _submit(self, numbers: Sequence[int]) -> None:
        future = self._executor.submit(self._task, [self._items[number] for number in numbers])
        self._futures[future] = numbers
        future.add_done_callback(self._ended.put)

    def _take(self, future: Future[list[_Result]]) -> None:
        """Take the results of a group, and submit its other items again: one by one if the workers were lost."""
        numbers = self._futures.pop(future)
        try:
            results = future.result()
        except Exception as error:  # noqa: BLE001 (whatever the executor raises when it gives a task up)
            reason = shortened(f"the workers that processed it were lost: {type(error).__name__}: {error}")
            results = []
            if len(numbers) == 1 or future.cancelled():
                for source, target, *_ in (self._items[number] for number in numbers):
                    lost = ResourceError(reason, path=source, hint="Repeat the run for the failed files.")
                    results.append(self._fail(source, target, lost))
        self._answers.extend(zip(numbers, results, strict=False))
        size = len(results) or 1
        for first in range(len(results), len(numbers), size):
            self._submit(numbers[first : first + size])

    def stop(self, *, waits: bool = False) -> Iterator[tuple[int, _Result]]:
        """Cancel the tasks, with `waits` wait for those that have begun, and return the results not yet returned."""
        for future in self._futures:
            future.cancel()
        if waits:
            self._executor.shutdown()
        for future, numbers in self._futures.items():
            if future.done() and not future.cancelled() and not future.exception():
                self._answers.extend(zip(numbers, future.result(), strict=False))
        return iter(self._answers)


def _run_group(step: Callable[[Any], _Result], items: list[Any]) -> list[_Result]:
    """Return the results of the first item, and of the next ones until the time is over."""
    end, results = time.monotonic() + _SECONDS_PER_GROUP, []
    for item in items:
        results.append(step(item))
        if time.monotonic() > end:
            break
    return results


def _count_threads(executor: Executor) -> int:
    """Return how many tasks an executor runs at a time, as far as it tells."""
    count: int = getattr(executor, "_max_workers", 0)  # of threads and processes
    with suppress(Exception):
        count = sum(executor._client.nthreads().values())  # type: ignore[attr-defined] # noqa: SLF001 (of Dask)
    return count or _THREADS_ELSEWHERE


def attempt(work: _Work[_Result], fail: _Fail[_Result], pair: tuple[str, str], progress: Progress) -> _Result:
    """Process a pair of source and target; return a failure after an error."""
    try:
        return work(*pair, progress)
    except Exception as error:  # noqa: BLE001 (a fault of ozx in one file does not stop the others)
        return fail(*pair, as_error(error))


def groups_elsewhere(
    work: _Work[_Result],
    fail: _Fail[_Result],
    pairs: Sequence[tuple[str, str]],
    executor: Executor,
    progress: Progress = NO_PROGRESS,
    again: _Work[_Result] | None = None,
) -> Groups[_Result]:
    """Return the groups for workers that may have another working directory, or be on other computers.

    `again` replaces `work` where the target is new, and so may come from the first run of a task.
    """
    step = partial(_step, importlib.import_module("ozx").__version__, work, again or work, fail)
    look, present, items = cache(look_at), present_outputs(Place(target) for _, target in pairs if target), []
    for given, out in pairs:
        source, target = absolute_source(given), Place(out).absolute().path if out else ""
        items.append((source, target, Place(out) not in present, list(map(look, _places(source, target)))))
    return Groups(step, fail, items, executor, progress)


def absolute_source(source: str) -> str:
    """Return a source with an absolute path; URLs stay."""
    return absolute_path(source) if os.path.lexists(source) else Place(source).absolute().path


def _step(version: str, work: _Work[_Result], again: _Work[_Result], fail: _Fail[_Result], item: _Item) -> _Result:
    """Process a pair on a worker, if it has the version of ozx and sees the files of the client."""
    _, _, is_new, (seen_file, seen_folder, seen_out) = item

    def checked(source: str, target: str, progress: Progress) -> _Result:
        own = importlib.import_module("ozx").__version__
        if own != version:
            raise UsageError(f"expected a worker with ozx {version}; this one has {own}", path=source)
        file, folder, out = _places(source, target)
        if look_at(file) is None and file:  # a first run of this task may have removed it
            check_same(folder, seen_folder, is_folder=True)
        else:
            check_same(file, seen_file)
        check_same(out, seen_out, is_folder=True)
        return (again if is_new else work)(source, target, progress)

    return attempt(checked, fail, item[:2], NO_PROGRESS)


def _places(source: str, target: str) -> tuple[str, str, str]:
    """Return the paths of the source's file, of its folder, and of the target's folder; empty for URLs."""
    file = folder = ""
    with suppress(OzxError):  # the operation raises it again
        place = Place.parse(source)
        if place.kind() != "a URL":
            file, folder = place.path, os.path.dirname(place.full_path())
    return file, folder, os.path.dirname(os.path.abspath(target)) if os.path.isabs(target) else ""


def look_at(path: str) -> Seen:
    """Return what identifies the file or folder at a path."""
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode):
            # On opening a file or folder, NFS asks the server instead of its cache ("close-to-open", man 5 nfs).
            with suppress(PermissionError):  # Windows opens no folders
                descriptor = os.open(path, os.O_RDONLY)
                status = os.fstat(descriptor)
                os.close(descriptor)
    except (OSError, ValueError):
        return None
    return this_host(), status.st_dev, status.st_ino, status.st_ctime_ns


def check_same(path: str, seen: Seen, *, is_folder: bool = False) -> None:
    """Raise `ResourceError` if this process does not see what another one has `seen` at a path.

    Computers number the devices of a file server each for itself, but get inodes and times from it. Inodes alone do not
    suffice for a source: computers that were set up alike have the same ones on their own disks. The ctime of a folder
    for outputs changes.
    """
    own = look_at(path)
    if own is None or seen is None or own[:3] == seen[:3]:
        is_same = (own is None) == (seen is None)
    else:
        is_same = own[0] != seen[0] and own[2] == seen[2] if is_folder else own[2:] == seen[2:]
    if is_same:
        return
    raise ResourceError(
        f"the worker on {platform.node()} does not see the same file or folder at this path as the client, or it has "
        "changed since the run began; nothing was done",
        path=path,
        hint="Start the workers where the same folders have the same paths, or give URLs. If the file changed, repeat "
        "the run for the failed files.",
    )

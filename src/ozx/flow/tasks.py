"""Tasks of a batch on an executor, such as that of a Dask cluster, whose workers may see other files.

Files go to the workers in groups, because a small file takes less time than sending a task. A worker processes a file
only if it sees the same source and the same folder for the output as the client.
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
from typing import Generic, NamedTuple, TypeVar

from ozx.archive.remote.access import carrying_options
from ozx.atomic.host import this_host
from ozx.errors import OzxError, ResourceError, UsageError, shortened
from ozx.faults import as_error
from ozx.flow.sinks.output import as_absolute, present_outputs
from ozx.flow.sources.location import parse_location
from ozx.progress import NO_PROGRESS, Progress

_SECONDS_BETWEEN_REPORTS = 0.5

# A group ends after this time, so that one worker does not keep many large files, and results come soon.
_SECONDS_PER_GROUP = 0.25
_LARGEST_GROUP = 32
# Each worker gets several groups: the last ones, which are small, end at about the same time.
_GROUPS_PER_THREAD = 4
_THREADS_ELSEWHERE = 32  # if the executor does not tell

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Work = Callable[[str, str, Progress], _Result]
_Fail = Callable[[str, str, OzxError], _Result]


class Groups(Generic[_Item, _Result]):
    """Iterator over the number and the result of each item, in the order in which an executor completes them.

    Parameters
    ----------
    step
        Processes an item and returns its result.
    lose
        Returns the result of an item whose workers were lost.
    items, executor
        The items, and what runs the tasks.
    progress
        Gets reports of 0 bytes in between, in which it may cancel the batch.
    most
        The largest number of items in a task.
    """

    def __init__(
        self,
        step: Callable[[_Item], _Result],
        lose: Callable[[_Item, OzxError], _Result],
        items: Sequence[_Item],
        executor: Executor,
        progress: Progress = NO_PROGRESS,
        *,
        most: int = _LARGEST_GROUP,
    ) -> None:
        self._task, self._lose = carrying_options(partial(_run_group, step)), lose
        self._items, self._executor, self._progress, self._most = items, executor, progress, most
        self._futures: dict[Future[list[_Result]], list[int]] = {}
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
        self._futures[future] = list(numbers)
        future.add_done_callback(self._ended.put)

    def _take(self, future: Future[list[_Result]], *, is_last: bool = False) -> None:
        """Take the results of a group, and submit its other items again: one by one if the worker was lost."""
        numbers = self._futures.pop(future)
        try:
            results, size = future.result(), 0
        except Exception as error:  # noqa: BLE001 (whatever the executor raises when it gives a task up)
            reason = f"the workers that processed it were lost: {type(error).__name__}: {error}"
            lost = ResourceError(shortened(reason), hint="Repeat the run with --retry-failed.")
            is_alone = len(numbers) == 1 or future.cancelled()
            results, size = [self._lose(self._items[number], lost) for number in numbers] if is_alone else [], 1
        self._answers.extend(zip(numbers, results, strict=False))
        rest, size = numbers[len(results) :], size or len(results)
        for first in range(0, 0 if is_last else len(rest), size):
            self._submit(rest[first : first + size])

    def stop(self, *, waits: bool = False) -> Iterator[tuple[int, _Result]]:
        """Cancel all tasks that have not begun; return the results that exist and were not yet returned.

        With `waits`, wait before for the tasks that have begun.
        """
        for future in self._futures:
            future.cancel()
        if waits:
            self._executor.shutdown()
        for future in list(self._futures):
            if future.done() and not future.cancelled() and not future.exception():
                self._take(future, is_last=True)
        return iter(self._answers)


def _run_group(step: Callable[[_Item], _Result], items: list[_Item]) -> list[_Result]:
    """Return the results of the first item, and of the next ones until the time is over."""
    end, results = time.monotonic() + _SECONDS_PER_GROUP, []
    for item in items:
        results.append(step(item))
        if time.monotonic() > end:
            break
    return results


def _count_threads(executor: Executor) -> int:
    """Return how many tasks an executor runs at a time, as far as it tells."""
    count = getattr(executor, "_max_workers", 0)  # that of threads and of processes
    with suppress(Exception):
        count = sum(executor._client.nthreads().values())  # type: ignore[attr-defined] # noqa: SLF001 (Dask's)
    return count or _THREADS_ELSEWHERE


class _Seen(NamedTuple):
    """What identifies a file or folder: on one computer its device and inode, and on several its inode and ctime."""

    host: str
    device: int
    inode: int
    changed: int


class Pair(NamedTuple):
    """A source and its output, as absolute paths or URLs, with what the client sees there.

    Attributes
    ----------
    source, target
        The paths; the target is empty if there is no output.
    is_new
        Whether nothing was at the target when the batch began.
    seen
        The source, the folder of the source, and the folder of the target.
    """

    source: str
    target: str
    is_new: bool
    seen: tuple[_Seen | None, _Seen | None, _Seen | None]


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[Pair]:
    """Return the pairs for workers, which may have another working directory."""
    look, present = cache(_look), present_outputs(target for _, target in pairs if target)
    found = []
    for given, target in pairs:
        source, out = absolute_source(given), as_absolute(target) if target else ""
        file, *folders = _places(source, out)
        found.append(Pair(source, out, target not in present, (_look(file), look(folders[0]), look(folders[1]))))
    return found


def absolute_source(source: str) -> str:
    """Return a source with an absolute path; a URL, and the location of a node in a URL, stay as they are."""
    return os.path.join(os.getcwd(), source) if os.path.lexists(source) else as_absolute(source)


def attempt(work: _Work[_Result], fail: _Fail[_Result], pair: tuple[str, str], progress: Progress) -> _Result:
    """Process a pair; return a failure after an error."""
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
) -> Groups[Pair, _Result]:
    """Return the groups for workers that may be on other computers; see `ozx.flow.batch.run_batch`."""
    version = importlib.import_module("ozx").__version__
    step = partial(_step, version, work, again or work, fail)
    return Groups(step, lambda pair, error: fail(*pair[:2], error), _pairs(pairs), executor, progress)


def _step(version: str, work: _Work[_Result], again: _Work[_Result], fail: _Fail[_Result], pair: Pair) -> _Result:
    """Process a pair on a worker."""
    try:
        _check_worker(version, pair)
    except OzxError as error:
        return fail(pair.source, pair.target, error)
    return attempt(again if pair.is_new else work, fail, pair[:2], NO_PROGRESS)


def _check_worker(version: str, pair: Pair) -> None:
    """Raise an error if this worker has another version of ozx, or sees other files than the client."""
    own = importlib.import_module("ozx").__version__
    if own != version:
        raise UsageError(f"expected a worker with ozx {version}; this one has {own}", path=pair.source)
    file, folder, out = _places(pair.source, pair.target)
    there = _look(file)
    # A first run of this task may have removed the source.
    is_gone = there is None and folder != "" and _is_one_folder(pair.seen[1], _look(folder))
    for path, is_same in (
        (file, is_gone or _is_one_source(pair.seen[0], there)),
        (out, _is_one_folder(pair.seen[2], _look(out))),
    ):
        if not is_same:
            raise ResourceError(
                f"the worker on {platform.node()} does not see the same file or folder at this path as the client, or "
                "it has changed since the run began; nothing was done",
                path=path,
                hint="Start the workers where the same folders have the same paths, or give URLs. If only the file has "
                "changed, repeat the run with --retry-failed.",
            )


def _is_one_source(here: _Seen | None, there: _Seen | None) -> bool:
    if here is None or there is None or here[:3] == there[:3]:
        return (here is None) == (there is None)
    # The computers that use a file server have other numbers for it, but get inodes and times from it. Inodes alone do
    # not suffice: computers that were set up alike have the same inodes on their own disks.
    return here[2:] == there[2:]


def _is_one_folder(here: _Seen | None, there: _Seen | None) -> bool:
    """As `_is_one_source`, for a folder, whose ctime changes with each new file."""
    if here is None or there is None or here.host == there.host:
        return (here and here[:3]) == (there and there[:3])
    return here.inode == there.inode


def _places(source: str, target: str) -> tuple[str, str, str]:
    """Return the paths of the source's file, of its folder, and of the target's folder; empty for URLs."""
    places = ["", "", ""]
    with suppress(OzxError):  # which the operation raises again
        location = parse_location(source)
        if not location.is_remote:
            places[:2] = location.path, os.path.dirname(os.path.abspath(location.path))
    if os.path.isabs(target):
        places[2] = os.path.dirname(os.path.abspath(target))
    return places[0], places[1], places[2]


def _look(path: str) -> _Seen | None:
    """Return what identifies the file or folder at a path; None if there is none."""
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode):
            # On opening a file or folder, NFS asks the server instead of its cache ("close-to-open", man 5 nfs).
            with suppress(PermissionError):  # Windows opens no folders
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    status = os.fstat(descriptor)
                finally:
                    os.close(descriptor)
    except (OSError, ValueError):
        return None
    return _Seen(this_host(), status.st_dev, status.st_ino, status.st_ctime_ns)

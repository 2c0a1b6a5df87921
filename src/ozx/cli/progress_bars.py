"""Show a progress bar with rate and remaining time, using rich."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as RichBars
from rich.text import Text

from ozx.archive.remote.deadline import Traffic, traffic
from ozx.cli.output import format_bytes


class _Column(ProgressColumn):
    """A progress column with the text that a function makes of the task."""

    def __init__(self, text: Callable[[Task], str]) -> None:
        super().__init__()
        self._text = text

    def render(self, task: Task) -> Text:
        return Text(self._text(task))


def _volume(task: Task) -> str:
    """Return the completed bytes, and their rate since the start."""
    done = task.fields["bytes"]
    return f"{format_bytes(done)} {format_bytes(int(done / max(task.elapsed or 0, 0.1)))}/s"


def _requests_since(before: Traffic, _: Task) -> str:
    """Return the numbers of requests and received bytes; nothing without requests."""
    requests, size = (new - old for new, old in zip(traffic(), before, strict=True))
    return f"{requests:,} requests, {format_bytes(size)} received" if requests else ""


class _Bars:
    """Progress bars on stderr, removed at the end; other output does not go through rich."""

    def __init__(self, *columns: ProgressColumn) -> None:
        self._bars = RichBars(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            *columns,
            TimeRemainingColumn(),
            _Column(partial(_requests_since, traffic())),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the bar while other text is written to the terminal."""
        self._bars.stop()
        try:
            yield
        finally:
            self._bars.start()


class RichProgress(_Bars):
    """A progress bar of bytes, one bar per phase."""

    def __init__(self) -> None:
        super().__init__(DownloadColumn(binary_units=True), TransferSpeedColumn())
        self._task: TaskID | None = None

    def finish_file(self) -> None:
        """Do nothing, because there is only one file."""

    def start(self, description: str, total: int | None) -> None:
        """Begin a phase of `total` bytes."""
        self.stop()
        # A new task: a reset one would keep its total if the new total is None.
        self._task = self._bars.add_task(description, total=total)

    def advance(self, amount: int) -> None:
        """Add `amount` to the bytes of this phase."""
        if self._task is not None:
            self._bars.advance(self._task, amount)

    def stop(self) -> None:
        """End the current phase."""
        if self._task is not None:
            self._bars.remove_task(self._task)
            self._task = None


class RichBatchProgress(_Bars):
    """A progress bar for many files: number of completed files, bytes, rate, remaining time."""

    def __init__(self, files: int) -> None:
        super().__init__(MofNCompleteColumn(), TextColumn("files"), _Column(_volume))
        self._task = self._bars.add_task("", total=files, bytes=0)
        self._lock = threading.Lock()
        self._bytes = 0

    def start(self, description: str, total: int | None) -> None:
        """Ignore the total of one file; the bar counts files, whose number is already set."""

    def advance(self, amount: int) -> None:
        """Add `amount` to the bytes."""
        with self._lock:
            self._bytes += amount
            self._bars.update(self._task, bytes=self._bytes)

    def stop(self) -> None:
        """Do nothing, because the bar ends with the last file."""

    def finish_file(self) -> None:
        """Count one more file as completed."""
        self._bars.advance(self._task)

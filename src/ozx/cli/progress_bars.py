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

from ozx.cli.output import format_bytes
from ozx.places.remote.deadline import Traffic, traffic


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


class RichProgress:
    """Progress bars on stderr, removed at the end; other output does not go through rich.

    For one file, a bar of bytes for each phase; for many, one bar with the number of completed files, and their bytes.
    """

    def __init__(self, files: int) -> None:
        amount = (DownloadColumn(binary_units=True), TransferSpeedColumn())
        counts = (MofNCompleteColumn(), TextColumn("files"), _Column(_volume))
        self._bars = RichBars(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            *(amount if files == 1 else counts),
            TimeRemainingColumn(),
            _Column(partial(_requests_since, traffic())),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._phase: TaskID | None = None
        self._batch = None if files == 1 else self._bars.add_task("", total=files, bytes=0)
        self._lock = threading.Lock()
        self._bytes = 0

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

    def start(self, description: str, total: int | None) -> None:
        """Begin a phase of `total` bytes; of many files, the bar has the number already."""
        if self._batch is None:
            self.stop()
            # A new task: a reset one would keep its total if the new total is None.
            self._phase = self._bars.add_task(description, total=total)

    def advance(self, amount: int) -> None:
        """Add `amount` to the bytes."""
        if self._phase is not None:
            self._bars.advance(self._phase, amount)
        elif self._batch is not None:
            with self._lock:
                self._bytes += amount
                self._bars.update(self._batch, bytes=self._bytes)

    def stop(self) -> None:
        """End the current phase."""
        if self._phase is not None:
            self._bars.remove_task(self._phase)
            self._phase = None

    def finish_file(self) -> None:
        """Count one more file as completed, if there are many."""
        if self._batch is not None:
            self._bars.advance(self._batch)

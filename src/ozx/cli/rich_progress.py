"""Progress as a bar with rate and remaining time, by rich."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bars

__all__ = ["RichProgress"]


class RichProgress:
    """One bar on stderr per phase, removed when the phase ends."""

    def __init__(self) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bars.add_task("", visible=False)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def start(self, description: str, total: int | None) -> None:
        """Begin a phase of `total` bytes."""
        self._bars.reset(self._task, description=description, total=total, visible=True)

    def advance(self, amount: int) -> None:
        """Count `amount` more bytes."""
        self._bars.advance(self._task, amount)

    def stop(self) -> None:
        """End the phase."""
        self._bars.update(self._task, visible=False)

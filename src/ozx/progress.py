"""How long work tells whoever waits how far it is."""

from __future__ import annotations

import threading
from typing import Protocol

__all__ = ["NO_PROGRESS", "Progress", "StoppableProgress"]


class Progress(Protocol):
    """Receives the progress of one long operation; calls may come from any thread, a few a second per worker."""

    def start(self, description: str, total: int | None) -> None:
        """Begin a phase, e.g. ``"packing cells.ozx"``, of `total` bytes (None where nobody knows)."""

    def advance(self, amount: int) -> None:
        """Count `amount` more bytes as done."""

    def stop(self) -> None:
        """End the phase that `start` began."""


class _NoProgress:
    """Progress that nobody looks at."""

    def start(self, description: str, total: int | None) -> None:
        pass

    def advance(self, amount: int) -> None:
        pass

    def stop(self) -> None:
        pass


#: The default of every operation: silence.
NO_PROGRESS: Progress = _NoProgress()


class StoppableProgress:
    """Progress of a batch as one phase, which also ends the batch's threads when it is interrupted.

    Threads cannot be interrupted from outside: each ends itself when it next tells how far it is.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stopped = threading.Event()

    def start(self, description: str, total: int | None) -> None:
        """Do nothing: the batch has begun."""

    def advance(self, amount: int) -> None:
        """Count `amount` more bytes, or raise `KeyboardInterrupt` where the batch was stopped."""
        if self._stopped.is_set():
            raise KeyboardInterrupt
        self._progress.advance(amount)

    def stop(self) -> None:
        """Do nothing: the batch goes on."""

    def stop_all(self) -> None:
        """Have every thread end at its next step."""
        self._stopped.set()

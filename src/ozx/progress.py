"""How long work tells whoever waits how far it is."""

from __future__ import annotations

import threading
from typing import Protocol

__all__ = ["NO_PROGRESS", "Progress", "StoppableProgress"]


class Progress(Protocol):
    """Receives the progress of one long operation; calls may come from any thread, a few a second per worker.

    An operation begins a phase by `start`, counts its bytes by `advance` and ends it by `stop`; an error may end it
    without that.

    Examples
    --------
    >>> import ozx
    >>> class Told:
    ...     def start(self, description, total):
    ...         print(description, total)
    ...     def advance(self, amount):
    ...         pass
    ...     def stop(self):
    ...         print("done")
    >>> result = ozx.pack("cells.ome.zarr", "told.ozx", progress=Told())
    told.ozx 204764
    done
    """

    def start(self, description: str, total: int | None) -> None:
        """Begin a phase.

        Parameters
        ----------
        description
            What is worked on: the name of a file, ``cells.ozx``, or of a batch how many there are, ``3 hierarchies``.
        total
            The number of bytes there are; None where that is not known.
        """

    def advance(self, amount: int) -> None:
        """Count more bytes as done.

        Parameters
        ----------
        amount
            The number of bytes since the last call.
        """

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

    Parameters
    ----------
    progress
        What shows the batch; only the bytes are passed on to it.

    Examples
    --------
    >>> batch = StoppableProgress(NO_PROGRESS)
    >>> batch.advance(1024)
    >>> batch.stop_all()
    >>> try:
    ...     batch.advance(1024)
    ... except KeyboardInterrupt:
    ...     print("it was stopped")
    it was stopped
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stopped = threading.Event()

    def start(self, description: str, total: int | None) -> None:
        """Do nothing: the batch has begun.

        Parameters
        ----------
        description, total
            What a single file of the batch would be told as.
        """

    def advance(self, amount: int) -> None:
        """Count more bytes.

        Parameters
        ----------
        amount
            The number of bytes since the last call.

        Raises
        ------
        KeyboardInterrupt
            The batch was stopped: the thread that calls ends.
        """
        if self._stopped.is_set():
            raise KeyboardInterrupt
        self._progress.advance(amount)

    def stop(self) -> None:
        """Do nothing: the batch goes on."""

    def stop_all(self) -> None:
        """Have every thread end at its next step."""
        self._stopped.set()

"""Reports on the progress of long operations."""

from __future__ import annotations

import threading
from typing import Protocol


class Cancelled(BaseException):
    """Exception that cancels an operation; raise it in `start` or `advance` of your `Progress`.

    It passes through the operation unchanged, like an interrupt; the output path is as it was before. It is not a
    subclass of `Exception`, so that it ends a whole batch, and not only the current file of the batch.

    Examples
    --------
    >>> import ozx
    >>> class Cancelling:
    ...     def start(self, description, total):
    ...         pass
    ...     def advance(self, amount):
    ...         raise ozx.Cancelled
    ...     def stop(self):
    ...         pass
    >>> try:
    ...     ozx.pack("cells.ome.zarr", "cancelled.ozx", progress=Cancelling())
    ... except ozx.Cancelled:
    ...     print("nothing is left")
    nothing is left
    """


class Progress(Protocol):
    """Interface of a progress display; its methods may be called from any thread.

    An operation begins a phase with `start`, counts its bytes with `advance` and ends the phase with `stop`. After an
    error, `stop` is not always called. To cancel the operation, raise `ozx.Cancelled` in `start` or `advance`.

    Examples
    --------
    >>> import ozx
    >>> class Printed:
    ...     def start(self, description, total):
    ...         print(description, total)
    ...     def advance(self, amount):
    ...         pass
    ...     def stop(self):
    ...         print("done")
    >>> result = ozx.pack("cells.ome.zarr", "copy.ozx", progress=Printed())
    copy.ozx 204764
    done
    """

    def start(self, description: str, total: int | None) -> None:
        """Begin a phase of the operation.

        Parameters
        ----------
        description
            Text for the display: a file name, such as ``cells.ozx``, or the size of a batch, such as ``3 sources``.
        total
            The total number of bytes of the phase, or None if it is unknown. The phase counts exactly this number
            of bytes, unless an error ends it.
        """

    def advance(self, amount: int) -> None:
        """Add to the number of bytes processed.

        Parameters
        ----------
        amount
            The number of bytes since the last call.
        """

    def stop(self) -> None:
        """End the phase that the last call of `start` began."""


class _NoProgress:
    """A progress display that shows nothing."""

    def start(self, description: str, total: int | None) -> None:
        pass

    def advance(self, amount: int) -> None:
        pass

    def stop(self) -> None:
        pass


#: The default of every operation.
NO_PROGRESS: Progress = _NoProgress()


def needs_total(progress: Progress) -> bool:
    """Return whether the display needs the total of a phase; `NO_PROGRESS` and a file of a batch do not.

    Examples
    --------
    >>> needs_total(NO_PROGRESS)
    False
    """
    return not isinstance(progress, _NoProgress)


def begin_phase(progress: Progress, description: str, total: int | None) -> Progress:
    """Begin a phase, and return its progress: `advance` counts the bytes of the phase, and `stop` ends the phase.

    An operation cannot always count exactly the bytes of its total: it also reads headers, or skips values. The
    returned progress never counts more than the total, and `stop` adds the bytes that are missing. It is `progress`
    itself if there is no total, or no display that needs a total.

    Examples
    --------
    >>> class Counting:
    ...     count = 0
    ...     def start(self, description, total):
    ...         pass
    ...     def advance(self, amount):
    ...         self.count += amount
    ...     def stop(self):
    ...         pass
    >>> counting = Counting()
    >>> phase = begin_phase(counting, "cells.ozx", 100)
    >>> for amount in (60, 60):
    ...     phase.advance(amount)
    >>> counting.count
    100
    """
    progress.start(description, total)
    return progress if total is None or not needs_total(progress) else _Phase(progress, total)


class _Phase:
    """Progress of one phase of a command; corrects the reported bytes so that they add up to the total. Thread-safe."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._left = total
        self._lock = threading.Lock()

    def start(self, description: str, total: int | None) -> None:
        self._progress.start(description, total)

    def advance(self, amount: int) -> None:
        with self._lock:
            amount = min(amount, self._left)
            self._left -= amount
        self._progress.advance(amount)

    def stop(self) -> None:
        if self._left:
            self.advance(self._left)
        self._progress.stop()


class StoppableProgress(_NoProgress):
    """Progress of a batch of files; after an interrupt, it can also stop the threads of the batch.

    Threads cannot be interrupted from outside: each ends itself at its next report of progress.

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
        self._progress = progress  # the display of the whole batch; only its `advance` is called
        self._stopped = threading.Event()

    # `start` and `stop` do nothing: the phase of the batch has begun before, and goes on.

    def advance(self, amount: int) -> None:
        """Add to the number of bytes that the batch has processed; end the thread if the batch was stopped."""
        if self._stopped.is_set():
            raise KeyboardInterrupt
        self._progress.advance(amount)

    def stop_all(self) -> None:
        """Stop every thread of the batch as soon as the thread reports progress."""
        self._stopped.set()

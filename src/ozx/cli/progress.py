"""Show the progress of a command as bars, on a terminal only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ozx.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from ozx.cli.progress_bars import RichBatchProgress, RichProgress


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Progress]:
    """Yield a progress bar on stderr if stderr is a terminal; else a progress without output."""
    if quiet or not _is_terminal():
        yield NO_PROGRESS
        return
    from ozx.cli.progress_bars import RichProgress  # noqa: PLC0415 (rich is heavy, and most runs have no terminal)

    with RichProgress() as progress:
        yield progress


@contextmanager
def batch_bar(files: int, *, quiet: bool) -> Iterator[RichProgress | RichBatchProgress | None]:
    """Yield a progress bar for this number of files if stderr is a terminal; else None."""
    if quiet or not _is_terminal():
        yield None
        return
    from ozx.cli.progress_bars import RichBatchProgress, RichProgress  # noqa: PLC0415 (as above)

    with RichProgress() if files == 1 else RichBatchProgress(files) as bar:
        yield bar


def _is_terminal() -> bool:
    """Return whether stderr is a terminal that supports deleting a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

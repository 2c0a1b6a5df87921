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
    with batch_bar(1, quiet=quiet) as bar:
        yield bar or NO_PROGRESS


@contextmanager
def batch_bar(files: int, *, quiet: bool) -> Iterator[RichProgress | RichBatchProgress | None]:
    """Yield a progress bar for this number of files if stderr is a terminal; else None."""
    # A terminal that is called dumb cannot delete a line.
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    # rich is heavy, and most runs have no terminal.
    from ozx.cli.progress_bars import RichBatchProgress, RichProgress  # noqa: PLC0415

    with RichProgress() if files == 1 else RichBatchProgress(files) as bar:
        yield bar

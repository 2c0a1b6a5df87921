"""Progress of a command: bars on a terminal only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ozx.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from ozx.cli.rich_progress import RichBatchProgress, RichProgress

__all__ = ["batch_bar", "progress_bar"]


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Progress]:
    """Yield a progress bar on stderr if that is a terminal, else a silent one."""
    if quiet or not _is_terminal():
        yield NO_PROGRESS
        return
    from ozx.cli.rich_progress import RichProgress  # noqa: PLC0415 (rich is heavy, and most runs have no terminal)

    with RichProgress() as progress:
        yield progress


@contextmanager
def batch_bar(files: int, *, quiet: bool) -> Iterator[RichProgress | RichBatchProgress | None]:
    """Yield a bar for so many files if stderr is a terminal, else None."""
    if quiet or not _is_terminal():
        yield None
        return
    from ozx.cli.rich_progress import RichBatchProgress, RichProgress  # noqa: PLC0415 (as above)

    with RichProgress() if files == 1 else RichBatchProgress(files) as bar:
        yield bar


def _is_terminal() -> bool:
    """Tell whether stderr is a terminal that can remove a line again."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

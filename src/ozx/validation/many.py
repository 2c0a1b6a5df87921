"""All findings about many files or directories, several at a time."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from ozx.errors import OzxError, UsageError
from ozx.faults import as_error
from ozx.progress import NO_PROGRESS, Progress
from ozx.validation.report import Level, Report
from ozx.validation.validate import validate

__all__ = ["Outcome", "validate_many"]

#: A report, or why there is none: the file cannot be read, or ozx has a fault.
Outcome = Report | OzxError


def validate_many(
    paths: Sequence[str],
    *,
    jobs: int = 1,
    level: Level = "hierarchy",
    profile: str = "rfc9",
    second_opinion: bool = True,
    schemas: Mapping[str, str] | None = None,
    progress: Progress = NO_PROGRESS,
) -> Iterator[Outcome]:
    """Yield what there is to say of each file, in their order, as soon as that is known.

    Parameters
    ----------
    paths
        Files and directories. One that cannot be read does not keep the others from being checked.
    jobs
        How many are checked at a time, each by a process of its own: to parse and compare documents is work for Python.
        Of one file at a time the chunks (level ``data``) are decoded by as many threads as there are processors.
    level, profile, second_opinion, schemas
        As for `validate`.
    progress
        Is told how far level ``data`` is, of one file at a time.

    Raises
    ------
    UsageError
        There is no such level or profile, or no such node; or a schema is none.
    """
    check = partial(_outcome, level=level, profile=profile, second_opinion=second_opinion, schemas=schemas)
    if jobs <= 1 or len(paths) <= 1:
        yield from map(partial(check, progress=progress), paths)
        return
    # Not forked: the process may have threads, of a caller or of zarr.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(paths), os.cpu_count() or 1), context) as pool:
        yield from pool.map(partial(check, jobs=1), paths)


def _outcome(path: str, **options: Any) -> Outcome:
    try:
        return validate(path, **options)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 (a fault of ozx with one of many files does not keep the others)
        return as_error(error).at(path)

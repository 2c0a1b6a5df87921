"""Validation of many files or directories, several at the same time."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any

from ozx.errors import OzxError, UsageError
from ozx.flow.sources.location import printable_location
from ozx.flow.tasks import Groups, attempt, groups_elsewhere
from ozx.processors import processors
from ozx.progress import NO_PROGRESS, Progress
from ozx.validation.report import Level, Report
from ozx.validation.validate import validate

#: A report, or the error that prevents it: the file cannot be read, or ozx has a fault.
Outcome = Report | OzxError


def validate_many(
    paths: Sequence[str],
    *,
    jobs: int = 1,
    level: Level = "hierarchy",
    profile: str = "rfc9",
    revision: str = "all",
    second_opinion: bool = True,
    schemas: Mapping[str, str | os.PathLike[str]] | None = None,
    progress: Progress = NO_PROGRESS,
    executor: Executor | None = None,
) -> Iterator[tuple[int, Outcome]]:
    """Yield the index of each file in `paths` and its report or error, in the order of completion.

    If `executor` is given, it checks the files, with absolute paths. Otherwise `jobs` files are checked at a time, each
    in a process of its own, because Python parses documents in only one thread at a time. If `jobs` is 1, or `paths`
    has one file, one thread for each processor decodes the chunks of a file (level ``data``), and `progress` is shown.
    """
    check = partial(
        _check, level=level, profile=profile, revision=revision, second_opinion=second_opinion, schemas=schemas
    )
    pairs = [(path, "") for path in paths]
    if executor is None and (jobs <= 1 or len(paths) <= 1):
        yield from enumerate(_raised(attempt(check, _fail, pair, progress)) for pair in pairs)
        return
    # Forking is unsafe, because the process may have threads, of a caller or of zarr.
    context = multiprocessing.get_context("spawn")
    workers = min(jobs, len(paths), processors())
    with nullcontext(executor) if executor is not None else ProcessPoolExecutor(workers, context) as pool:
        groups: Groups[Outcome]
        if executor is not None:
            check = partial(check, schemas={url: os.path.abspath(path) for url, path in (schemas or {}).items()})
            groups = groups_elsewhere(partial(check, jobs=1), _fail, pairs, executor)
        else:
            step = partial(attempt, partial(check, jobs=1), _fail, progress=NO_PROGRESS)
            groups = Groups(step, _fail, pairs, pool)
        try:
            yield from ((number, _raised(answer)) for number, answer in groups)
        finally:
            groups.stop()


def _raised(answer: Outcome) -> Outcome:
    """Return the outcome for a file; raise an error of the call, which all files have."""
    if isinstance(answer, UsageError):
        raise answer
    return answer


def _fail(path: str, _: str, error: OzxError) -> Outcome:
    return error if isinstance(error, UsageError) else error.at(printable_location(path))


def _check(path: str, _: str, progress: Progress, **options: Any) -> Outcome:
    return validate(path, progress=progress, **options)

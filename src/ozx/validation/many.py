"""Validation of many files or directories, several at the same time."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from functools import partial
from typing import Any

from ozx.archive.remote.access import carrying_options
from ozx.errors import OzxError, ResourceError, UsageError, shortened
from ozx.faults import as_error
from ozx.flow.sources.location import printable_location
from ozx.processors import processors
from ozx.progress import NO_PROGRESS, Progress
from ozx.validation.report import Level, Report
from ozx.validation.validate import validate

__all__ = ["Outcome", "validate_many"]

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

    If `executor` is given, it checks each file in a task of its own. Otherwise `jobs` files are checked at a time, each
    in a process of its own, because Python parses documents in only one thread at a time. If `jobs` is 1, or `paths`
    has one file, one thread for each processor decodes the chunks of a file (level ``data``), and `progress` is shown.
    """
    check = partial(
        _outcome, level=level, profile=profile, revision=revision, second_opinion=second_opinion, schemas=schemas
    )
    if executor is None and (jobs <= 1 or len(paths) <= 1):
        yield from enumerate(map(partial(check, progress=progress), paths))
        return
    # Forking is unsafe, because the process may have threads, of a caller or of zarr.
    context = multiprocessing.get_context("spawn")
    workers = min(jobs, len(paths), processors())
    with nullcontext(executor) if executor is not None else ProcessPoolExecutor(workers, context) as pool:
        task = carrying_options(partial(check, jobs=1))
        numbers = {pool.submit(task, path): number for number, path in enumerate(paths)}
        for future in as_completed(numbers):
            yield numbers[future], _answer_of(future, paths[numbers[future]])


def _answer_of(future: Future[Outcome], path: str) -> Outcome:
    try:
        return future.result()
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 (an executor may raise any error when it gives up a task)
        reason = f"the workers that checked this file were lost: {type(error).__name__}: {error}"
        return ResourceError(shortened(reason), path=printable_location(path), hint="Check the file again.")


def _outcome(path: str, **options: Any) -> Outcome:
    try:
        return validate(path, **options)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 (a fault of ozx in one file does not stop the others)
        return as_error(error).at(path)

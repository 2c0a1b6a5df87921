"""Options ``--log`` and ``--retry-failed``: append to the log of runs, and read failed sources from it."""

from __future__ import annotations

import getpass
import os
import platform
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import click
from click.core import ParameterSource

import ozx
from ozx.cli.options import RunOptions, SharedOption, together
from ozx.cli.output import say
from ozx.errors import UsageError
from ozx.flow.run_log import LogLine, failed_lines, open_log, read_log
from ozx.places.place import Place

# Options that change messages and logs, but not the output files.
_NOT_LOGGED = {"log", "retry_failed", "as_json", "quiet"}


#: The log of a run, and its use by the next one.
log_options = together(
    click.option(
        "--log",
        cls=SharedOption,
        group="batch",
        metavar="LOG",
        type=click.Path(),
        help="Append a line of JSON for each file to LOG.",
    ),
    click.option(
        "--retry-failed",
        cls=SharedOption,
        group="batch",
        metavar="LOG",
        type=click.Path(),
        help="Process the sources that failed according to LOG; implies --resume where a command has it.",
    ),
)


@contextmanager
def logging_run(path: str | None) -> Iterator[Callable[[Any, int], None] | None]:
    """Yield a function that appends a line for a result, with its exit code, to the log at `path`; None without one."""
    if path is None:
        yield None
        return
    context = click.get_current_context()
    verb = context.info_name or ""
    facts: dict[str, Any] = {
        "run": uuid.uuid4().hex,
        "host": platform.node(),
        "user": _user(),
        "version": ozx.__version__,
        "verb": verb,
        "options": _given_options(context),
    }
    with open_log(Place.output(path).path) as append:

        def add(result: Any, code: int) -> None:
            is_written = bool(result.path) and verb not in ("validate", "verify")
            line = LogLine(
                time=datetime.now(UTC).isoformat(timespec="milliseconds"),
                source=_absolute(result.source),
                output=_absolute(result.path) if is_written else None,
                status=result.status,
                bytes=getattr(result, "bytes", None) if is_written else None,
                sha256=getattr(result, "sha256", None),
                manifest_sha256=getattr(result, "manifest_sha256", None),
                verified=getattr(result, "verified", False),
                source_removed=getattr(result, "source_removed", False),
                exit=code,
                error=result.error,
                **facts,
            )
            append(line)

        yield add


def sources_of_run(arguments: Sequence[str], run: RunOptions) -> list[str]:
    """Return the sources of a command: its arguments, or the failed sources of a log."""
    context = click.get_current_context()
    if run.retry_failed is None:
        if not arguments:
            raise click.UsageError(f"Missing argument '{context.command.collect_usage_pieces(context)[-1]}'.", context)
        return list(arguments)
    if arguments:
        raise UsageError("expected either sources or --retry-failed; got both", hint="Give only one of them.")
    lines = failed_lines(read_log(run.retry_failed), context.info_name or "")
    if not lines:
        told = (
            f"note: {run.retry_failed} lists no failed source; repeat the command for sources that are not in this log"
        )
        say(told, quiet=run.quiet)
    for line in lines:
        folder = None if line.output is None else os.path.dirname(line.output)
        beside = os.path.dirname(line.source)
        if folder is not None and "out_dir" in context.params and run.out_dir is None and folder != beside:
            raise UsageError(
                f"according to the log, {line.source} becomes {line.output}, which is not in {beside}",
                hint=f"Give --out-dir {folder}, or another folder.",
            )
    return [line.source for line in lines]


def _given_options(context: click.Context) -> dict[str, Any]:
    """Return the command-line options that differ from their defaults."""
    options = {param.name for param in context.command.params if isinstance(param, click.Option)}
    return {
        name: Place(value).name if isinstance(value, str) else value
        for name, value in context.params.items()
        if name in options - _NOT_LOGGED and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in a container, the user may be a number without a name
        return str(os.getuid())


def _absolute(path: str) -> str:
    """Return an absolute path, or a URL without user and query, which may be secret."""
    return Place(Place(path).full_path()).name

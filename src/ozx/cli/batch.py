"""Report on many files: a line per completed file, a progress bar, and a last line with counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

import click

from ozx.cli.arguments import check_patterns
from ozx.cli.exit_codes import DONE, code_of, exit_code
from ozx.cli.output import drop_stdout, print_notes, printable, say, say_error
from ozx.cli.progress import batch_bar
from ozx.cli.run_logging import RunLogger, logging_run
from ozx.faults import as_error
from ozx.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from ozx.cli.progress_bars import RichBatchProgress, RichProgress


class BatchResult(Protocol):
    """The attributes of a file's result that a batch report needs."""

    @property
    def source(self) -> str:
        """The file or directory that was read."""

    @property
    def status(self) -> str:
        """A word such as ``packed``; ``failed`` if there is an `error`."""

    @property
    def error(self) -> dict[str, str | None] | None:
        """The error, as `ozx.flow.batch.describe_failure` returns it."""


class Batch:
    """Reporter that prints and logs the result of each of the `files` of one command.

    `progress` receives the progress of the command; `counts` are the numbers of files by status. With `quiet`, only
    failures are printed; with `as_json`, the results are printed later.
    """

    def __init__(
        self,
        files: int,
        bar: RichProgress | RichBatchProgress | None,
        logger: RunLogger | None,
        *,
        quiet: bool,
        as_json: bool,
    ) -> None:
        self.progress: Progress = bar or NO_PROGRESS
        self.counts: Counter[str] = Counter()
        self.is_single = files == 1
        self._files = files
        self.quiet = quiet
        self._bar, self._logger, self._as_json = bar, logger, as_json
        self._failure: OSError | None = None

    def add(
        self, result: BatchResult, notes: Iterable[str], lines: Callable[[], Iterable[str]], *, code: int = DONE
    ) -> None:
        """Print the lines about a completed file, and append its line to the log.

        For a failure, only the error is printed. The caller passes only important `notes` with --quiet; with several
        files, the name of the file stands before each. `code` is the exit code for this file alone, unless it has an
        error; if it is not 0, --quiet prints the `lines`, too.
        """
        self.counts[result.status] += 1
        if self._logger is not None:
            self._logger.add(result, code if result.error is None else code_of(result.error))
        with nullcontext() if self._bar is None else self._bar.paused():
            if result.error is not None:
                say_error(result.error["message"] or "", result.error["rule"], result.error["hint"])
            else:
                print_notes(notes, name=None if self.is_single else result.source)
                if not self._as_json and (code != DONE or not self.quiet):
                    self._print("\n".join(lines()))
        if self._bar is not None:
            self._bar.finish_file()

    def _print(self, text: str) -> None:
        """Write to stdout; after an error, continue without output, so that the other files are processed."""
        try:
            click.echo(printable(text))
        except OSError as error:
            drop_stdout()
            self._failure = self._failure or error

    def say_rest(self) -> None:
        """Print after an interrupt how many files remain, and how to continue."""
        rest = self._files - sum(self.counts.values())
        if not self.is_single and rest:
            say(f"{rest:,} not done{_way_on()}")

    def end(self, sum_up: Callable[[Counter[str]], str]) -> None:
        """Print the summary line for several files; raise the first error of stdout unless it is a closed pipe."""
        if not self.is_single:
            say(sum_up(self.counts), quiet=self.quiet)
        if self._failure is not None and not isinstance(self._failure, BrokenPipeError):
            raise self._failure


@contextmanager
def following(
    sources: Sequence[str], sum_up: Callable[[Counter[str]], str], *, log: str | None, quiet: bool, as_json: bool
) -> Iterator[Batch]:
    """Yield a `Batch` for the files of one command; print the summary line at the end, even after an interrupt."""
    if click.get_current_context().params.get("retry_failed") is None:
        check_patterns(sources)
    with logging_run(log) as logger, batch_bar(len(sources), quiet=quiet or as_json) as bar:
        batch = Batch(len(sources), bar, logger, quiet=quiet, as_json=as_json)
        try:
            yield batch
        except KeyboardInterrupt:
            with nullcontext() if bar is None else bar.paused():
                batch.end(sum_up)
                batch.say_rest()
            raise
        except Exception as error:
            if logger is not None and batch.is_single and not batch.counts:
                failure = as_error(error)
                logger.fail(sources[0], failure, exit_code(failure))
            raise
    batch.end(sum_up)


def _way_on() -> str:
    """Return a text on how to continue an interrupted command; empty if it cannot be continued."""
    given = click.get_current_context().params
    if "resume" not in given:
        return ""
    return f": give the same command again{'' if given['resume'] or given['retry_failed'] else ', with --resume'}"


def counted(*statuses: str) -> Callable[[Counter[str]], str]:
    """Return a function that counts files by status, for the summary line.

    Examples
    --------
    >>> counted("packed", "failed")(Counter(["packed", "packed"]))
    '2 packed, 0 failed'
    """
    return lambda counts: ", ".join(f"{counts[status]:,} {status}" for status in statuses)

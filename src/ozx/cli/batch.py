"""Run a command on one file or many: a line per completed file, a progress bar, and a last line with counts."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import click

from ozx.cli.arguments import check_patterns, expand_patterns
from ozx.cli.exit_codes import DONE, batch_code, code_of, exit_code
from ozx.cli.options import RunOptions, connected, dask_option, jobs_option, together
from ozx.cli.output import drop_stdout, print_json, print_notes, printable, say, say_error
from ozx.cli.run_logging import log_options, logging_run, sources_of_run
from ozx.errors import UsageError
from ozx.faults import as_error
from ozx.flow.batch import FileResult, describe_failure, run_each
from ozx.flow.sinks.target import beside_source
from ozx.places.place import Place
from ozx.progress import NO_PROGRESS, Progress
from ozx.quoting import quote

if TYPE_CHECKING:
    from ozx.cli.progress_bars import RichProgress
    from ozx.operations.import_image import ImportResult
    from ozx.operations.pack import PackResult


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Progress]:
    """Yield a progress bar on stderr if stderr is a terminal; else a progress without output."""
    with _batch_bar(1, quiet=quiet) as bar:
        yield bar or NO_PROGRESS


@contextmanager
def _batch_bar(files: int, *, quiet: bool) -> Iterator[RichProgress | None]:
    """Yield a progress bar for this number of files if stderr is a terminal; else None."""
    # A terminal that is called dumb cannot delete a line.
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    # rich is heavy, and most runs have no terminal.
    from ozx.cli.progress_bars import RichProgress  # noqa: PLC0415

    with RichProgress(files) as bar:
        yield bar


class Batch:
    """Reporter that prints and logs the result of each of the `files` of one command.

    `progress` receives the progress of the command; `counts` are the numbers of files by status. With ``--quiet``, only
    failures are printed; with ``--json``, the results are printed later.
    """

    def __init__(
        self,
        files: int,
        bar: RichProgress | None,
        log: Callable[[Any, int], None] | None,
        run: RunOptions,
    ) -> None:
        self.progress: Progress = bar or NO_PROGRESS
        self.counts: Counter[str] = Counter()
        self.is_single = files == 1
        self._files = files
        self._bar, self._log, self._run = bar, log, run
        self._failure: OSError | None = None

    def add(
        self,
        result: FileResult | ImportResult | PackResult,
        notes: Iterable[str],
        lines: Callable[[], Iterable[str]],
        *,
        code: int = DONE,
    ) -> None:
        """Print the lines about a completed file, and append its line to the log.

        For a failure, only the error is printed. The caller passes only important `notes` with --quiet; with several
        files, the name of the file stands before each. `code` is the exit code for this file alone, unless it has an
        error; if it is not 0, --quiet prints the `lines`, too.
        """
        self.counts[result.status] += 1
        if self._log is not None:
            self._log(result, code if result.error is None else code_of(result.error))
        with nullcontext() if self._bar is None else self._bar.paused():
            if result.error is not None:
                say_error(result.error["message"] or "", result.error["rule"], result.error["hint"])
            else:
                print_notes(notes, name=None if self.is_single else result.source)
                if not self._run.as_json and (code != DONE or not self._run.quiet):
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
            say(sum_up(self.counts), quiet=self._run.quiet)
        if self._failure is not None and not isinstance(self._failure, BrokenPipeError):
            raise self._failure


@contextmanager
def following(sources: Sequence[str], sum_up: Callable[[Counter[str]], str], run: RunOptions) -> Iterator[Batch]:
    """Yield a `Batch` for the files of one command; print the summary line at the end, even after an interrupt."""
    if run.retry_failed is None:
        check_patterns(sources)
    with logging_run(run.log) as log, _batch_bar(len(sources), quiet=run.quiet or run.as_json) as bar:
        batch = Batch(len(sources), bar, log, run)
        try:
            yield batch
        except KeyboardInterrupt:
            with nullcontext() if bar is None else bar.paused():
                batch.end(sum_up)
                batch.say_rest()
            raise
        except Exception as error:
            if log is not None and batch.is_single and not batch.counts:
                failure = as_error(error)
                failed = FileResult(sources[0], "", "failed", error=describe_failure(failure))
                log(failed, exit_code(failure))
            raise
    batch.end(sum_up)


def _way_on() -> str:
    """Return a text on how to continue an interrupted command; empty if it cannot be continued."""
    given = click.get_current_context().params
    if "resume" not in given:
        return ""
    return f": give the same command again{'' if given['resume'] or given['retry_failed'] else ', with --resume'}"


def counted(*statuses: str) -> Callable[[Counter[str]], str]:
    """Return a function that counts files by status, for the summary line."""
    return lambda counts: ", ".join(f"{counts[status]:,} {status}" for status in statuses)


# Run a command on one file or many.


@dataclass(frozen=True, slots=True)
class Verb:
    """A command that makes an output from each of its sources."""

    done: str  # the status of a file without error, such as ``unpacked``
    call: Callable[..., Any]  # makes an output; takes the source, the output (None: the default), progress and options
    lines: Callable[[Any], Iterable[str]]  # the lines of a result for stdout
    ending: str | None  # of an output in ``--out-dir``; None if the file is changed where it is
    notes: Callable[[Any], Iterable[str]] = attrgetter("notes")
    quiet_notes: Callable[[Any], Iterable[str]] = lambda _: ()  # those that --quiet prints, too
    code: Callable[[Any], int] = lambda _: DONE
    needs_output: bool = False  # of a single source
    has_threads: bool = False  # `call` takes ``jobs``
    has_executor: bool = False  # `call` takes ``executor``, and uses a cluster for one file
    writes_urls: bool = True
    writes_folders: bool = False


_OUT_DIR_OPTION = click.option(
    "--out-dir",
    metavar="D",
    type=click.Path(file_okay=False),
    help="Write the outputs of many sources to this folder.",
)


def many_options(
    *, has_out_dir: bool = True, has_jobs: bool = True, has_dask: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options for many files to a command."""
    return together(
        *([_OUT_DIR_OPTION] if has_out_dir else []),
        *([jobs_option] if has_jobs else []),
        *([dask_option] if has_dask else []),
        log_options,
    )


def run_verb(verb: Verb, arguments: Sequence[str], *, no_sync: bool | None = None, **options: Any) -> int:
    """Run a command on all its sources, and return the exit code.

    Without ``--out-dir`` the arguments are one source and perhaps its output; a verb that changes files where they are
    takes any number of sources. ``--jobs`` is the number of sources at a time, or of the threads for a single source.
    """
    run = RunOptions.take_from(options)
    given = sources_of_run(arguments, run)
    is_many = run.out_dir is not None or run.retry_failed is not None or (verb.ending is None and len(given) > 1)
    sources, out = (given, None) if is_many else _one(verb, given)
    sum_up = counted(verb.done, "failed")
    sources = expand_patterns(sources, is_one=not is_many)
    if verb.has_threads:
        share = 1 if (run.jobs or 1) > 1 else None  # of several sources at a time, each has one thread
        options["jobs"] = share if is_many else run.jobs
    if no_sync is not None:
        options["sync"] = not no_sync
    with connected(run.dask) as executor, following(sources, sum_up, run) as batch:

        def report(result: FileResult) -> None:
            notes = () if result.result is None or run.quiet else verb.notes(result.result)
            code = DONE if result.result is None else verb.code(result.result)
            batch.add(result, notes, lambda: verb.lines(result.result), code=code)

        if not is_many:
            if executor is not None:
                _check_has_executor(verb)
                options["executor"] = executor
            result = verb.call(sources[0], out, progress=batch.progress, **options)
            report(FileResult(sources[0], os.fspath(result.path), verb.done, result))
            if run.as_json:
                print_json(result.to_dict())
            return verb.code(result)
        pairs = _pairs(verb, sources, run.out_dir)
        if executor is not None:
            _check_targets(verb, [target for _, target in pairs])
        results = run_each(
            partial(_call, verb.call, options),
            pairs,
            done=verb.done,
            jobs=run.jobs or 1,
            progress=batch.progress,
            on_result=report,
            executor=executor,
            again=partial(_call, verb.call, options | {"force": True}),  # replaces the output of the task's first run
        )
    if run.as_json:
        print_json({"schema": 1, "results": [result.to_dict() for result in results]})
    codes = [verb.code(each.result) for each in results if each.result is not None]
    return batch_code(each.error for each in results) or max(codes, default=DONE)


def _one(verb: Verb, given: list[str]) -> tuple[list[str], str | None]:
    """Return a list with the single source, and the output of this source."""
    least, most = (2, 2) if verb.needs_output else (1, 1 if verb.ending is None else 2)
    if not least <= len(given) <= most:
        context = click.get_current_context()
        if len(given) < least:
            raise click.UsageError("Missing argument 'OUT'.", context)
        raise UsageError(
            f"expected one source and its output; got {len(given)} arguments",
            hint="Give --out-dir D to get one output for each source.",
        )
    if len(given) == 2 and verb.ending is not None:
        _check_is_no_source(verb.ending, *given)
        if not verb.writes_folders:
            _check_is_no_folder(given[1])
    return given[:1], given[1] if len(given) == 2 else None


def _check_is_no_source(usual: str, source: str, out: str) -> None:
    """Raise an error if the output is an existing file of the source's kind, and this command writes another kind."""
    kind, wanted = (os.path.splitext(name.lower())[1] for name in (source, f"name{usual}"))
    if kind == os.path.splitext(out.lower())[1] != wanted and os.path.isfile(out):
        raise UsageError(
            f"expected one source and its output; got two {kind} files, {source} and {out}",
            hint="Give --out-dir D to get one output for each source.",
        )


def _check_is_no_folder(out: str) -> None:
    """Raise an error if the output is an existing folder."""
    if os.path.isdir(out):
        raise UsageError(
            f"expected the name of an output file; {out} is a folder",
            hint=f"To write into this folder, give --out-dir {quote(out)}.",
        )


def _check_has_executor(verb: Verb) -> None:
    """Raise an error if a cluster is given for one file, and the command cannot use it there."""
    if not verb.has_executor:
        raise UsageError("--dask: expected several files with --out-dir, because each file is a task")


def _pairs(verb: Verb, sources: list[str], out_dir: str | None) -> list[tuple[str, str]]:
    """Return each source with its output path; create the output folder."""
    if verb.ending is None:
        return [(source, source) for source in sources]
    named = [(source, os.path.basename(beside_source(Place.parse(source), verb.ending))) for source in sources]
    if out_dir is None:
        return [(source, os.path.join(os.path.dirname(source), name)) for source, name in named]
    folder = Place.output(out_dir, remote=verb.writes_urls)
    folder.make_folder()
    return [(source, folder.inside(name).path) for source, name in named]


def _check_targets(verb: Verb, targets: list[str]) -> None:
    if verb.done == "unpacked" and any(Place(target).kind() == "a URL" for target in targets):
        raise UsageError(
            "--dask cannot unpack to a URL: a cluster may run the same task twice at once, and a run that fails would "
            "then remove objects that the other run has written",
            hint="Leave out --dask; --jobs N unpacks several files at a time.",
        )


def _call(call: Callable[..., Any], options: dict[str, Any], source: str, target: str, progress: Progress) -> Any:
    return call(source, target, progress=progress, **options)


# `pack` and `import` can skip complete outputs, and have a function of their own for several sources.


def run_resumable(
    verb: Verb,
    call_many: Callable[..., Any],
    arguments: Sequence[str],
    split: Callable[[list[str], str | None], tuple[list[str], str | None]],
    *,
    no_sync: bool,
    resume: bool,
    **options: Any,
) -> int:
    """Run a command on all its sources, which `split` separates from an output; return the exit code."""
    run = RunOptions.take_from(options)
    given = sources_of_run(arguments, run)
    is_retry = run.retry_failed is not None
    sources, out = (given, None) if is_retry else split(given, run.out_dir)
    if run.dask is not None and out is not None:
        _check_has_executor(verb)
    sources = expand_patterns(sources, is_one=out is not None)
    options |= {"sync": not no_sync, "resume": resume or is_retry}
    sum_up = counted(verb.done, "skipped", "failed")
    with connected(run.dask) as executor, following(sources, sum_up, run) as batch:

        def report(result: ImportResult | PackResult) -> None:
            notes = verb.quiet_notes(result) if run.quiet else verb.notes(result)
            batch.add(result, notes, lambda: verb.lines(result), code=verb.code(result))

        options["progress"] = batch.progress
        if verb.has_executor or executor is not None:
            options["executor"] = executor
        is_alone = len(sources) == 1 and run.out_dir is None and not is_retry
        if is_alone and (executor is None or verb.has_executor):
            results = (verb.call(sources[0], out, **options),)
            report(results[0])
        else:
            many = call_many(sources, out_dir=run.out_dir, jobs=run.jobs, on_result=report, **options)
            results = many.results
    if run.as_json:
        print_json({"schema": 2, "results": [result.to_dict() for result in results]})
    return batch_code(result.error for result in results) or max(map(verb.code, results), default=DONE)

"""Run a command on one file or many: shared code of `unpack`, `recover`, `thumbnail`, `export`, `edit`, `repack`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote as url_quote

import click

from ozx.cli.arguments import expand_patterns
from ozx.cli.batch import counted, following
from ozx.cli.cluster import connected, dask_option
from ozx.cli.exit_codes import DONE, batch_code
from ozx.cli.output import print_json
from ozx.cli.run_logging import log_options, sources_of_run
from ozx.errors import UsageError
from ozx.flow.batch import FileResult, run_each
from ozx.flow.sources.location import Location, given_output
from ozx.progress import Progress
from ozx.quoting import quote

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Verb:
    """A command that makes an output from each of its sources."""

    done: str  # the status of a file without error, such as ``unpacked``
    call: Callable[..., Any]  # makes an output; takes the source, the output (None: the default), progress and options
    lines: Callable[[Any], Iterable[str]]  # the lines of a result for stdout
    notes: Callable[[Any], Iterable[str]]
    name_output: Callable[[str], str] | None  # in ``--out-dir``; None if the file is changed where it is
    code: Callable[[Any], int] = lambda _: DONE
    needs_output: bool = False  # of a single source
    writes_urls: bool = True
    writes_folders: bool = False


def many_options(
    *, has_out_dir: bool = True, has_jobs: bool = True, has_dask: bool = True
) -> Callable[[_Command], _Command]:
    """Return a decorator that adds the options for many files to a command."""

    def decorate(command: _Command) -> _Command:
        command = log_options(command)
        if has_dask:
            command = dask_option(command)
        if has_jobs:
            kind = click.IntRange(min=1)
            command = click.option(
                "--jobs", metavar="N", type=kind, default=1, show_default=True, help="Number of sources at a time."
            )(command)
        if has_out_dir:
            folder = click.Path(file_okay=False)
            command = click.option(
                "--out-dir", metavar="D", type=folder, help="Write the outputs of many sources to this folder."
            )(command)
        return command

    return decorate


def threads_of(options: dict[str, Any]) -> dict[str, Any]:
    """Add ``threads``, the number of threads for each source, to the options, and return them.

    For one source, ``--jobs`` is this number. For many, ``--jobs`` is the number of concurrent sources; if it is above
    1, each source has one thread.
    """
    is_many = options["out_dir"] is not None or options["retry_failed"] is not None
    jobs = options["jobs"] or 1
    return {**options, "jobs": jobs, "threads": (None if jobs == 1 else 1) if is_many else options["jobs"]}


def run_verb(
    verb: Verb,
    arguments: Sequence[str],
    *,
    out_dir: str | None = None,
    jobs: int = 1,
    dask: str | None = None,
    log: str | None,
    retry_failed: str | None,
    quiet: bool = False,
    as_json: bool,
    **options: Any,
) -> int:
    """Run a command on all its sources, and return the exit code.

    Without ``--out-dir`` the arguments are one source and perhaps its output; a verb that changes files where they are
    takes any number of sources.
    """
    given = sources_of_run(arguments, retry_failed, out_dir=out_dir)
    is_many = out_dir is not None or retry_failed is not None or (verb.name_output is None and len(given) > 1)
    sources, out = (given, None) if is_many else _one(verb, given)
    sum_up = counted(verb.done, "failed")
    is_told: dict[str, Any] = {"log": log, "quiet": quiet, "as_json": as_json}
    sources = expand_patterns(sources, is_one=not is_many)
    with connected(dask) as executor, following(sources, sum_up, **is_told) as batch:

        def report(result: FileResult) -> None:
            notes = () if result.result is None or quiet else verb.notes(result.result)
            code = DONE if result.result is None else verb.code(result.result)
            batch.add(result, notes, lambda: verb.lines(result.result), code=code)

        if not is_many:
            if executor is not None:
                options |= _inside_one_file(verb, executor)
            result = verb.call(sources[0], out, batch.progress, **options)
            report(FileResult(sources[0], os.fspath(result.path), verb.done, result))
            return _print_one(result, verb, as_json=as_json)
        pairs = _pairs(verb, sources, out_dir)
        if executor is not None:
            _check_targets(verb, [target for _, target in pairs])
        results = run_each(
            partial(_call, verb.call, options),
            pairs,
            done=verb.done,
            jobs=jobs,
            progress=batch.progress,
            on_result=report,
            executor=executor,
            again=partial(_call, verb.call, options | {"force": True}),  # replaces the output of the task's first run
        )
    if as_json:
        print_json({"schema": 1, "results": [result.to_dict() for result in results]})
    codes = [verb.code(each.result) for each in results if each.result is not None]
    return batch_code(each.error for each in results) or max(codes, default=DONE)


def _print_one(result: Any, verb: Verb, *, as_json: bool) -> int:
    if as_json:
        print_json(result.to_dict())
    return verb.code(result)


def _one(verb: Verb, given: list[str]) -> tuple[list[str], str | None]:
    """Return a list with the single source, and the output of this source."""
    least, most = (2, 2) if verb.needs_output else (1, 1 if verb.name_output is None else 2)
    if not least <= len(given) <= most:
        context = click.get_current_context()
        if len(given) < least:
            raise click.UsageError("Missing argument 'OUT'.", context)
        raise UsageError(
            f"expected one source and its output; got {len(given)} arguments",
            hint="Give --out-dir D to get one output for each source.",
        )
    if len(given) == 2 and verb.name_output is not None:
        _check_is_no_source(verb.name_output(given[0]), *given)
        if not verb.writes_folders:
            _check_is_no_folder(given[1])
    return given[:1], given[1] if len(given) == 2 else None


def _check_is_no_source(usual: str, source: str, out: str) -> None:
    """Raise an error if the output is an existing file of the source's kind, and this command writes another kind."""
    kind, wanted = (os.path.splitext(name.lower())[1] for name in (source, usual))
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


def _inside_one_file(verb: Verb, executor: Executor) -> dict[str, Any]:
    """Return the argument that lets `repack` use a cluster for one file; raise an error for other commands."""
    if verb.done != "repacked":
        raise UsageError("--dask: expected several files with --out-dir, because each file is a task")
    return {"executor": executor}


def _pairs(verb: Verb, sources: list[str], out_dir: str | None) -> list[tuple[str, str]]:
    """Return each source with its output path; create the output folder."""
    if verb.name_output is None:
        return [(source, source) for source in sources]
    folder = None if out_dir is None else given_output(out_dir, remote=verb.writes_urls)
    if folder is not None and Location(folder).is_remote:
        return [(source, f"{folder.rstrip('/')}/{url_quote(verb.name_output(source))}") for source in sources]
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    folders = [os.path.dirname(source) if folder is None else folder for source in sources]
    return [
        (source, os.path.join(folder, verb.name_output(source)))
        for folder, source in zip(folders, sources, strict=True)
    ]


def _check_targets(verb: Verb, targets: list[str]) -> None:
    if verb.done == "unpacked" and any(Location(target).is_remote for target in targets):
        raise UsageError(
            "--dask: expected a folder on this computer as --out-dir; found a URL. A cluster may run the same "
            "task twice at once; a run that fails would then remove objects that the other run has written",
            hint="Leave out --dask; --jobs N unpacks several files at a time.",
        )


def _call(call: Callable[..., Any], options: dict[str, Any], source: str, target: str, progress: Progress) -> Any:
    return call(source, target, progress, **options)

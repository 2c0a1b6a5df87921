"""Command ``ozx validate``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from ozx.atomic.new_file import replacing_file
from ozx.cli.access import access_options
from ozx.cli.arguments import expand_argument
from ozx.cli.batch import following
from ozx.cli.cluster import connected, dask_option
from ozx.cli.exit_codes import DONE, FAULT, WITH_LOSS, WRONG_FILE, WRONG_WORLD, exit_code
from ozx.cli.output import print_json, say
from ozx.cli.report import extent_of, report_lines
from ozx.cli.run_logging import log_options, sources_of_run
from ozx.errors import UsageError
from ozx.flow.batch import describe_failure
from ozx.flow.sources.location import given_output
from ozx.progress import NO_PROGRESS
from ozx.validation.many import Outcome, validate_many
from ozx.validation.report import LEVELS, REVISIONS, Level, Report
from ozx.validation.validate import PROFILES


@click.command("validate")
@click.argument("paths", metavar="FILE|DIR|URL...", nargs=-1, type=click.Path(), callback=expand_argument)
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="hierarchy",
    show_default=True,
    help="archive: ZIP file and RFC-9; hierarchy: also all metadata; data: also all chunks.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--report", metavar="HTML", type=click.Path(), help="Also write a page with counts, rules and pictures.")
@click.option("-q", "--quiet", is_flag=True, help="Print only files that are not valid, without notes.")
@click.option("--strict", is_flag=True, help="Exit with code 3 if there are warnings.")
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default=PROFILES[0],
    show_default=True,
    help="strict also forbids ZIP compression, comments that RFC-9 does not define, and extra fields other than ZIP64, "
    "times and owners.",
)
@click.option(
    "--revision",
    type=click.Choice(REVISIONS),
    default=REVISIONS[0],
    show_default=True,
    help="Revision of RFC-9: r2 (2026-04-20), draft (the authors' revision), or all (r2, and warnings from draft).",
)
@click.option(
    "--no-second-opinion",
    is_flag=True,
    help="Do not check OME-Zarr metadata with ome-zarr-models. "
    "By default, ozx also reports errors that only ome-zarr-models finds.",
)
@click.option(
    "--schema",
    "schemas",
    metavar="URL=FILE",
    multiple=True,
    help="For a Zarr convention whose `schema_url` is URL, check its attributes against the JSON schema in FILE. "
    "ozx never downloads a schema.",
)
@dask_option
@log_options
@click.option(
    "--jobs", metavar="N", type=click.IntRange(min=1), default=1, show_default=True, help="Number of files at a time."
)
@click.option(
    "--conformance",
    "as_verdict",
    is_flag=True,
    help='Print {"valid", "message"} for one PATH or JSON file of attributes, as the test runner of ngff-spec expects.',
)
@access_options
def command(
    *,
    paths: tuple[str, ...],
    level: Level,
    as_json: bool,
    report: str | None,
    quiet: bool,
    strict: bool,
    profile: str,
    revision: str,
    no_second_opinion: bool,
    schemas: tuple[str, ...],
    jobs: int,
    dask: str | None,
    log: str | None,
    retry_failed: str | None,
    as_verdict: bool,
) -> int:
    """Check .ozx files and OME-Zarr directories against RFC-9, Zarr and OME-Zarr.

    A file without errors is valid; ozx rules ID explains a finding. For a directory, the rules about the ZIP file do
    not apply. For a node (ozx:///data/cells.ozx/labels/nuclei), the whole file is checked, but only findings at
    the node and below it are shown. Chunks are read and decoded only with --level data. Metadata that only
    ome-zarr-models refuses is a finding, too.

    The exit code is 0 if all files are valid, 1 if a file is not valid, 3 for warnings with --strict, 4 if a file
    cannot be read.

    \b
    Examples:
      ozx validate cells.ozx
      ozx validate *.ozx --json --jobs 4
      ozx validate https://example.org/cells.ozx --level data
      ozx validate *.ozx --quiet --report report.html
      ozx validate cells.ozx --schema https://example.org/proj/v1/schema.json=proj.json
    """
    if as_verdict:
        return _print_verdict(paths, strict=strict)
    page = None if report is None else given_output(report)
    asked = sources_of_run(paths, retry_failed)
    options: dict[str, Any] = {"level": level, "profile": profile, "revision": revision}
    options["second_opinion"] = not no_second_opinion
    reports: dict[int, Report] = {}
    found: dict[int, Outcome] = {}
    codes = {DONE}
    is_told: Any = {"log": log, "quiet": quiet or as_json, "as_json": as_json}
    with connected(dask) as executor, following(asked, lambda counts: _sum_up(reports, counts), **is_told) as batch:
        # Only chunks take long enough for a progress bar.
        progress = batch.progress if level == "data" else NO_PROGRESS
        options |= {"jobs": jobs, "schemas": _to_schemas(schemas), "progress": progress, "executor": executor}
        answers = validate_many(asked, **options)
        for number, answer in answers:
            checked, found[number] = _Checked.of(asked[number], answer), answer
            if not isinstance(answer, Report):
                batch.add(checked, (), list)
                codes.add(exit_code(answer))
                continue
            warned = WITH_LOSS if strict and answer.count("warning") else DONE
            code = warned if answer.valid else WRONG_FILE
            batch.add(checked, (), partial(report_lines, answer, with_notes=not quiet), code=code)
            reports[number] = answer
            codes.add(code)
    if page is not None:
        in_order = sorted(found.items(), key=lambda item: item[0])
        _write_page(page, [(asked[number], answer) for number, answer in in_order])
    if as_json:
        print_json({"schema": 2, "files": [report.to_dict() for _, report in sorted(reports.items())]})
    elif any(report.findings for report in reports.values()):
        say("to explain a finding: ozx rules ID", quiet=quiet)
    return next(code for code in (FAULT, WRONG_WORLD, WRONG_FILE, WITH_LOSS, DONE) if code in codes)


@dataclass(frozen=True)
class _Checked:
    """The validation result of one file in a batch."""

    source: str
    status: str
    error: dict[str, str | None] | None = None

    @classmethod
    def of(cls, path: str, answer: Outcome) -> _Checked:
        """Return the result for a validation report or an error."""
        if isinstance(answer, Report):
            return cls(path, "valid" if answer.valid else "not valid")
        return cls(path, "not read", describe_failure(answer))


def _write_page(path: str, answers: list[tuple[str, Outcome]]) -> None:
    from ozx.cli.validation_page import to_page  # noqa: PLC0415 (for many files only)

    with replacing_file(path, force=True) as new, open(new.descriptor, "w", encoding="utf-8", closefd=False) as file:
        file.write(to_page(answers))


def _print_verdict(paths: tuple[str, ...], *, strict: bool) -> int:
    from ozx.validation.conformance import conformance  # noqa: PLC0415 (used by test runners only)

    if len(paths) != 1:
        raise UsageError(f"--conformance: expected one path; got {len(paths)}")
    valid, message = conformance(paths[0], strict=strict)
    print_json({"valid": valid, "message": message})
    return DONE


def _to_schemas(given: tuple[str, ...]) -> dict[str, str]:
    schemas = {}
    for text in given:
        url, separator, path = text.rpartition("=")
        if not separator or not url or not path:
            raise UsageError(f"--schema: expected URL=FILE; got {text!r}")
        schemas[url] = path
    return schemas


def _sum_up(reports: Mapping[int, Report], counts: Counter[str]) -> str:
    unread = f", {counts['not read']:,} not read" if counts["not read"] else ""
    extents = {extent_of(report) for report in reports.values() if report.valid}
    of = "in the valid files: " if unread else ""
    extent = f"; {of}{extents.pop()}" if len(extents) == 1 else ""
    checked = sum(counts.values())
    return f"{checked:,} checked: {counts['valid']:,} valid, {counts['not valid']:,} not valid{unread}{extent}"

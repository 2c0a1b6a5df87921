"""Command ``ozx validate``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import click

from ozx.atomic.new_file import replacing_file
from ozx.cli.arguments import expand_argument
from ozx.cli.batch import following
from ozx.cli.exit_codes import DONE, FAULT, WITH_LOSS, WRONG_FILE, WRONG_WORLD, exit_code
from ozx.cli.options import RunOptions, access_options, connected, dask_option, node_option
from ozx.cli.output import one_line, print_json, say
from ozx.cli.run_logging import log_options, sources_of_run
from ozx.errors import UsageError, shortened
from ozx.flow.batch import FileResult, describe_failure
from ozx.places.place import Place
from ozx.progress import NO_PROGRESS
from ozx.validation.report import LEVELS, REVISIONS, SEVERITIES, Finding, Level, Report, Severity
from ozx.validation.validate import PROFILES, Outcome, validate_many
from ozx.zarr.keys import breadth_first, is_legacy_metadata_key, is_metadata_key, node_of

# Format the report of ``ozx validate``: findings by node, the worst first, and how to repair them.

# Findings that fit on a screen; the JSON answer lists more.
_MOST_OF_A_KIND = 5

# The sentence with which `ozx.validation.rules.each` counts the findings that it does not list.
_MORE = re.compile(r"and ([\d,]+) more of the same")


def report_lines(report: Report, *, with_notes: bool = True) -> Iterator[str]:
    """Yield the lines of a report for a terminal; leave out notes if `with_notes` is false."""
    if not with_notes:
        report = replace(report, findings=tuple(each for each in report.findings if each.severity != "note"))
    counts = _counts(report.findings)
    if report.valid:
        verdict = f"valid: {extent_of(report)}" + (f" ({counts})" if counts else "")
    else:
        verdict = f"not valid: {counts}"
    yield f"{one_line(report.path)}: {verdict}"
    shown: Counter[str] = Counter()
    hints: set[tuple[str, str]] = set()
    for title, findings in _by_node(finding for finding in report.findings if not _uncounted(finding)):
        fresh = [finding for finding in findings if _count_up(shown, finding)]
        if fresh:
            yield f"  {shortened(one_line(title), 500)}: {_counts(findings)}"
        for finding in fresh:
            yield from _lines(finding, hints)
    for finding in report.findings:
        shown[finding.id] += _uncounted(finding)
    for rule, count in shown.items():
        if count > _MOST_OF_A_KIND:
            yield f"  {rule}: {count - _MOST_OF_A_KIND:,} more of the same; --json lists more"


def extent_of(report: Report) -> str:
    """Return a text on the extent of the checks, and on the option for the remaining checks."""
    if report.looked_at["metadata"] == "none":
        return "structure of the ZIP file, but neither metadata nor pixels; give --level data to check them, too"
    return {
        "none": "structure, but not the pixels; give --level data to check them, too",
        "some": "everything was read; not all chunks could be decoded",
        "all": "everything was read",
    }[report.looked_at["pixels"]]


def _count_up(shown: Counter[str], finding: Finding) -> bool:
    shown[finding.id] += 1
    return shown[finding.id] <= _MOST_OF_A_KIND


def _uncounted(finding: Finding) -> int:
    """Return N for a finding with the message "and N more of the same"; 0 for any other finding."""
    match = _MORE.fullmatch(finding.message)
    return int(match[1].replace(",", "")) if match and finding.where.entry is None else 0


def _by_node(findings: Iterable[Finding]) -> list[tuple[str, list[Finding]]]:
    """Return the findings grouped by node, sorted by severity, then by number of findings."""
    groups: dict[str | None, list[Finding]] = {}
    for finding in findings:  # they come sorted by severity
        groups.setdefault(_node(finding.where.entry), []).append(finding)

    def order(item: tuple[str | None, list[Finding]]) -> tuple[object, ...]:
        entry, found = item
        worst = SEVERITIES.index(found[0].severity)
        return worst, -sum(finding.severity == found[0].severity for finding in found), breadth_first(entry or "")

    return [(_title(entry), found) for entry, found in sorted(groups.items(), key=order)]


def _node(entry: str | None) -> str | None:
    """Return the path of a metadata entry's node, with a slash at the end; return any other entry unchanged."""
    if entry is not None and (is_metadata_key(entry) or is_legacy_metadata_key(entry)):
        return f"{node_of(entry)}/"
    return entry


def _title(entry: str | None) -> str:
    if entry is None:
        return "the file as a whole"
    return "the root" if entry == "/" else entry.removesuffix("/")


def _lines(finding: Finding, hints: set[tuple[str, str]]) -> Iterator[str]:
    yield f"    {finding.severity:<7}  {finding.id}{_place(finding)}"
    yield f"             {shortened(one_line(finding.message))}"
    # Most findings of a rule share a hint: show it once.
    if (finding.id, finding.hint) not in hints:
        yield f"             hint: {shortened(one_line(finding.hint))}"
        hints.add((finding.id, finding.hint))


def _place(finding: Finding) -> str:
    where = finding.where
    parts = []
    if where.entry is not None and where.pointer is not None:
        parts.append(f"in {one_line(where.entry.rpartition('/')[2] + '#' + where.pointer)}")
    if where.offset is not None:
        parts.append(f"at byte {where.offset:,}")
    return f"  {' '.join(parts)}" if parts else ""


def _counts(findings: Iterable[Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(_count(counts[severity], severity) for severity in SEVERITIES if counts[severity])


def _count(number: int, what: Severity) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@click.command("validate")
@click.argument("paths", metavar="FILE|DIR|URL...", nargs=-1, type=click.Path(), callback=expand_argument)
@node_option
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
    node: str,
    level: Level,
    report: str | None,
    strict: bool,
    profile: str,
    revision: str,
    no_second_opinion: bool,
    schemas: tuple[str, ...],
    as_verdict: bool,
    **options: Any,
) -> int:
    """Check .ozx files and OME-Zarr directories against RFC-9, Zarr and OME-Zarr.

    A file without errors is valid; ozx rules ID explains a finding. For a directory, the rules about the ZIP file do
    not apply. For a node (cells.ozx/labels/nuclei), the whole file is checked, but only findings at
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
    page = None if report is None else Place.output(report).path
    run = RunOptions.take_from(options)
    asked = sources_of_run(paths, run)
    options = {"level": level, "profile": profile, "revision": revision, "second_opinion": not no_second_opinion}
    reports: dict[int, Report] = {}
    found: dict[int, Outcome] = {}
    codes = {DONE}
    told = replace(run, quiet=run.quiet or run.as_json)
    with connected(run.dask) as executor, following(asked, lambda counts: _sum_up(reports, counts), told) as batch:
        # Only chunks take long enough for a progress bar.
        progress = batch.progress if level == "data" else NO_PROGRESS
        options |= {
            "node": node,
            "jobs": run.jobs,
            "schemas": _to_schemas(schemas),
            "progress": progress,
            "executor": executor,
        }
        answers = validate_many(asked, **options)
        for number, answer in answers:
            checked, found[number] = _checked(asked[number], answer), answer
            if not isinstance(answer, Report):
                batch.add(checked, (), list)
                codes.add(exit_code(answer))
                continue
            warned = WITH_LOSS if strict and answer.count("warning") else DONE
            code = warned if answer.valid else WRONG_FILE
            batch.add(checked, (), partial(report_lines, answer, with_notes=not run.quiet), code=code)
            reports[number] = answer
            codes.add(code)
    if page is not None:
        in_order = sorted(found.items(), key=lambda item: item[0])
        _write_page(page, [(asked[number], answer) for number, answer in in_order])
    if run.as_json:
        print_json({"schema": 2, "files": [report.to_dict() for _, report in sorted(reports.items())]})
    elif any(report.findings for report in reports.values()):
        say("to explain a finding: ozx rules ID", quiet=run.quiet)
    return next(code for code in (FAULT, WRONG_WORLD, WRONG_FILE, WITH_LOSS, DONE) if code in codes)


def _checked(path: str, answer: Outcome) -> FileResult:
    """Return the result for one file of a batch, from a report or an error."""
    if isinstance(answer, Report):
        return FileResult(path, path, "valid" if answer.valid else "not valid")
    return FileResult(path, path, "not read", error=describe_failure(answer))


def _write_page(path: str, answers: list[tuple[str, Outcome]]) -> None:
    from ozx.cli.validation_page import to_page  # noqa: PLC0415 (for many files only)

    with replacing_file(path, force=True) as new, open(new.descriptor, "w", encoding="utf-8", closefd=False) as file:
        file.write(to_page(answers))


def _print_verdict(paths: tuple[str, ...], *, strict: bool) -> int:
    from ozx.validation.conformance import conformance  # noqa: PLC0415 (used by test runners only)

    if len(paths) != 1:
        raise UsageError(f"--conformance: expected one path; got {len(paths)}")
    valid, message = conformance(paths[0], count_recommended=strict)
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

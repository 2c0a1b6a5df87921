"""``ozx validate``."""

from __future__ import annotations

from collections import Counter

import click

from ozx.cli.app import DONE, WITH_LOSS, WRONG_FILE, WRONG_WORLD
from ozx.cli.output import one_line, print_json, printable, report_error, say
from ozx.errors import ResourceError
from ozx.validation.findings import LEVELS, SEVERITIES, Finding, Level, Report
from ozx.validation.validate import PROFILES, validate

__all__ = ["command"]

# What a screen has room for; the JSON answer lists more.
_MOST_OF_A_KIND = 5


@click.command("validate")
@click.argument("paths", metavar="FILE|DIR...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="hierarchy",
    show_default=True,
    help="How far to look: the ZIP file and RFC-9; every metadata document, too; every chunk, too.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--strict", is_flag=True, help="Exit with code 3 when there are warnings.")
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default=PROFILES[0],
    show_default=True,
    help="strict also forbids ZIP compression, extra fields other than ZIP64 and padding, and other comments.",
)
def command(*, paths: tuple[str, ...], level: Level, as_json: bool, strict: bool, profile: str) -> int:
    """Check .ozx files and OME-Zarr directories against RFC-9.

    A file is valid when there is no error among its findings; ozx rules ID explains a finding. Of a directory only
    what can apply is checked. Of a node (ozx:///data/cells.ozx/labels/nuclei) the whole file is checked; findings about
    what is beside the node are left out. The bytes of metadata are checked, those of chunks are not: ozx unpack checks
    them all.

    The exit code is 0 when all are valid, 1 when one is not, 3 when there are warnings and --strict is given, 4 when
    one cannot be read.

    \b
    Examples:
      ozx validate cells.ozx
      ozx validate *.ozx --json
    """
    reports, codes = [], {DONE}
    for path in paths:
        try:
            report = validate(path, level=level, profile=profile)
        except (OSError, ResourceError) as error:
            # One file that cannot be read does not keep the others from being checked.
            report_error(error)
            codes.add(WRONG_WORLD)
            continue
        reports.append(report)
        if not report.valid:
            codes.add(WRONG_FILE)
        elif strict and report.count("warning"):
            codes.add(WITH_LOSS)
        if not as_json:
            click.echo(printable("\n".join(_lines(report))))
    if as_json:
        print_json({"schema": 1, "files": [report.to_dict() for report in reports]})
    else:
        _sum_up(reports, len(paths))
    return next(code for code in (WRONG_WORLD, WRONG_FILE, WITH_LOSS, DONE) if code in codes)


def _lines(report: Report) -> list[str]:
    verdict = "valid" if report.valid else "not valid"
    counts = ", ".join(_count(report.count(severity), severity) for severity in SEVERITIES if report.count(severity))
    lines = [f"{one_line(report.path)}: {verdict}{': ' if counts else ''}{counts}"]
    previous, shown = None, Counter[str]()
    for finding in report.findings:
        shown[finding.id] += 1
        if shown[finding.id] > _MOST_OF_A_KIND:
            if shown[finding.id] == _MOST_OF_A_KIND + 1:
                lines.append(f"  {finding.severity:<7}  {finding.id}  more of the same: --json lists them")
            continue
        lines.append(f"  {finding.severity:<7}  {finding.id}{_place(finding)}")
        lines.append(f"           {one_line(finding.message)}")
        # A hint is the same for most findings of a rule: once is enough.
        if (finding.id, finding.hint) != previous:
            lines.append(f"           hint: {one_line(finding.hint)}")
        previous = finding.id, finding.hint
    return lines


def _place(finding: Finding) -> str:
    where = finding.where
    parts = []
    if where.entry is not None:
        pointer = "" if where.pointer is None else f"#{where.pointer}"
        parts.append(f"in {one_line(where.entry + pointer)}")
    if where.offset is not None:
        parts.append(f"at byte {where.offset:,}")
    return f"  {' '.join(parts)}" if parts else ""


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _sum_up(reports: list[Report], asked: int) -> None:
    if asked > 1:
        valid = sum(report.valid for report in reports)
        unread = f", {asked - len(reports):,} not read" if asked > len(reports) else ""
        say(f"{asked:,} checked: {valid:,} valid, {len(reports) - valid:,} not valid{unread}")
    if any(report.findings for report in reports):
        say("what a finding means: ozx rules ID")

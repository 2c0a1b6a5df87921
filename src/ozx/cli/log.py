"""Command ``ozx log``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ozx.cli.arguments import expand_argument
from ozx.cli.output import format_bytes, one_line, print_json, printable
from ozx.errors import shortened
from ozx.flow.run_log import LogSummary, read_log, summarise

_MOST_LINES = 20


@click.command("log")
@click.argument("action", metavar="summary", type=click.Choice(["summary"]))
@click.argument("files", metavar="LOG...", nargs=-1, required=True, type=click.Path(), callback=expand_argument)
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def command(*, action: str, files: tuple[str, ...], as_json: bool) -> None:
    """Count the results of each command in a log of runs.

    LOG is a file that --log of another command wrote. Each source counts once for each command: of its lines in all
    logs, the latest line counts. A later run that skips the source changes nothing.

    \b
    Examples:
      ozx log summary run.jsonl
      ozx log summary logs/*.jsonl
      ozx pack --retry-failed run.jsonl --out-dir packed --log run.jsonl
    """
    del action  # there is one
    summary = summarise(line for file in files for line in read_log(file))
    if as_json:
        print_json(summary.to_dict())
        return
    for line in _describe(summary):
        click.echo(shortened(printable(line)))


def _describe(summary: LogSummary) -> Iterator[str]:
    times = f", {summary.first} to {summary.last}" if summary.first else ""
    yield f"{_count(summary.lines, 'line')} of {_count(summary.runs, 'run')}{times}"
    for verb, counts in summary.statuses.items():
        yield f"{verb}: {', '.join(f'{count:,} {status}' for status, count in counts.items())}"
    outputs = [f"outputs: {format_bytes(summary.bytes)}"] if summary.bytes else []
    outputs += [f"read back and compared: {summary.verified:,}"] if summary.verified else []
    outputs += [f"sources removed: {summary.removed:,}"] if summary.removed else []
    if outputs:
        yield "; ".join(outputs)
    if summary.damaged:
        yield f"lines that cannot be read: {summary.damaged:,}"
    if summary.failed:
        yield f"failures: {', '.join(f'{count:,} {code}' for code, count in summary.codes.items())}"
        yield from (f"  {one_line(source)}" for source in summary.failed[:_MOST_LINES])
    if len(summary.failed) > _MOST_LINES:
        yield f"  and {len(summary.failed) - _MOST_LINES:,} more (--json lists them)"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"

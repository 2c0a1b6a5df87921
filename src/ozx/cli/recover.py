"""``ozx recover``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ozx.cli.app import DONE, WITH_LOSS
from ozx.cli.output import format_bytes, one_line, print_json, printable, progress_bar, say
from ozx.flow.losses import ArrayLoss
from ozx.operations.recover import RecoverResult, recover

__all__ = ["command"]

_MOST_LINES = 20


@click.command("recover")
@click.argument("broken", type=click.Path())
@click.argument("out", type=click.Path())
@click.option("--force", is_flag=True, help="Replace OUT if it exists; the old one stays until the new one is whole.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the file is on the disk.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.pass_context
def command(
    ctx: click.Context, *, broken: str, out: str, force: bool, no_sync: bool, as_json: bool, quiet: bool
) -> None:
    """Save what is left of a damaged or unfinished .ozx file.

    BROKEN may be cut off, without its directory, damaged anywhere, or the NAME.partial of a writer that was killed. OUT
    gets every value whose CRC fits; a value whose key is in doubt is left out and named. BROKEN is not changed.

    Ends with 3 when something is, or may be, lost.

    \b
    Examples:
      ozx recover download.ozx cells.ozx
      ozx recover run7.ozx.partial run7.ozx --json > report.json
    """
    with progress_bar(quiet=quiet or as_json) as progress:
        result = recover(broken, out, force=force, sync=not no_sync, progress=progress)
    for note in result.notes:
        say(f"note: {note}", quiet=quiet)
    if as_json:
        print_json(result.to_dict())
    elif not quiet:
        for line in _describe(result):
            click.echo(printable(line))
    ctx.exit(DONE if result.complete else WITH_LOSS)


def _describe(result: RecoverResult) -> Iterator[str]:
    verdict = "all came back" if result.complete else "something is lost" if result.lost_count else "more may be lost"
    yield f"{result.path}  {result.entries:,} entries, {format_bytes(result.bytes)}; {verdict}"
    if result.lost_count:
        yield f"lost: {result.lost_count:,} entr{'ies' if result.lost_count != 1 else 'y'}"
        yield from (f"  {one_line(entry.name)}: {entry.reason}" for entry in result.lost[:_MOST_LINES])
        if result.lost_count > _MOST_LINES:
            yield f"  and {result.lost_count - _MOST_LINES:,} more (--json lists {len(result.lost):,})"
    yield from map(_describe_array, result.arrays[:_MOST_LINES])
    if len(result.arrays) > _MOST_LINES:
        yield f"and {len(result.arrays) - _MOST_LINES:,} more arrays (--json lists them)"


def _describe_array(loss: ArrayLoss) -> str:
    name = f"array {one_line(loss.path)}" if loss.path else "the array at the root"
    if loss.is_lost:
        return f"{name}: its metadata is lost, and with it the array; {loss.found:,} chunks left out"
    where = "" if not loss.region else f", within [{', '.join(f'{start}:{stop}' for start, stop in loss.region)}]"
    return f"{name}: {loss.found:,} of {loss.chunks:,} chunks; {loss.missing:,} missing{where}"
